"""Test whether kind matters to a pool: two contrasts of runs of one kind with runs of the pool's
kind, under permuted kinds.

Pools are drawn from half of the groups of kind A, and each run's change (estimated − gold) is
averaged over the pools that its group did not feed. The effect of kind B is the coefficient of "is
of B" in a least-squares regression of the runs' changes on kind and gold score, over the runs of A
and B: better runs have more to lose, so runs of equal score are compared [decision].

Runs of one group are similar, so kinds are permuted among groups, and pools are redrawn for every
permutation. If kind does not matter, every arrangement is as likely as the observed one, and a rank
among them is an exact p. ``Rule`` decides all pairs of kinds, measures and contrasts together.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import factorial, prod

import numpy as np
from pandas import Series
from scipy import stats

from positionbias.core.progress import track
from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.core.seeds import generator
from positionbias.evaluation.judged_runs import (
    JudgedRuns,
    PoolMeasure,
    System,
    groups_of,
    kinds_of,
    score_pools,
)
from positionbias.evaluation.significance import HOLM, corrected
from positionbias.pooling.pools import Cells, draw_pools, gold_pool, pool_kinds
from positionbias.pooling.settings import PoolSettings

PERMUTATIONS = 1_000
POOLS = 20  # of each kind, for every permutation [decision]
PER_TEST = 40  # minimum number of permutations per test: Holm's smallest p is then 0.025
MIXED_POOLS = 200  # drawn once, as they do not depend on kinds
# arrangements: the smallest p is then 0.0025, or 0.02 corrected for 8 tests [decision]
ENOUGH = 400
GAP = 0.03  # of a score: the gap for the power, and the limit of a close interval [decision]
LEVEL = 0.05
_ROUNDING = 1e-12
Classes = Sequence[Sequence[Sequence[int]]]  # of groups, by the numbers of their runs


class Contrast(StrEnum):
    """The reference of a kind's change, beside runs of the pool's kind with equal scores.

    ``MIXED``: the same run's change under pools of as many groups drawn from all kinds. Every run
    is its own control, so its group's unique documents, whose number varies much between groups,
    cancel. It misses what a kind loses under mixed pools.
    """

    UNSEEN = "beside unseen"
    MIXED = "beyond mixed pools"


class KindAnswer(StrEnum):
    """The answer on a kind: pools underestimate it more, less, or by less than 0.03 either way."""

    WORSE = "worse"
    BETTER = "better"
    CLOSE = "within 0.03"
    UNKNOWN = "cannot tell"


def exchange_of(systems: Sequence[System], kinds: Sequence[str]) -> tuple[Classes, int]:
    """Return the groups that can exchange two kinds, in classes of equal size, and the number of
    different outcomes: a group gets all labels of another one of its class. Groups with a run of a
    third kind keep theirs [decision].
    """
    members = Series(range(len(systems))).groupby([system.group for system in systems]).agg(tuple)
    held = {runs: tuple(sorted(systems[run].kind for run in runs)) for runs in members}
    labels = {runs: names for runs, names in held.items() if set(names) <= set(kinds)}
    classes, arrangements = list[list[tuple[int, ...]]](), 1
    for size in dict.fromkeys(map(len, labels)):
        groups = [runs for runs in labels if len(runs) == size]
        alike = Counter(labels[runs] for runs in groups)
        orders = factorial(len(groups)) // prod(map(factorial, alike.values()))
        if orders > 1:
            classes.append(groups)
            arrangements *= orders
    return classes, arrangements


def exchanged(systems: Sequence[System], classes: Classes, number: int, seed: int) -> list[System]:
    """Return permutation ``number`` of the kinds, drawn by (seed, number); within a group in random
    order, so a group with runs of both kinds becomes another such group.
    """
    random = generator(seed, "kinds exchanged", number)
    permuted = list(systems)
    for groups in classes:
        for group, other in zip(groups, random.permutation(len(groups)).tolist(), strict=True):
            for run, place in zip(group, random.permutation(len(group)).tolist(), strict=True):
                permuted[run] = systems[run]._replace(kind=systems[groups[other][place]].kind)
    return permuted


def add_kinds(
    made: Collected,
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    settings: PoolSettings,
    *,
    permutations: int = PERMUTATIONS,
) -> None:
    """Test every kind under pools of every other kind with at least two groups; add the answers
    with their error rates. ``variant`` is what a kind's change is held against.

    ``permutations`` are drawn for p, and as many for the error rates; more if Holm's correction of
    many tests would put every p above 0.05.
    """
    pools = pool_kinds(runs.systems)
    pairs = [
        KindPair(runs, measures, settings, pool, kind)
        for pool, kind in itertools.permutations(kinds_of(runs.systems), 2)
        if pool in pools
    ]
    numbers = range(2 * max(permutations, PER_TEST * sum(len(pair.tests) for pair in pairs)))
    decided, effects = [], []
    for pair in pairs:
        observed, few = pair.effects(runs.systems), pair.arrangements < ENOUGH
        for (measure, contrast), gap in zip(pair.tests, observed[:, 0], strict=True):
            cells: Cells = {"pool": pair.pool, "kind": pair.kind, "variant": contrast.value}
            made.add(measure, "gap", gap, **cells)
            groups = sum(map(len, pair.classes))
            cells |= {"count": groups, "counted": "groups", "margin": GAP}
            if few:
                ways = f"kinds can be permuted in only {pair.arrangements:,} ways"
                cells |= {"answer": KindAnswer.UNKNOWN.value, "reason": ways}
                made.add(measure, "effect of kind", None, **cells)
            else:
                decided.append((measure, cells))
        if not few:
            tracked = track(numbers, "permuted kinds", len(numbers), unit="permutations")
            drawn = (exchanged(runs.systems, pair.classes, at, settings.seed) for at in tracked)
            effects.append([observed, *map(pair.effects, drawn)])
    if decided:
        rule = Rule(np.concatenate(effects, axis=1), len(runs.query_ids))
        for test, (measure, cells) in enumerate(decided):
            rule.add(made, test, measure, cells)


@dataclass
class KindPair:
    """Pools of kind ``pool`` and runs of ``kind``: the ``tests`` (measure, contrast), the groups
    that exchange the two kinds, and the effects under any labels.
    """

    runs: JudgedRuns
    measures: Sequence[PoolMeasure]
    settings: PoolSettings
    pool: str
    kind: str

    def __post_init__(self) -> None:
        systems, gold = self.runs.systems, gold_pool(self.runs, self.settings)[None]
        self.classes, self.arrangements = exchange_of(systems, (self.pool, self.kind))
        self.tests = list(itertools.product([measure.name for measure in self.measures], Contrast))
        self.gold = [score_pools(self.runs, gold, measure)[0] for measure in self.measures]
        anybody = [system._replace(kind="any") for system in systems]
        size = len(groups_of(systems, self.pool)) // 2
        self.mixed = self._changes(anybody, "any", MIXED_POOLS, size)

    def _changes(
        self, systems: Sequence[System], kind: str, pools: int, size: int | None = None
    ) -> list[np.ndarray]:
        """Return each run's mean change by query over the pools that may test it, by measure
        ``(queries, runs)``; NaN without any. Memory is that of ``POOLS`` pools.
        """
        runs, tested = replace(self.runs, systems=systems), np.zeros(len(systems))
        total = [np.zeros(gold.shape) for gold in self.gold]
        for start in range(0, pools, POOLS):
            drawn = draw_pools(runs, kind, range(start, start + POOLS), self.settings, size)
            tested += drawn.test.sum(axis=0)
            for summed, measure in zip(total, self.measures, strict=True):
                values = score_pools(runs, drawn.judged, measure)
                summed += np.einsum("pqr,pr->qr", values, drawn.test)
        tested = np.where(tested, tested, np.nan)
        return [summed / tested - gold for summed, gold in zip(total, self.gold, strict=True)]

    def effects(self, systems: Sequence[System]) -> np.ndarray:
        """Return the effect of each test and its standard error over topics, ``(tests, 2)``."""
        effects = []
        kinds = np.array([system.kind for system in systems])
        changes = self._changes(systems, self.pool, POOLS)
        for change, gold, mixed in zip(changes, self.gold, self.mixed, strict=True):
            # the weights of changes in the coefficient of kind, at equal gold score
            used = np.isin(kinds, [self.pool, self.kind]) & ~np.isnan(change[0])
            score, is_kind = gold.mean(axis=0)[used], kinds[used] == self.kind
            weights = np.linalg.pinv(np.column_stack([np.ones(len(score)), score, is_kind]))[2]
            for against in (np.zeros(change.shape), mixed):
                by_query = (change - against)[:, used] @ weights
                error = by_query.std(ddof=1) if len(by_query) > 1 else 0.0
                effects.append((by_query.mean(), error / np.sqrt(len(by_query))))
        return np.array(effects)


class Rule:
    """The rule, for ``effects (1 + permutations, tests, 2)``: effects and their standard errors
    over topics, as observed and with kinds permuted.

    A test's value is its effect minus the mean of its permuted effects. p is two-sided, (1 +
    permutations at least as far from that mean) / (1 + permutations), Holm-adjusted over all tests.
    The interval adds two sources of error,

        half-width² = q² + (t(0.975, Q − 1) · s / √Q)²

    with q the 95 % quantile of the permuted effects' distance from their mean (groups), and s the
    standard deviation of the effect over the Q topics. "Worse" and "better" need p ≤ 0.05 and an
    interval that excludes 0; "within 0.03" needs an interval within ±``GAP``. Half of the
    permutations give p and q; the other half gives the rule's false alarms under permuted kinds and
    its power for a planted gap.
    """

    def __init__(self, effects: np.ndarray, queries: int) -> None:
        half = 1 + len(effects) // 2
        self.observed, self.held_out = effects[:1], effects[half:]
        self.mean = effects[1:half, :, 0].mean(axis=0)
        self.distances = np.sort(np.abs(effects[1:half, :, 0] - self.mean), axis=0)
        self.quantile = np.quantile(self.distances, 1 - LEVEL, axis=0)
        self.t = float(stats.t.ppf(1 - LEVEL / 2, queries - 1)) if queries > 1 else 0.0

    def judged(self, effects: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the values, half their intervals' widths, p, Holm-adjusted p, and the answers as
        places in ``KindAnswer``, each ``(n, tests)`` of ``effects (n, tests, 2)``.
        """
        values = effects[..., 0] - self.mean
        half = np.sqrt(self.quantile**2 + (self.t * effects[..., 1]) ** 2)
        far, drawn = np.abs(values), len(self.distances)
        tests = zip(self.distances.T, far.T - _ROUNDING, strict=True)
        nearer = np.stack([np.searchsorted(*test) for test in tests], axis=1)
        p = (1 + drawn - nearer) / (1 + drawn)
        p_holm = np.array([corrected(row, HOLM) for row in p.tolist()])
        sure, close = (p_holm <= LEVEL) & (far > half), far + half < GAP
        answers = np.select([sure & (values < 0), sure & (values > 0), close], [0, 1, 2], 3)
        return values, half, p, p_holm, answers

    def add(self, made: Collected, test: int, measure: str, cells: Cells) -> None:
        """Add the answer to a test and its error rates: how often kinds that are permuted again are
        called worse or better, and how often worse with ``GAP`` planted in the effect.
        """
        value, half, p, p_holm, answer = (column[0, test] for column in self.judged(self.observed))
        bounds = Interval(float(value - half), float(value + half), 1 - LEVEL)
        tested: Cells = {"p": float(p), "p_adjusted": float(p_holm), "family": "tests of kind"}
        tested |= {"answer": list(KindAnswer)[answer].value, "interval": "queries"}
        made.add(measure, "effect of kind", value, bounds, **tested, **cells)
        cells = {name: cells[name] for name in ("pool", "kind", "variant")}
        called = self.judged(self.held_out)[-1][:, test] < 2
        alarms = stats.binomtest(int(called.sum()), len(called))
        ends = alarms.proportion_ci(1 - LEVEL, method="exact")
        bounds = Interval(float(ends.low), float(ends.high))
        drawn: Cells = {"count": len(called), "counted": "permutations", "interval": "draws"}
        made.add(measure, "false alarms", alarms.statistic, bounds, **drawn, **cells)
        planted = self.held_out.copy()
        planted[:, test, 0] -= GAP
        power = (self.judged(planted)[-1][:, test] == 0).mean()
        made.add(measure, "power", float(power), **cells)
