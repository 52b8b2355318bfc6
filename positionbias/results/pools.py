"""Figures of pools: coverage by kind of system, reliability of pools of one kind for the others,
effects of kind.

``pool`` is the kind whose groups feed the pools, ``test`` the kind of the test systems, or ``ALL``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Self, TypeVar

from msgspec import Struct, convert, field, to_builtins

from positionbias.core.interval import Interval
from positionbias.core.json_text import Json, JsonObject
from positionbias.results.figures import Figures
from positionbias.results.payloads import PerQuery
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = [
    "ALL", "CHANGE", "COVERAGE", "CURVES", "FOUND", "FOUND_ALONE", "LEFT_OUT", "LEFT_OUT_BY",
    "ONE_POOL", "ORDER",
    "RELABELLED", "TASK", "UNJUDGED", "ChangeFigures", "Contrast", "CoverageFigures",
    "CurveFigures",
    "FalseAlarms", "KindAnswer", "KindFigures", "LeftOutByKind", "LeftOutFigures", "LeftOutRun",
    "Moved", "OnePoolFigures",
    "OrderFigures", "PoolFigures", "PoolPoint", "PoolSize", "RelabelledFigures", "Spread",
    "SystemCounts",
    "TaskFigures", "by_contrast", "by_measure", "by_task", "ends_of", "interval_of", "is_of_pools",
    "kind_effects_of",
    "measures_in", "pools_in", "systems_under", "task_of", "tests_in",
]  # fmt: skip

ALL = "all"  # the test systems of all kinds together

TASK = "collection"
COVERAGE = "coverage"
FOUND, FOUND_ALONE = "relevant found", "relevant found by this kind alone"
ORDER, CHANGE, ONE_POOL = "order by ", "change by ", "one pool by "
LEFT_OUT, LEFT_OUT_BY = "left out", "left out by "
CURVES = {axis: f"{axis} of pools by " for axis in ("depth", "groups")}
RELABELLED = "relabelled by "
UNJUDGED = "unjudged@"


class PoolFigures(Figures, frozen=True, kw_only=True):
    """Figures of a test collection's pools, or of one new run."""


class SystemCounts(Struct, frozen=True):
    """Numbers of systems of a kind and of their groups."""

    systems: int
    groups: int


class PoolSize(Struct, frozen=True):
    """Judgements in a pool, and relevant ones among them: means over the drawn pools."""

    judgements: float
    relevant: float


class TaskFigures(
    PoolFigures, frozen=True, kw_only=True, omit_defaults=True, tag_field="what", tag="collection"
):
    """The counts of a test collection. ``mixed_groups`` have runs of several kinds; ``skipped`` is
    by cause.

    The fields from ``depth`` on describe the drawn pools, with ``sizes`` by kind and of the "gold";
    None or empty without pools.
    """

    MEASURES = (TASK,)

    systems: int
    groups: int
    mixed_groups: int = field(name="mixed groups")
    kinds: Mapping[str, SystemCounts]
    queries: int
    judgements: int
    relevant: int
    relevant_from: int = field(name="relevant from")
    skipped: Mapping[str, int]
    depth: int | None = None
    pools: int | None = None
    gold: str | None = None
    sizes: Mapping[str, PoolSize] = field(name="pool sizes", default_factory=dict)


class CoverageFigures(
    PoolFigures, frozen=True, kw_only=True, omit_defaults=True, tag_field="what", tag="coverage"
):
    """The relevant documents of a kind's pool: ``relevant`` and ``unique`` to it at ``depth``, and
    both at each of ``depths``.

    ``found_by_query`` and ``unique_by_query`` hold the counts at ``depths_by_query``, by query id.
    """

    MEASURES = (COVERAGE,)

    kind: str
    systems: int
    groups: int
    relevant_from: int = field(name="relevant from")
    depth: int
    relevant: int
    unique: int
    depths: Sequence[int]
    found_by_depth: Sequence[int] = field(name="found by depth")
    unique_by_depth: Sequence[int] = field(name="unique by depth")
    depths_by_query: Sequence[int] = field(name="depths by query", default=())
    found_by_query: Mapping[str, Sequence[int]] = field(name="found by query", default={})
    unique_by_query: Mapping[str, Sequence[int]] = field(name="unique by query", default={})


class UnderPools(PoolFigures, frozen=True, kw_only=True):
    """Figures of the test systems of one kind under pools of one kind, by one measure."""

    pool: str
    test: str
    measure: str


