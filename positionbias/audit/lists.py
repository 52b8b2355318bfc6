"""Test whether a scorer is listwise, and whether a passage's place in the list matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from positionbias.audit.systems import System, Task, made_id
from positionbias.core.seeds import drawn_order
from positionbias.models.protocols import TextScorer

TRIED = 20  # queries to find a scorer's nature
ALONE = 3  # passages of each query, scored alone
SHARE = 0.01  # share of a list's deviation: smaller changes count as none
BEYOND_NOISE = 2.0
LEAST = 3  # passages of a list


@dataclass(frozen=True, slots=True)
class Nature:
    """A scorer's response to a list, each figure a root mean square as a share of the list's
    deviation.

    ``noise``: the same list twice; ``permuted``: the list reversed; ``alone``: passages alone.
    ``tried``: lists were long enough to try, where needed.
    """

    listwise: bool
    repeatable: bool = True
    noise: float = 0.0
    permuted: float = 0.0
    alone: float = 0.0
    tried: bool = True

    @property
    def order_matters_not(self) -> bool:
        """True if scores do not depend on the list: by the model's design, or found on a repeatable
        scorer.
        """
        return not self.listwise and self.repeatable and self.tried


def nature_of(system: System, task: Task, seed: int) -> Nature:
    """Test whether a scorer of texts is listwise; models that score pairs of token numbers are
    pointwise by design.

    It is listwise if reversing a list, or leaving the other passages out, changes scores by more
    than twice the change of a repeated call, and by more than 1 % of the list's deviation
    [decision]. It is not repeatable if a repeated call differs by more than that 1 %.
    """
    if not isinstance(system.model, TextScorer):
        return Nature(False)
    drawn = drawn_order(task.candidates, seed, "nature of a scorer")
    chosen = [name for name in drawn if len(task.candidates_of(name)) >= LEAST][:TRIED]
    if not chosen:
        return Nature(False, tried=False)
    labels = ["once", "again", "reversed", *(f"alone {place}" for place in range(ALONE))]
    texts, lists = task.texts, dict[str, tuple[str, Sequence[str]]]()
    for query_id in chosen:
        ids = task.candidates_of(query_id)
        orders = [ids, ids, ids[::-1], *([passage_id] for passage_id in ids[:ALONE])]
        for label, order in zip(labels, orders, strict=True):
            lists[made_id(query_id, label)] = texts[query_id], order
    description = f"{system.name}: pointwise or listwise?"
    scores = system.scores(task, task.collection, lists, description)
    changes: dict[str, list[float]] = {"again": [], "reversed": [], "alone": []}
    variances = []
    for query_id in chosen:
        first = scores[made_id(query_id, "once")]
        values = np.array([*first.values()])
        variances += [] if np.isnan(values).all() else [np.nanvar(values)]
        for label in labels[1:]:
            other = scores[made_id(query_id, label)]
            changes[label.split()[0]] += [other[name] - first[name] for name in other]
    # only scorers of lists leave passages out
    if any(np.isnan(part).all() for part in changes.values()):
        return Nature(True)
    spread = float(np.sqrt(np.mean(variances)))
    noise, permuted, alone = (_share(np.array(part), spread) for part in changes.values())
    listwise = max(permuted, alone) > max(SHARE, BEYOND_NOISE * noise)
    return Nature(listwise, noise <= SHARE, noise, permuted, alone)


def _share(changes: np.ndarray, spread: float) -> float:
    size = float(np.sqrt(np.nanmean(changes**2)))
    return size / spread if spread > 0 else (0.0 if size == 0 else float("inf"))


class OrderSlopes(NamedTuple):
    """The ranks lost by a passage given last instead of first, and in the middle instead of at an
    end, ``(queries, 2)``, with the queries' clusters; ``missing`` counts the queries left out as a
    score is missing.
    """

    slopes: np.ndarray
    clusters: list[str]
    missing: int = 0


def order_slopes(system: System, task: Task, query_ids: Sequence[str], seed: int) -> OrderSlopes:
    """Measure the within-query slopes of output rank on input place, from four orders of each list:
    a drawn one, its halves exchanged, both reversed.

    With x the input place over the last one, or its nearness 1 − |2x − 1| to the middle, and y the
    output rank (ties share the mean), both less the passage's mean over the orders, a slope is Σ
    x·y / Σ x². All passages have the same mean place, and nearly the same mean nearness, so
    relevance cancels.
    """
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    texts, lists = task.texts, dict[str, tuple[str, list[str]]]()
    asked = [name for name in query_ids if len(task.candidates_of(name)) >= LEAST]
    for query_id in asked:
        drawn = drawn_order(task.candidates_of(query_id), seed, "order of a list", query_id)
        shifted = [*drawn[len(drawn) // 2 :], *drawn[: len(drawn) // 2]]
        for number, order in enumerate((drawn, drawn[::-1], shifted, shifted[::-1])):
            lists[made_id(query_id, number)] = texts[query_id], order
    if not asked:
        return OrderSlopes(np.empty((0, 2)), [])
    description = f"{system.name}: lists in other orders"
    scores = system.scores(task, task.collection, lists, description)
    slopes, full = [], []
    for query_id in asked:
        names = [made_id(query_id, number) for number in range(4)]
        orders, ids = [lists[name][1] for name in names], sorted(lists[names[0]][1])
        by_order = np.array([[scores[name][passage] for passage in ids] for name in names])
        if np.isnan(by_order).any():
            continue
        at = np.array([[order.index(name) for name in ids] for order in orders]) / (len(ids) - 1)
        ranks = stats.rankdata(-by_order, axis=1)
        slopes.append([_slope(x, ranks) for x in (at, 1 - np.abs(2 * at - 1))])
        full.append(clusters.get(query_id, query_id))
    return OrderSlopes(np.array(slopes).reshape(-1, 2), full, len(asked) - len(full))


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of y on x, ``(orders, passages)``, within passages; NaN if x is constant."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    spread = float((x * x).sum())
    return float((x * y).sum() / spread) if spread > 1e-9 else float("nan")
