"""Figures that summarise a histogram of positions, a curve of term similarity, or moved
sentences.
"""

from __future__ import annotations

from positionbias.results.figures import Record

__all__ = [
    "MovesFigures",
]


class MovesFigures(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The distances over which sentences were moved; the last four fields only with weighted
    questions.
    """

    mean_distance: float | None = None
    mean_distance_of_uniform: float | None = None
    share_unmoved: float | None = None
    share_moved_forward: float | None = None
    share_moved_backward: float | None = None
    mean_distance_weighted: float | None = None
    share_unmatched: float | None = None
    effective_questions: float | None = None
    largest_weight: float | None = None
