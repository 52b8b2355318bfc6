"""Figures that summarise a histogram of positions, a curve of term similarity, or moved
sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from positionbias.results.figures import Record

__all__ = [
    "AtsFigures",
    "MovesFigures",
]


class AtsFigures(Record, frozen=True, kw_only=True):
    """MATS in its printed and plain forms with its deviation, why it is ``undefined``, where and
    why the curve was cut, and counts of the passages.
    """

    mats: float | None = None
    mats_plain: float | None = None
    mats_std: float | None = None
    max_delta: int | None = None
    undefined: str | UnsetType = UNSET
    pairs: str = ""
    minimum_terms: int = 0
    cut_at: int | None = None
    terms_at_cut: int | None = None
    later_deltas_left_out: int = 0
    std_terms_is: str = ""
    std_pairs_is: str = ""
    pairs_sampled: Sequence[int] | UnsetType = UNSET
    passages: int | UnsetType = UNSET
    passages_at_length_limit: int | UnsetType = UNSET
    words: int | UnsetType = UNSET
    words_unknown: int | UnsetType = UNSET


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
