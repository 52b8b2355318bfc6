"""Figures of leaked queries: training sets with them, what models make of these, systems on leaked and on clean queries; which results have them."""

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

LEAKAGE = "leakage"  # the axis of comparisons with the training without leakage
DRAWN_SET = "training set"
TRAINSETS = "leaked training set"
BY_SIZE = "effectiveness by training set size"
ORDER = "order of models with leakage"
# the leakage paper's Tables 6, 7 and 8, and the states that the first two compare
RANK, SCORE, OFFSET = "rank of leaked relevant passages", "score of leaked relevant passages", "rank offset of leaked passages"
WITH, WITHOUT = "with leakage", "without leakage"
NEGATIVE_RANK = "rank of leaked non-relevant passages"
MEMORIES = (RANK, SCORE, OFFSET, NEGATIVE_RANK)
LEAKAGE_MEASURES = (TRAINSETS, BY_SIZE, ORDER, *MEMORIES)
LESS_CLEAN = " leaked − clean"  # how the measures of systems on leaked and clean queries end


class DrawnSet(Figures, frozen=True, kw_only=True):
    """What a training set was drawn from: queries leaked and filling, by source split; the sources' queries and the pairs, by what became of them.

    ``leaked_share`` is that of its queries. ``missing`` counts passages that judgements or candidates name and the corpus lacks.
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
    """How much of a training set leaked. An instance is a query with one passage."""

    MEASURES = (TRAINSETS,)

    instances: int
    leaked_instances: int = field(name="leaked instances")
    leaked_queries: int = field(name="leaked queries")
    topics: int = field(name="topics leaked")
    without_candidates: int = field(name="topics leaked without candidates", default=0)


class SizePoint(Struct, frozen=True):
    """A mean over topics with training sets of this many instances; no interval with two trainings."""

    instances: int
    mean: float
    interval: Interval | None

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval."""
        return Estimate(self.mean, self.interval)


class SizeEffect(Figures, frozen=True, kw_only=True):
    """Effectiveness by training set size on ``topics`` ("leaked" or "all"), by condition: means, what leakage gains, and how that changes.

    A ``change`` is the gain with the largest sets less that with the smallest; none with one size.
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
    """What each leakage does to the order of the models by ``measure``."""

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
    """Return the effectiveness of every model and condition: results per query of the models that a leakage was tested for."""
    models = leakage_models(results)
    return [r for r in results if r.kind == "per_query" and r.facts.model in models and r.facts.variant]


def leakage_models(results: Iterable[Result]) -> list[str]:
    """Return the models that a leakage was tested for, in order."""
    return distinct(result.facts.model for result, _ in tests_of_leakage(results))


def conditions(results: Sequence[Result]) -> list[str]:
    """Return the conditions of the trainings as the results have them, none first."""
    return distinct(result.facts.variant for result in by_condition(results))
