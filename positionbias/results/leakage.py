"""Figures of leaked queries: training sets with them, models trained on these, systems on leaked and clean queries; and selections of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from positionbias.core.interval import Interval
from positionbias.results.figures import Figures
from positionbias.results.payloads import Comparison
from positionbias.results.points import Estimate
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = [
    "BY_SIZE",
    "DRAWN_SET",
    "LEAKAGE",
    "LEAKAGE_MEASURES",
    "LESS_CLEAN",
    "MEMORIES",
    "NEGATIVE_RANK",
    "OFFSET",
    "ORDER",
    "RANK",
    "SCORE",
    "TRAINSETS",
    "WITH",
    "WITHOUT",
    "DrawnSet",
    "LeakedAndClean",
    "LeakedSetSize",
    "MeanOfPart",
    "Memory",
    "ModelOrders",
    "OrderChange",
    "SizeEffect",
    "SizePoint",
    "by_condition",
    "conditions",
    "leakage_models",
    "leaked_sizes",
    "tests_of_leakage",
]

LEAKAGE = "leakage"  # the axis of comparisons with training without leakage
DRAWN_SET = "training set"
TRAINSETS = "leaked training set"
BY_SIZE = "effectiveness by training set size"
ORDER = "order of models with leakage"
# the leakage paper's Tables 6, 7 and 8, and the states compared in the first two
RANK, SCORE, OFFSET = "rank of leaked relevant passages", "score of leaked relevant passages", "rank offset of leaked passages"
WITH, WITHOUT = "with leakage", "without leakage"
NEGATIVE_RANK = "rank of leaked non-relevant passages"
MEMORIES = (RANK, SCORE, OFFSET, NEGATIVE_RANK)
LEAKAGE_MEASURES = (TRAINSETS, BY_SIZE, ORDER, *MEMORIES)
LESS_CLEAN = " leaked − clean"  # the endings of measures of systems on leaked and clean queries


class DrawnSet(Figures, frozen=True, kw_only=True):
    """The material of a training set: leaked and filling queries, by source split; the sources' queries and the pairs, by outcome.

    ``leaked_share`` is that of its queries. ``missing`` counts passages of judgements or candidates that the corpus lacks.
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


class LeakedSetSize(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """The leaked part of a training set. An instance is a query with one passage."""

    MEASURES = (TRAINSETS,)

    instances: int
    leaked_instances: int = field(name="leaked instances")
    leaked_queries: int = field(name="leaked queries")
    topics: int = field(name="topics leaked")
    without_candidates: int = field(name="topics leaked without candidates", default=0)


class SizePoint(Struct, frozen=True):
    """A mean over topics, by training set size in instances; no interval with two trainings."""

    instances: int
    mean: float
    interval: Interval | None

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval."""
        return Estimate(self.mean, self.interval)


class SizeEffect(Figures, frozen=True, kw_only=True):
    """Effectiveness by training set size on ``topics`` ("leaked" or "all"), by condition: means, the gain by leakage, and its change.

    A ``change`` is the gain with the largest sets less that with the smallest; None with one size.
    """

    MEASURES = (BY_SIZE,)

    measure: str
    topics: str
    means: Mapping[str, Sequence[SizePoint]]
    gains: Mapping[str, Sequence[SizePoint]]
    change: Mapping[str, SizePoint] = field(name="change of the gain")


class OrderChange(Struct, frozen=True):
    """Kendall's τ_b against the order without leakage, None where all tie; pairs that swap, the better before first; pairs (a, b) in which a with
    leakage overtakes b without."""

    tau: float | None
    swaps: Sequence[tuple[str, str]]
    overtakes: Sequence[tuple[str, str]]


class ModelOrders(Figures, frozen=True, kw_only=True):
    """The change of the order of models by ``measure``, for each leakage."""

    MEASURES = (ORDER,)
    FLAT = "rows"

    measure: str
    rows: Mapping[str, OrderChange]


class Memory(Figures, frozen=True, kw_only=True):
    """Means and standard deviations with and without leakage, and of the differences (with − without).

    ``count`` is the number of passages (of queries for an offset), ``repeats`` of models.
    """

    MEASURES = MEMORIES

    with_mean: float
    with_deviation: float
    without_mean: float
    without_deviation: float
    difference: float
    difference_deviation: float
    count: int
    repeats: int


class MeanOfPart(Struct, frozen=True):
    """The mean over some of the queries with its 95 % interval; None without queries, no interval with few."""

    queries: int
    mean: float | None
    low: float | None
    high: float | None


class LeakedAndClean(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """A system on all, leaked and clean queries; with a ``baseline`` its gain over that."""

    MEASURES = (LESS_CLEAN,)

    baseline: str = ""
    all: MeanOfPart
    leaked: MeanOfPart
    clean: MeanOfPart


def tests_of_leakage(results: Iterable[Result]) -> list[tuple[Result, Comparison]]:
    """Return the comparisons of a leakage with none."""
    return [(result, payload) for result, payload in of_type(results, Comparison) if payload.noted.axis == LEAKAGE]


def leaked_sizes(results: Iterable[Result]) -> list[tuple[Result, SizeEffect]]:
    """Return each model's effectiveness by size on the topics with leaked queries."""
    return [(result, effect) for result, effect in of_type(results, SizeEffect) if effect.topics == "leaked"]


def by_condition(results: Sequence[Result]) -> list[Result]:
    """Return the effectiveness of every model and condition: results per query of models tested for leakage."""
    models = leakage_models(results)
    return [r for r in results if r.kind == "per_query" and r.facts.model in models and r.facts.variant]


def leakage_models(results: Iterable[Result]) -> list[str]:
    """Return the models tested for leakage, in order."""
    return distinct(result.facts.model for result, _ in tests_of_leakage(results))


def conditions(results: Sequence[Result]) -> list[str]:
    """Return the conditions of the trainings, none first."""
    return distinct(result.facts.variant for result in by_condition(results))