class OrderFigures(UnderPools, frozen=True, kw_only=True, tag_field="what", tag="order"):
    """The order of systems by the pools against gold: τ, a mean over pools with its 95 % interval;
    τ_b is ``undefined`` in some.

    ``power_gold`` and ``power`` are the shares of pairs of systems that gold and pools distinguish.
    Of gold's pairs, pools distinguish ``kept`` in the same and ``reversed`` in the other direction.
    None: undefined in every pool.
    """

    MEASURES = (ORDER,)

    tau_b: float | None
    tau_b_low: float | None = field(name="tau_b low")
    tau_b_high: float | None = field(name="tau_b high")
    tau_ap: float | None
    tau_ap_low: float | None = field(name="tau_ap low")
    tau_ap_high: float | None = field(name="tau_ap high")
    undefined: int
    pools: int
    systems: float
    by_pool: Sequence[float | None] = field(name="by pool")
    power_gold: float | None
    power: float | None
    kept: float | None
    reversed: float | None


class ChangeFigures(UnderPools, frozen=True, kw_only=True, tag_field="what", tag="change"):
    """Mean scores by gold and by the pools (``estimated``); ``relative`` is the change as a share
    of the gold score.

    ``judged`` is the judged share of the first ranks, ``residual`` RBP's. None: no pool has such a
    test system.
    """

    MEASURES = (CHANGE,)

    pools: int
    systems: float
    relative: float | None
    gold: float | None
    estimated: float | None
    judged_gold: float | None
    judged: float | None
    residual_gold: float | None
    residual: float | None


class PoolPoint(Struct, frozen=True):
    """One test system under one pool: its scores, the judged share of its first ranks, RBP's
    residual.
    """

    run: str
    group: str
    kind: str
    gold: float
    estimated: float
    judged: float
    residual: float


class OnePoolFigures(PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="one pool"):
    """Every test system under pool ``number``, fed by ``groups``; τ_b by test set, None where
    undefined.
    """

    MEASURES = (ONE_POOL,)

    pool: str
    measure: str
    number: int
    groups: Sequence[str]
    tau_b: Mapping[str, float | None]
    points: Sequence[PoolPoint]


class Contrast(StrEnum):
    """The reference of a kind's change, beside runs of the pool's kind with equal scores."""

    UNSEEN = "beside unseen"
    MIXED = "beyond mixed pools"


class KindAnswer(StrEnum):
    """The answer on a kind: pools underestimate it more, less, or by less than 0.03 either way, or
    unknown.
    """

    WORSE = "worse"
    BETTER = "better"
    CLOSE = "within 0.03"
    UNKNOWN = "cannot tell"


class FalseAlarms(Struct, frozen=True):
    """The rate at which permuted kinds are called worse or better: a share of ``drawn``
    permutations, with its exact 95 % interval.
    """

    value: float
    low: float
    high: float
    drawn: int


class KindFigures(PoolFigures, frozen=True, kw_only=True):
    """A test of kind: the ``gap`` in score, its mean ``by_chance`` under permuted kinds, p and
    Holm's p.

    ``alarms`` are the rule's false alarms; ``power`` and ``missed`` are how often it calls a gap of
    ``planted`` worse, or within it. ``groups`` take part, and ``needed`` would give 80 % power
    (None: no number suffices). With too few ``arrangements`` of kinds ``among`` groups, figures
    from permutations are None.
    """

    MEASURES = tuple(f"{contrast} by " for contrast in Contrast)

    contrast: Contrast = field(name="what")
    pool: str
    test: str
    measure: str
    answer: KindAnswer = KindAnswer.UNKNOWN
    gap: float
    by_chance: float | None = field(name="by chance", default=None)
    p: float | None = None
    p_holm: float | None = field(name="p holm", default=None)
    alarms: FalseAlarms | None = field(name="false alarms", default=None)
    power: float | None = None
    missed: float | None = None
    planted: float
    groups: int
    needed: int | None = field(name="groups needed", default=None)
    among: str
    arrangements: int


class Moved(Struct, frozen=True):
    """A run's mean score and rank (from 1), with its group in the pool and without."""

    before: float
    after: float
    rank_before: int = field(name="rank before")
    rank_after: int = field(name="rank after")

    @property
    def change(self) -> float:
        """The score without the group less that with it."""
        return self.after - self.before


class LeftOutRun(Struct, frozen=True):
    """A run of a left-out group, and its change by each measure."""

    run: str
    kind: str
    measures: Mapping[str, Moved]


class LeftOutFigures(PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="left out"):
    """One group left out of the pool: judgements ``unique`` to it, the ``relevant`` ones among
    them, and its rescored runs.

    In JSON a run's measures are flattened beside its name and kind.
    """

    MEASURES = (LEFT_OUT,)

    group: str
    unique: int = field(name="unique judgements")
    relevant: int = field(name="unique relevant")
    runs: Sequence[LeftOutRun]

    def to_rows(self) -> dict[str, Json]:
        """Return the figures as in JSON."""
        runs = [
            {"run": run.run, "kind": run.kind, **to_builtins(run.measures)} for run in self.runs
        ]
        return {**super().to_rows(), "runs": runs}

    @classmethod
    def from_rows(cls, rows: JsonObject) -> Self:
        """Return the figures that ``to_rows`` wrote."""
        given = convert(rows["runs"], list[dict[str, Json]])
        runs = [{"run": run.pop("run"), "kind": run.pop("kind"), "measures": run} for run in given]
        return super().from_rows({**rows, "runs": runs})


