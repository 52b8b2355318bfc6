"""Figures of training sets with judgements of a test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import field

from positionbias.results.figures import Figures

__all__ = ["TRAINSET", "ContaminatedSet", "OrdinaryCounts", "TargetCounts"]

TRAINSET = "training set"


class OrdinaryCounts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The counts of a training split's ordinary groups."""

    split: str
    queries: int = 0
    groups: int = 0
    small_groups: int = field(name="groups smaller than asked for", default=0)
    without_candidates: int = field(name="positives without candidates", default=0)
    missing_positives: int = field(name="positives missing from the corpus", default=0)


class TargetCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The counts of the groups of a target's judgements. ``query_ids`` are the queries used;
    missing passages are by query.
    """

    queries: int
    groups: int
    judged_negatives: int = field(name="negatives judged")
    random_negatives: int = field(name="negatives random")
    with_positive: int = field(name="queries with a positive")
    without_positive: int = field(name="queries without a positive")
    missing_positives: int = field(name="positives missing from the corpus")
    missing_negatives: int = field(name="negatives missing from the corpus")
    query_ids: Sequence[str]
    missing_positive_ids: Mapping[str, Sequence[str]] = field(name="missing_positives")
    missing_negative_ids: Mapping[str, Sequence[str]] = field(name="missing_negatives")


class ContaminatedSet(Figures, frozen=True, kw_only=True):
    """A training set by origin: its ordinary groups, and those of each target. ``share`` is the
    targets' share of all groups.
    """

    MEASURES = (TRAINSET,)

    ordinary: OrdinaryCounts
    targets: Mapping[str, TargetCounts]
    groups: int = field(name="contaminated_groups")
    share: float = field(name="share_of_groups")
