"""Figures of leaked queries: training sets with them, systems on leaked and on clean queries."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from positionbias.results.figures import Figures

__all__ = ["DRAWN_SET", "DrawnSet", "LeakedAndClean", "MeanOfPart"]

DRAWN_SET = "training set"


class DrawnSet(Figures, frozen=True, kw_only=True):
    """The content of a training set: leaked and filling queries by source split, and the sources'
    queries and pairs by outcome.

    ``leaked_share`` is that of its queries. ``missing`` counts passages of judgements or candidates
    that the corpus lacks.
    """

    MEASURES = (DRAWN_SET,)

    kind: str
    instances: int
    leaked: int
    leaked_share: float
    leaked_from: Mapping[str, int]
    leaked_queries_distinct: int
    filled_from: Mapping[str, int]
    sources: Mapping[str, Mapping[str, int]]
    judged_test_queries: int
    of_pairs: Mapping[str, int]
    missing: Mapping[str, int] = field(name="missing_from_the_corpus")


class MeanOfPart(Struct, frozen=True):
    """The mean over some of the queries with its 95 % interval; None without queries, and no
    interval with few.
    """

    queries: int
    mean: float | None
    low: float | None
    high: float | None


class LeakedAndClean(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """A system on all, leaked and clean queries; with a ``baseline``, its gain over it."""

    baseline: str = ""
    all: MeanOfPart
    leaked: MeanOfPart
    clean: MeanOfPart