class LeftOutByKind(
    PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="left out by kind"
):
    """The loss of a kind's runs without their own group: the ``largest_fall`` in score, and the
    mean and most ranks lost.
    """

    MEASURES = (LEFT_OUT_BY,)

    kind: str
    measure: str
    systems: int
    largest_fall: float = field(name="largest fall")
    ranks_lost: float = field(name="ranks lost")
    most_ranks_lost: int = field(name="most ranks lost")


class CurveFigures(
    PoolFigures, frozen=True, kw_only=True, omit_defaults=True, tag_field="what", tag="curve"
):
    """τ_b, the change of score with its 95 % interval, and the pools' sizes ``at`` each point of
    ``axis``, "depth" or "groups".

    None: undefined in every pool, or without an interval. A kind with too few groups has no points.
    """

    MEASURES = tuple(CURVES.values())

    axis: str
    pool: str
    test: str
    measure: str
    at: Sequence[int] = field(default_factory=list)
    tau_b: Sequence[float | None] = field(default_factory=list)
    change: Sequence[float | None] = field(default_factory=list)
    change_low: Sequence[float | None] = field(name="change low", default_factory=list)
    change_high: Sequence[float | None] = field(name="change high", default_factory=list)
    judgements: Sequence[float] = field(default_factory=list)
    relevant: Sequence[float] = field(default_factory=list)


class Spread(Struct, frozen=True):
    """A figure with the labels as ``given``, and over relabellings its mean and middle 95 %. None:
    undefined.
    """

    given: float | None
    mean: float | None = None
    low: float | None = None
    high: float | None = None


class RelabelledFigures(UnderPools, frozen=True, kw_only=True, tag_field="what", tag="relabelled"):
    """τ_b and change of score with a ``share`` of runs relabelled, in the ``repeats`` of ``drawn``
    that allow such pools.
    """

    MEASURES = (RELABELLED,)

    share: float
    drawn: int
    repeats: int
    tau_b: Spread
    change: Spread


OfPools = UnderPools | OnePoolFigures | KindFigures | CurveFigures
OfTests = UnderPools | KindFigures | CurveFigures
M = TypeVar("M", bound=UnderPools | OnePoolFigures | KindFigures | CurveFigures)


def systems_under(pool: str, test: str) -> str:
    """Return the name, in results, of the test systems of a kind under pools of a kind."""
    return f"{test} systems, {pool} pools"


def interval_of(low: float | None, high: float | None) -> Interval | None:
    """Return the interval of two ends, if any."""
    return None if low is None or high is None else Interval(low, high)


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval, None without one."""
    return (None, None) if interval is None else (interval.low, interval.high)


def is_of_pools(result: Result) -> bool:
    """Return True for a result about pools, which sections on other results exclude."""
    if isinstance(result.payload, PerQuery):
        return result.measure.startswith((FOUND, UNJUDGED))
    return isinstance(result.payload, PoolFigures)


def by_task(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the results about pools by task (a collection of runs and judgements), in the order
    given.
    """
    found = [result for result in results if is_of_pools(result)]
    return {
        task: [r for r in found if r.collection == task]
        for task in distinct(r.collection for r in found)
    }


def task_of(results: Iterable[Result]) -> TaskFigures | None:
    """Return the counts of a task, preferably with its pools; None without any."""
    told = [task for _, task in of_type(results, TaskFigures)]
    return max(told, key=lambda task: len(task.sizes), default=None)


def kind_effects_of(results: Iterable[Result]) -> list[tuple[Result, KindFigures]]:
    """Return the tests of kind, sorted by contrast."""
    contrasts = list(Contrast)
    return sorted(of_type(results, KindFigures), key=lambda item: contrasts.index(item[1].contrast))


def by_contrast(
    results: Iterable[Result],
) -> dict[tuple[Contrast, str, str, str], tuple[Result, KindFigures]]:
    """Return the tests of kind by contrast, measure, pool and test."""
    return {
        (own.contrast, own.measure, own.pool, own.test): (result, own)
        for result, own in of_type(results, KindFigures)
    }


def by_measure(found: Sequence[tuple[Result, M]]) -> list[tuple[Result, M]]:
    """Return the results sorted by measure."""
    measures = measures_in(found)
    return sorted(found, key=lambda item: measures.index(item[1].measure))


def measures_in(found: Iterable[tuple[Result, OfPools]]) -> list[str]:
    """Return the measures, in order."""
    return distinct(figures.measure for _, figures in found)


def pools_in(found: Iterable[tuple[Result, OfPools]]) -> list[str]:
    """Return the kinds from which pools are drawn, in order."""
    return distinct(figures.pool for _, figures in found)


def tests_in(found: Iterable[tuple[Result, OfTests]]) -> list[str]:
    """Return the kinds of the test systems, in order."""
    return distinct(figures.test for _, figures in found)
