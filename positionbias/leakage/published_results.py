"""Return the leakage paper's figures for its own targets, comparable with ``find`` and ``review``;
none for other targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from positionbias.core.manifest import manifest_if_any
from positionbias.leakage.find import Found
from positionbias.leakage.found_results import PAPER_FIELDS, table_1
from positionbias.leakage.published import published_candidates
from positionbias.leakage.published import published_review as tables
from positionbias.results.figures import Figures
from positionbias.results.leakage_pairs import (
    CANDIDATES,
    LABEL_COUNTS,
    LIKE_FOR_LIKE,
    PUBLISHED,
    REVIEWED,
)
from positionbias.results.result import Result

__all__ = ["published_find", "published_review", "target_of_folder"]


def published_find(
    target: str | None, found: Found, fields: Iterable[str], test_name: str
) -> list[Result]:
    """Return our Table 1, in the paper's fields and by meaning alone, and the paper's; nothing
    without a target, or with only the lexical detector."""
    if target is None or found.detector == "lexical":
        return []
    there = set(fields)
    searched = [name for name in PAPER_FIELDS if name in there]
    pairs = [pair for pair in found.by_meaning if pair.field in PAPER_FIELDS]
    ours = table_1(pairs, list(found.queries), searched)
    return [
        _result(f"{CANDIDATES}{LIKE_FOR_LIKE}", test_name, " + ".join(found.queries), ours),
        _result(f"{CANDIDATES}{PUBLISHED}", test_name, target, published_candidates(target)),
    ]


def published_review(target: str | None, name: str) -> list[Result]:
    """Return Table 2a of a target, and Table 2b of all three; nothing without a target."""
    if target is None:
        return []
    candidates, labels = tables(target)
    return [
        _result(f"{REVIEWED}{PUBLISHED}", name, target, candidates),
        _result(f"{LABEL_COUNTS}{PUBLISHED}", name, "all three collections", labels),
    ]


def _result(measure: str, name: str, target: str, figures: Figures) -> Result:
    return Result(measure, name, "", target, None, None, None, 0, figures)


def target_of_folder(place: Path) -> str | None:
    """Return the paper's target that ``find`` searched, from its manifest; None for another target
    or a file of pairs.
    """
    made = manifest_if_any(place) if place.is_dir() else None
    return None if made is None else made.content_as(str, "target", "") or None
