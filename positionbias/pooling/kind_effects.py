"""Test whether kind matters to a pool: two contrasts of runs of one kind with runs of the pool's
kind, under permuted kinds.

Pools are drawn from half of the groups of kind A, and each run's change (estimated − gold) is
averaged over the pools that its group did not feed. The effect of kind B is the coefficient of "is
of B" in a least-squares regression of the runs' changes on kind and gold score, over the runs of A
and B: better runs have more to lose, so runs of equal score are compared [decision]. There are two
effects:

* ``Contrast.UNSEEN``: on the change itself. It compares B's runs with unseen runs of A.
* ``Contrast.MIXED``: on the change minus the same run's change under pools of as many groups drawn
  from all kinds. Every run is its own control, so its group's unique documents, whose number varies
  much between groups, cancel. It misses B's loss under mixed pools.

Groups are drawn at random, so kinds are permuted among groups (``pooling.exchange``) and pools are
redrawn for every permutation; ``pooling.kind_rule`` decides over all pairs of kinds, measures and
contrasts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.progress import step
from positionbias.pooling.exchange import ENOUGH, exchange_of, exchanged
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.kind_rule import LEVEL, Contrast, KindEffect, Rule
from positionbias.pooling.pools import draw_pools, gold_pool, pool_kinds
from positionbias.pooling.scores import PoolMeasure, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System, groups_of, kinds_of

__all__ = ["PERMUTATIONS", "POOLS", "Pair", "kind_effects"]

PERMUTATIONS = 1_000
POOLS = 20  # of each kind, for every permutation [decision]
PER_TEST = 40  # minimum number of permutations per test: Holm's smallest p is then 0.025
MIXED_POOLS = 200  # drawn once, as they do not depend on kinds


def kind_effects(
    runs: JudgedRuns,
    measures: Sequence[PoolMeasure],
    settings: PoolSettings,
    *,
    permutations: int = PERMUTATIONS,
) -> list[KindEffect]:
    """Test every kind under pools of every other kind with at least two groups, by the measures
    that are computed on arrays; others are left out.

    ``permutations`` are drawn for p, and as many for the error rates; more if Holm's correction of
    many tests would put every p above 0.05. Memory is that of ``POOLS`` pools.

    Raises:
        InputError: fewer than two kinds, or none to draw a pool from.
    """
    quick = [measure for measure in measures if measure.kind]
    pairs = (
        [Pair(runs, quick, settings, kinds) for kinds in _directions(runs.systems)] if quick else []
    )
    permutations = max(permutations, PER_TEST * sum(len(pair.asked) for pair in pairs))
    drawn = [pair for pair in pairs if pair.exchange.arrangements >= ENOUGH]
    with step("permuted kinds", 2 * permutations * len(drawn), unit="permutations") as progress:
        found = []
        for pair in drawn:
            found.append([pair.effects(runs.systems)])
            for number in range(2 * permutations):
                found[-1].append(
                    pair.effects(exchanged(runs.systems, pair.exchange, number, settings.seed))
                )
                progress.advance()
    untold = [
        replace(asked, gap=float(gap))
        for pair in pairs
        if pair not in drawn
        for asked, (gap, _) in zip(pair.asked, pair.effects(runs.systems), strict=True)
    ]
    return untold + (
        _answers(drawn, np.concatenate([np.array(of) for of in found], axis=1), runs)
        if drawn
        else []
    )


def _directions(systems: Sequence[System]) -> list[list[tuple[str, str]]]:
    """Return the possible (pool, test) directions of each pair of kinds."""
    of_pools = pool_kinds(systems)
    pairs = combinations(kinds_of(systems), 2)
    return [
        found
        for pair in pairs
        if (found := [kinds for kinds in (pair, pair[::-1]) if kinds[0] in of_pools])
    ]


def _answers(drawn: Sequence[Pair], found: np.ndarray, runs: JudgedRuns) -> list[KindEffect]:
    """Decide all pairs together, as Holm's correction is over all of them."""
    queries = len(runs.query_ids)
    rule = Rule(found, queries)
    tests = [asked for pair in drawn for asked in pair.asked]
    effects = []
    for place, (asked, (answer, p, p_holm)) in enumerate(zip(tests, rule.answers(), strict=True)):
        gap, by_chance = float(rule.given[0, place, 0]), float(rule.mean[place])
        half = float(rule.half(rule.given)[0, place])
        method = f"permuted kinds of {asked.exchanging} groups, and t over {queries} topics"
        interval = Interval(gap - by_chance - half, gap - by_chance + half, 1 - LEVEL, method)
        answered = replace(
            asked,
            answer=answer,
            gap=gap,
            by_chance=by_chance,
            value=gap - by_chance,
            interval=interval,
            p=p,
            p_holm=p_holm,
        )
        effects.append(rule.with_rates(answered, place))
    return effects


