"""Report a rotation of a collection or raw file: a Result with its counts, and its decisions."""

from __future__ import annotations

import msgspec

from positionbias.positions.cuts import ONE_SENTENCE, ROTATED, WORDLESS
from positionbias.positions.rotate import Rotation
from positionbias.results.collections import ROTATION, RotationFigures
from positionbias.results.result import Result

__all__ = ["rotation_notes", "rotation_result_of"]


def rotation_result_of(name: str, rotation: Rotation, figures: RotationFigures) -> Result:
    """Return the result of a rotation, with the share of passages without an inner sentence
    boundary; its value is the share of changed passages.
    """
    fates = figures.passages
    count = sum(fates.values())
    if rotation.mode == "sentences" and count > fates[WORDLESS]:
        share_of_one = fates[ONE_SENTENCE] / (count - fates[WORDLESS])
        figures = msgspec.structs.replace(
            figures, share_without_inner_sentence_boundary=share_of_one
        )
    system = "by sentences" if rotation.mode == "sentences" else f"by words ({rotation.words})"
    share = fates[ROTATED] / count if count else None
    return Result(ROTATION, name, "", system, rotation.seed, share, None, count, figures)


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
