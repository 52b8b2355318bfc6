"""Report a rotation of a collection or raw file: rows of its counts, and its decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from positionbias.core.rows import Collected
from positionbias.positions.cuts import ONE_SENTENCE, ROTATED, WORDLESS
from positionbias.positions.rotate import Rotation


def add_rotation(
    made: Collected,
    rotation: Rotation,
    passages: Mapping[str, int],
    answers: Mapping[str, Any],
    /,
    **cells: Any,
) -> None:
    """Add what a rotation did to passages, by outcome, and to the answers of each split; of one by
    sentences also the share of passages without an inner sentence boundary.
    """
    count = sum(passages.values())
    changed = passages[ROTATED] / count if count else None
    made.add("rotation", "share changed", changed, unit="share", count=count, **cells)
    if rotation.mode == "sentences" and (with_words := count - passages[WORDLESS]):
        share = passages[ONE_SENTENCE] / with_words
        made.add("rotation", "share of one sentence", share, unit="share", count=count, **cells)
    for outcome, number in passages.items():
        label = outcome.replace("_", " ")
        made.add("rotation", "passages", number, axis="cause", label=label, **cells)
    for split, moved in answers.items():
        for name in ("answers", "kept", "cut"):
            made.add("rotation", name, getattr(moved, name), split=split, **cells)


def rotation_notes(rotation: Rotation) -> tuple[str, ...]:
    """Return the decisions behind a rotation."""
    unit = "sentence" if rotation.mode == "sentences" else "word"
    first = "1" if rotation.identity else "2"
    return (
        f"Each passage is cut once before {unit} r and its two parts change places (position-bias "
        f"paper, Eq. 7); r is drawn uniformly from {{{first} … n}} by (seed, passage id) alone.",
        "The raw text is sliced and joined by one space, so that every character survives.",
        "Answer spans moved with the text; cut spans are dropped and counted.",
    )