class Pair:
    """Two kinds: the unanswered tests (``asked``), their exchange, and effects under any labels."""

    def __init__(
        self,
        runs: JudgedRuns,
        measures: Sequence[PoolMeasure],
        settings: PoolSettings,
        directions: Sequence[tuple[str, str]],
    ) -> None:
        self.runs, self.measures, self.settings, self.directions = (
            runs,
            measures,
            settings,
            directions,
        )
        self.exchange = exchange_of(runs.systems, directions[0])
        groups = len({system.group for system in runs.systems})
        self.asked = [
            KindEffect(
                contrast=contrast,
                pool=pool,
                kind=kind,
                measure=measure.name,
                gap=0.0,
                groups=groups,
                among=self.exchange.among,
                arrangements=self.exchange.arrangements,
                exchanging=self.exchange.groups,
            )
            for pool, kind in directions
            for measure in measures
            for contrast in Contrast
        ]
        gold = gold_pool(runs, settings)
        self.gold = {
            measure.name: score_pools(runs, gold[None], measure)[0] for measure in measures
        }
        anybody = [system._replace(kind="any") for system in runs.systems]
        self.mixed = {}
        for pool, _ in directions:
            fed = settings.groups or len(groups_of(runs.systems, pool)) // 2
            self.mixed[pool] = self._changes(
                anybody, "any", replace(settings, groups=fed), MIXED_POOLS
            )

    def _changes(
        self, systems: Sequence[System], kind: str, settings: PoolSettings, pools: int
    ) -> dict[str, np.ndarray]:
        """Return each run's mean change by query over the pools that may test it,
        ``(queries, runs)`` by measure; NaN without any.
        """
        total = {measure.name: np.zeros(self.gold[measure.name].shape) for measure in self.measures}
        runs, tested = self.runs.with_systems(systems), np.zeros(len(systems))
        for start in range(0, pools, POOLS):
            drawn = draw_pools(runs, kind, range(start, min(start + POOLS, pools)), settings)
            tested += drawn.test.sum(axis=0)
            for measure in self.measures:
                values = score_pools(runs, drawn.judged, measure)
                total[measure.name] += np.einsum("pqr,pr->qr", values, drawn.test)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {name: summed / tested - self.gold[name] for name, summed in total.items()}

    def effects(self, systems: Sequence[System]) -> np.ndarray:
        """Return the effect of each test and its standard error over topics, ``(tests, 2)``."""
        rows = []
        kinds = np.array([system.kind for system in systems])
        for pool, test in self.directions:
            for name, change in self._changes(systems, pool, self.settings, POOLS).items():
                weights = _weights(
                    kinds == pool, kinds == test, self.gold[name].mean(axis=0), change
                )
                for against in (0.0, self.mixed[pool][name]):
                    by_query = np.where(weights, change - against, 0.0) @ weights
                    rows.append(
                        (
                            by_query.mean(),
                            by_query.std(ddof=1) / np.sqrt(len(by_query))
                            if len(by_query) > 1
                            else 0.0,
                        )
                    )
        return np.array(rows)


def _weights(
    own: np.ndarray, other: np.ndarray, gold: np.ndarray, change: np.ndarray
) -> np.ndarray:
    """Return the weights ``(runs,)`` of changes in the coefficient of ``other`` against ``own`` at
    equal gold score.
    """
    used = (own | other) & ~np.isnan(change[0])
    design = np.column_stack([np.ones(used.sum()), gold[used], other[used]])
    weights = np.zeros(len(gold))
    weights[used] = np.linalg.pinv(design)[2]
    return weights
