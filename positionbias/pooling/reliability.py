"""Measure the reliability of pools of one kind of system for systems of each kind: order, change of
score, distinguishable pairs.

For each drawn pool every run is scored twice, with the gold judgements and with the pool's;
documents without a judgement count as not relevant. Systems of no drawn group are the test systems
(Yilmaz et al. 2020, Section 3.2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from positionbias.core.progress import step
from positionbias.evaluation.distinguished import distinguished, share_of_pairs
from positionbias.evaluation.system_order import order_by_ap, order_by_kendall
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import DrawnPools, draw_pools, gold_pool, pool_kinds
from positionbias.pooling.scores import (
    PoolMeasure,
    judged_shares,
    residual_weights,
    residuals,
    score_pools,
)
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import groups_of, kinds_of

ALL = "all"  # the test systems of all kinds together

__all__ = ["ALL", "FIGURES", "OnePool", "Reliability", "TestSet", "reliability"]

FIGURES = (
    "tau_b", "tau_ap", "gold", "estimated", "judged_gold", "judged", "residual_gold", "residual",
    "power_gold", "power", "kept", "reversed",
)  # fmt: skip
# values of one measure at once: they fit in the processor's cache, which halves the time
_BLOCK = 400_000


@dataclass(slots=True, eq=False)
class TestSet:
    """The test systems of one kind (``test`` "all": of every kind) under the pools of one kind, by
    one measure.

    ``systems (pools,)`` counts them, 0 if a draw leaves none. ``change (pools, queries)`` is the
    mean over systems of estimated − gold. For the groups that never feed these pools,
    ``group_change (pools, groups)`` is the sum over their test systems of the mean change over
    queries, and ``group_systems (pools, groups)`` counts the systems; ``feeding`` is the number of
    groups that may feed a pool, ``fed`` the number that do. ``figures`` by name, each ``(pools,)``:
    "tau_b" and "tau_ap" (NaN if undefined); "gold" and "estimated" mean scores; "judged_gold" and
    "judged", the judged share of the first ranks; "residual_gold" and "residual", RBP's;
    "power_gold" and "power", the share of distinguished pairs; "kept" and "reversed", the shares of
    pairs distinguished by gold that the pool distinguishes in the same and in the opposite
    direction.
    """

    pool: str
    test: str
    measure: str
    systems: np.ndarray
    change: np.ndarray
    group_change: np.ndarray
    group_systems: np.ndarray
    feeding: int
    fed: int
    figures: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class OnePool:
    """Pool number 0 of a kind, for Figures 2 and 3: its groups, its test systems and their scores
    by measure, each ``(runs,)``.

    ``judged`` and ``residual (runs,)``: the judged share of the first ranks and RBP's residual
    under this pool.
    """

    pool: str
    groups: tuple[str, ...]
    test: np.ndarray
    gold: dict[str, np.ndarray]
    estimated: dict[str, np.ndarray]
    judged: np.ndarray
    residual: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """All test sets, in order of pools, measures and kinds; one pool of each kind; and the sizes of
    the gold and the drawn pools.

    ``relevant`` and ``judged`` hold counts of judgements by pool kind, ``(pools,)``; under "gold"
    one number each.
    """

    settings: PoolSettings
    measures: tuple[PoolMeasure, ...]
    sets: tuple[TestSet, ...]
    one_pool: tuple[OnePool, ...]
    judged: dict[str, np.ndarray]
    relevant: dict[str, np.ndarray]


def reliability(
    runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings, *, level: int = 1
) -> Reliability:
    """Draw the pools and compare each with the gold; ``level`` is the lowest grade of a relevant
    document, for the counts.

    Memory is one block of pools, plus a few figures per pool and the change of each query.

    Raises:
        InputError: fewer than two kinds, or none to draw a pool from.
    """
    gold = gold_pool(runs, settings)
    kinds = pool_kinds(runs.systems)
    truth = _Truth(runs, measures, gold, settings)
    relevant = runs.grades >= level
    sets: list[TestSet] = []
    one_pool: list[OnePool] = []
    judged = {"gold": np.array([gold.sum()])}
    found = {"gold": np.array([(gold & relevant).sum()])}
    size = max(1, _BLOCK // max(runs.places.shape[0] * runs.places.shape[1], runs.unjudged))
    with step("pools", settings.pools * len(kinds), unit="pools") as progress:
        for kind in kinds:
            blocks, counts = [], []
            for start in range(0, settings.pools, size):
                numbers = range(start, min(start + size, settings.pools))
                pools = draw_pools(runs, kind, numbers, settings)
                estimated = {
                    measure.name: score_pools(runs, pools.judged, measure) for measure in measures
                }
                known = truth.known(pools.judged)
                blocks.append(truth.compared(pools, estimated, *known))
                counts.append((pools.judged.sum(axis=1), (pools.judged & relevant).sum(axis=1)))
                if not start:
                    means = {name: values[0].mean(axis=0) for name, values in estimated.items()}
                    seen = [of_runs[0] for of_runs in known]
                    one_pool.append(
                        OnePool(kind, pools.groups[0], pools.test[0], truth.means, means, *seen)
                    )
                progress.advance(len(numbers))
            sets += [_joined(parts) for parts in zip(*blocks, strict=True)]
            judged[kind], found[kind] = (np.concatenate(part) for part in zip(*counts, strict=True))
    return Reliability(settings, tuple(measures), tuple(sets), tuple(one_pool), judged, found)


def _joined(parts: Sequence[TestSet]) -> TestSet:
    first = parts[0]
    return TestSet(
        first.pool,
        first.test,
        first.measure,
        np.concatenate([part.systems for part in parts]),
        np.concatenate([part.change for part in parts]),
        np.concatenate([part.group_change for part in parts]),
        np.concatenate([part.group_systems for part in parts]),
        first.feeding,
        first.fed,
        {name: np.concatenate([part.figures[name] for part in parts]) for name in first.figures},
    )


class _Truth:
    """All runs under the gold judgements, to compare blocks of pools with."""

    def __init__(
        self,
        runs: JudgedRuns,
        measures: Sequence[PoolMeasure],
        gold: np.ndarray,
        settings: PoolSettings,
    ) -> None:
        self.runs, self.depth = runs, settings.depth
        self.kinds = kinds_of(runs.systems)
        self.values = {
            measure.name: score_pools(runs, gold[None], measure)[0] for measure in measures
        }
        self.means = {name: values.mean(axis=0) for name, values in self.values.items()}
        self.distinguished = {name: distinguished(values) for name, values in self.values.items()}
        self.weights = residual_weights(runs)
        self.judged, self.residual = (of_runs[0] for of_runs in self.known(gold[None]))
        self.of_kind = np.array(
            [*(runs.of_kind(kind) for kind in self.kinds), np.ones(len(runs.systems), bool)]
        )

    def known(self, pools: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the judged share of the first ranks and RBP's residual, each ``(pools, runs)``."""
        return _mean_share(judged_shares(self.runs, pools, self.depth)), residuals(
            self.weights, pools
        )

    def compared(
        self,
        pools: DrawnPools,
        estimated: dict[str, np.ndarray],
        shares: np.ndarray,
        residual: np.ndarray,
    ) -> list[TestSet]:
        members = pools.test[:, None, :] & self.of_kind  # (pools, sets, runs)
        systems = members.sum(axis=-1)
        weights = members / np.maximum(systems, 1)[..., None]
        weights[systems == 0] = np.nan
        judged = {
            "judged_gold": (weights * self.judged).sum(axis=-1),
            "judged": (weights * shares[:, None]).sum(axis=-1),
            "residual_gold": (weights * self.residual).sum(axis=-1),
            "residual": (weights * residual[:, None]).sum(axis=-1),
        }
        feeding = groups_of(self.runs.systems, pools.kind)
        others = sorted({system.group for system in self.runs.systems} - set(feeding))
        of_group = np.array(
            [[system.group == group for group in others] for system in self.runs.systems], float
        )
        counts = members @ of_group  # (pools, sets, groups)
        found = []
        for name, values in estimated.items():
            # (pools, queries, runs) with (pools, sets, runs)
            changes = values - self.values[name]
            change = changes @ weights.swapaxes(-1, -2)
            by_group = (members * changes.mean(axis=1)[:, None]) @ of_group
            figures = {
                **self._order(name, values, members, weights),
                **judged,
                **self._apart(name, values, members),
            }
            for place, label in enumerate((*self.kinds, ALL)):
                of_set = {figure: figures[figure][:, place] for figure in FIGURES}
                arrays = systems[:, place], change[..., place], by_group[:, place], counts[:, place]
                found.append(
                    TestSet(
                        pools.kind, label, name, *arrays, len(feeding), len(pools.groups[0]), of_set
                    )
                )
        return found

    def _order(
        self, name: str, values: np.ndarray, members: np.ndarray, weights: np.ndarray
    ) -> dict[str, np.ndarray]:
        means, gold = values.mean(axis=1), self.means[name]
        return {
            "tau_b": order_by_kendall(gold, means, members),
            "tau_ap": order_by_ap(gold, means, members),
            "gold": (weights * gold).sum(axis=-1),
            "estimated": (weights * means[:, None]).sum(axis=-1),
        }

    def _apart(self, name: str, values: np.ndarray, members: np.ndarray) -> dict[str, np.ndarray]:
        gold, pool = self.distinguished[name], distinguished(values)
        shares = {
            "power_gold": share_of_pairs(np.abs(gold), members),
            "power": share_of_pairs(np.abs(pool), members),
            "kept": share_of_pairs(gold * pool == 1, members),
            "reversed": share_of_pairs(gold * pool == -1, members),
        }
        with np.errstate(invalid="ignore", divide="ignore"):
            for figure in ("kept", "reversed"):  # NaN if gold distinguishes nothing
                shares[figure] = shares[figure] / shares["power_gold"]
        return shares


def _mean_share(shares: np.ndarray) -> np.ndarray:
    """Return the mean over the queries that a run ranks passages for, ``(pools, runs)`` of
    ``(pools, queries, runs)``.
    """
    has = ~np.isnan(shares)
    return np.where(has, shares, 0).sum(axis=1) / np.maximum(has.sum(axis=1), 1)
