"""The leakage study: the payloads of its results (training sets, sizes, orders of models,
memories), and their selection.

"How Train–Test Leakage Affects Zero-shot Retrieval" (SPIRE 2022), Tables 3 to 8 and Figure 2.
"""

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
    "CONDITIONS",
    "LEAKAGE",
    "LOWER_IS_BETTER",
    "MEASURES",
    "MEMORIES",
    "NEGATIVE_RANK",
    "NO",
    "OFFSET",
    "ORDER",
    "RANK",
    "SCORE",
    "TRAINSETS",
    "WITH",
    "WITHOUT",
    "LeakedSetSize",
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

NO = "no"  # the reference kind of training set
# kind of training set → its name in results
CONDITIONS = {NO: "no leakage", "msm": "MSM leakage", "test": "test leakage"}
MEASURES = ("nDCG@10", "MFR", "RR", "P@1")
LOWER_IS_BETTER = ("MFR",)
LEAKAGE = "leakage"  # the axis of comparisons with the training without leakage
TRAINSETS = "leaked training set"
BY_SIZE = "effectiveness by training set size"
ORDER = "order of models with leakage"
# Tables 6, 7 and 8, and the two states that the first two compare
RANK, SCORE, OFFSET = (
    "rank of leaked relevant passages",
    "score of leaked relevant passages",
    "rank offset of leaked passages",
)
WITH, WITHOUT = "with leakage", "without leakage"
NEGATIVE_RANK = "rank of leaked non-relevant passages"
MEMORIES = (RANK, SCORE, OFFSET, NEGATIVE_RANK)


class LeakedSetSize(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """The leaked share of a training set. An instance is a query with one passage."""

    MEASURES = (TRAINSETS,)

    instances: int
    leaked_instances: int = field(name="leaked instances")
    leaked_queries: int = field(name="leaked queries")
    topics: int = field(name="topics leaked")
    without_candidates: int = field(name="topics leaked without candidates", default=0)


class SizePoint(Struct, frozen=True):
    """A mean over topics for training sets of this many instances; no interval with two
    trainings.
    """

    instances: int
    mean: float
    interval: Interval | None

    @property
    def estimate(self) -> Estimate:
        """Return the mean with its interval."""
        return Estimate(self.mean, self.interval)


class SizeEffect(Figures, frozen=True, kw_only=True):
    """Effectiveness by training set size on ``topics`` ("leaked" or "all"), by condition: means,
    gains by leakage, and their change.

    A ``change`` is the gain with the largest sets less that with the smallest; none with one size.
    """

    MEASURES = (BY_SIZE,)

    measure: str
    topics: str
    means: Mapping[str, Sequence[SizePoint]]
    gains: Mapping[str, Sequence[SizePoint]]
    change: Mapping[str, SizePoint] = field(name="change of the gain")


class OrderChange(Struct, frozen=True):
    """Kendall's τ_b against the order without leakage (None if all tie), swapped pairs (the
    formerly better first), and pairs (a, b) in which a with leakage overtakes b without."""

    tau: float | None
    swaps: Sequence[tuple[str, str]]
    overtakes: Sequence[tuple[str, str]]


class ModelOrders(Figures, frozen=True, kw_only=True):
    """The effect of each leakage on the order of the models by ``measure``."""

    MEASURES = (ORDER,)
    FLAT = "rows"

    measure: str
    rows: Mapping[str, OrderChange]


class Memory(Figures, frozen=True, kw_only=True):
    """Means and standard deviations with and without leakage, and of the differences (with −
    without).

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


def tests_of_leakage(results: Iterable[Result]) -> list[tuple[Result, Comparison]]:
    """Return the comparisons of training with and without leakage."""
    return [
        (result, payload)
        for result, payload in of_type(results, Comparison)
        if payload.notes.get("axis") == LEAKAGE
    ]


def leaked_sizes(results: Iterable[Result]) -> list[tuple[Result, SizeEffect]]:
    """Return each model's effectiveness by size on the topics with leaked queries."""
    return [
        (result, effect)
        for result, effect in of_type(results, SizeEffect)
        if effect.topics == "leaked"
    ]


def by_condition(results: Sequence[Result]) -> list[Result]:
    """Return the effectiveness per query of every model and condition, for models with a test of
    leakage.
    """
    models = leakage_models(results)
    return [
        r for r in results if r.kind == "per_query" and r.facts.model in models and r.facts.variant
    ]


def leakage_models(results: Iterable[Result]) -> list[str]:
    """Return the models with a test of leakage, in order."""
    return distinct(result.facts.model for result, _ in tests_of_leakage(results))


def conditions(results: Sequence[Result]) -> list[str]:
    """Return the conditions of the trainings in the results, that without leakage first."""
    return distinct(result.facts.variant for result in by_condition(results))
