"""Test whether a scorer is listwise, and whether a passage's place in the list matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import Missing
from positionbias.audit.made_ids import made_id
from positionbias.audit.missing import missing_in
from positionbias.audit.systems import System, Task
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.models.protocols import TextScorer

__all__ = ["Nature", "OrderSlopes", "nature_of", "order_slopes"]

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
    ``declared``: the user declared the nature; ``tried``: lists were long enough to try, where
    needed.
    """

    listwise: bool
    repeatable: bool = True
    noise: float = 0.0
    permuted: float = 0.0
    alone: float = 0.0
    declared: bool = False
    tried: bool = True

    @property
    def order_matters_not(self) -> bool:
        """True if scores do not depend on the list: declared, by the model's design, or found on a
        repeatable scorer.
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
    chosen = [
        query_id
        for query_id in _drawn(task, seed)
        if len(task.candidates[query_id].passage_ids) >= LEAST
    ][:TRIED]
    if not chosen:
        return Nature(False, tried=False)
    lists = {query_id: task.candidates[query_id].passage_ids for query_id in chosen}
    asked = [
        (made_id(query_id, what), query_id, order)
        for query_id, ids in lists.items()
        for what, order in _ways(ids)
    ]
    scores = _score(system, task, asked, f"{system.name}: pointwise or listwise?")
    parts: dict[str, list[np.ndarray]] = {"again": [], "reversed": [], "alone": []}
    deviations = []
    for query_id, ids in lists.items():
        first = scores[made_id(query_id, "once")]
        plain = np.array([first[name] for name in ids])
        deviations.append(np.nanvar(plain) if not np.isnan(plain).all() else np.nan)
        for what in ("again", "reversed"):
            other = scores[made_id(query_id, what)]
            parts[what].append(np.array([other[name] for name in ids]) - plain)
        parts["alone"].append(
            np.array(
                [
                    scores[made_id(query_id, f"alone {place}")][ids[place]] - plain[place]
                    for place in range(ALONE)
                ]
            )
        )
    changes = {what: np.concatenate(part) for what, part in parts.items()}
    # only scorers of lists leave passages out
    if any(np.isnan(part).all() for part in changes.values()):
        return Nature(True)
    spread = float(np.sqrt(np.nanmean(deviations)))
    noise, permuted, alone = (
        _share(changes[what], spread) for what in ("again", "reversed", "alone")
    )
    listwise = max(permuted, alone) > max(SHARE, BEYOND_NOISE * noise)
    return Nature(listwise, noise <= SHARE, noise, permuted, alone)


def _ways(ids: Sequence[str]) -> Iterable[tuple[str, Sequence[str]]]:
    yield "once", ids
    yield "again", ids
    yield "reversed", ids[::-1]
    for place in range(ALONE):
        yield f"alone {place}", [ids[place]]


def _share(changes: np.ndarray, spread: float) -> float:
    size = float(np.sqrt(np.nanmean(changes**2)))
    return size / spread if spread > 0 else (0.0 if size == 0 else float("inf"))


def _drawn(task: Task, seed: int) -> list[str]:
    return drawn_order(task.candidates, seed, "nature of a scorer")


def _score(
    system: System, task: Task, asked: Sequence[tuple[str, str, Sequence[str]]], description: str
) -> dict[str, dict[str, float]]:
    """Return the scores by passage of each (name, query id, ordered passages)."""
    texts = {query.query_id: query.text for query in task.queries}
    run = Run("made", ((name, list(order), -np.arange(len(order))) for name, _, order in asked))
    queries = [Query(name, texts[query_id]) for name, query_id, _ in asked]
    found = system.scored(task, task.collection, run, description, queries)
    return {
        name: dict(zip(found[name].passage_ids, found[name].scores.tolist(), strict=True))
        for name, _, _ in asked
    }


class OrderSlopes(NamedTuple):
    """The ranks lost by a passage given last instead of first, and in the middle instead of at an
    end, ``(queries, 2)``, with the queries' clusters.

    Where scores are ``missing``, ``slopes`` are the least that any ranks in their place could give,
    and ``most`` the greatest; else None.
    """

    slopes: np.ndarray
    clusters: list[str]
    most: np.ndarray | None = None
    missing: Missing | None = None


def order_slopes(system: System, task: Task, query_ids: Sequence[str], seed: int) -> OrderSlopes:
    """Measure the within-query slopes of output rank on input place, from four orders of each list:
    a drawn one, its halves exchanged, both reversed.

    With x the input place over the last one, or its nearness 1 − |2x − 1| to the middle, and y the
    output rank (ties share the mean), both less the passage's mean over the orders, a slope is Σ
    x·y / Σ x². All passages have the same mean place, and nearly the same mean nearness, so
    relevance cancels. Of all orders of a list, that of the input has the greatest slope, and its
    reverse the least: those stand for a list with a missing score.
    """
    from scipy import stats

    labels = dict(zip(task.query_ids, task.clusters, strict=True))
    asked = []
    lists: dict[str, list[list[str]]] = {}
    for query_id in query_ids:
        ids = task.candidates[query_id].passage_ids if query_id in task.candidates else []
        if len(ids) < LEAST:
            continue
        drawn = drawn_order(ids, seed, "order of a list", query_id)
        shifted = [*drawn[len(drawn) // 2 :], *drawn[: len(drawn) // 2]]
        lists[query_id] = [drawn, drawn[::-1], shifted, shifted[::-1]]
        asked += [
            (made_id(query_id, number), query_id, order)
            for number, order in enumerate(lists[query_id])
        ]
    if not asked:
        return OrderSlopes(np.empty((0, 2)), [])
    scores = _score(system, task, asked, f"{system.name}: lists in other orders")
    bounds = []
    for query_id, orders in lists.items():
        ids = sorted(orders[0])
        places = np.array([[order.index(name) for name in ids] for order in orders]) / (
            len(ids) - 1
        )
        given = np.array(
            [
                [scores[made_id(query_id, number)][name] for name in ids]
                for number in range(len(orders))
            ]
        )
        gone = np.isnan(given).any(axis=1, keepdims=True)
        ways = [
            [
                _slope(x, stats.rankdata(np.where(gone, way * x, -given), axis=1))
                for x in (places, 1 - np.abs(2 * places - 1))
            ]
            for way in (-1, 1)
        ]
        bounds.append(ways)
    least, most = np.array(bounds).swapaxes(0, 1)
    names = {
        made_id(query_id, number): query_id
        for query_id, orders in lists.items()
        for number in range(len(orders))
    }
    missing = missing_in({name: scores[name].values() for name in names}, names)
    return OrderSlopes(
        least,
        [labels.get(query_id, query_id) for query_id in lists],
        most if missing else None,
        missing,
    )


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of ``y`` on ``x``, ``(orders, passages)``, within passages; NaN if x never
    changes.
    """
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    spread = float((x * x).sum())
    return float((x * y).sum() / spread) if spread > 1e-9 else float("nan")
