"""Estimate effects of place, length and truncation on the score of the same evidence.

The score z at length l and place p is the mean over queries of the evidence's lead over its
competitors' mean, divided by the mean deviation of the competitors' scores at that length. Every
effect is a linear function of these scores; its interval accounts for the estimated deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.interval import interval_of
from positionbias.evaluation.bootstrap import Clusters, cluster_queries, means_left_out
from positionbias.evaluation.simultaneous import Simultaneous, from_replicates

__all__ = ["LENGTHS", "PLACES", "READ", "UNREAD", "GridEffectOf", "Scored", "grid_rows"]

LENGTHS = "length by place"
PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
ROUNDED = 4  # decimals of a lead in units, coarser than the effect of the order of a float32 sum
# a cell is read if the evidence of at most this share of queries is beyond the limit or cut by it
READ = 0.05
UNREAD = 0.5  # it is not read if the evidence of at least this share is beyond


class GridEffectOf(StrEnum):
    """The cause of an effect.

    ``PLACE``: within one length, a place less place 0. ``LENGTH``: at place 0, a length less the
    shortest. ``TRUNCATION``: the effect of a place at which the evidence is not read, less its
    effect in the longest text where it is read. ``INTERACTION``: the change of the slope over
    places, last − first, by each doubling of the length, over the lengths that are read.
    """

    PLACE = "place"
    LENGTH = "length"
    TRUNCATION = "truncation"
    INTERACTION = "place by length"


class Scored(NamedTuple):
    """Scores of the evidence: ``leads (queries, lengths, places)`` over its competitors' mean,
    ``units (queries, lengths)`` (the competitors' deviations); ``beyond`` marks evidence that
    starts beyond the limit, ``cut`` evidence that starts within and ends beyond it."""

    lengths: Sequence[int]
    leads: np.ndarray
    units: np.ndarray
    beyond: np.ndarray
    cut: np.ndarray
    clusters: Sequence[str]


class _Weighted(NamedTuple):
    """A linear function of the cells: its name, length and place, and ``weights (lengths,
    places)``.
    """

    name: str
    length: int | None
    place: float | None
    weights: np.ndarray


def grid_rows(scored: Scored) -> list[dict[str, Any]]:
    """Return the evidence's lead at each length and place as rows, the shares of queries that are
    not read or cut there, and the effects; lengths at which all competitors have equal scores have
    none.

    A lead is in deviations of the competitors, which stand at place 0 of texts of that length.
    Intervals are simultaneous over all cells, and over all effects.
    """
    clusters = cluster_queries(scored.clusters, len(scored.leads))
    means, without = means_left_out(scored.units, clusters)
    keep = (means > 0) & (without > 0).all(axis=0)
    lengths = [length for length, kept in zip(scored.lengths, keep, strict=True) if kept]
    if not lengths:
        return []
    leads, units, beyond, cut = (array[:, keep] for array in scored[1:5])
    kept = Scored(lengths, leads, units, beyond, cut, scored.clusters)
    beyond, cut = beyond.mean(axis=0), cut.mean(axis=0)
    cells = [
        _Weighted("mean", length, place, weights.reshape(beyond.shape))
        for (length, place), weights in zip(
            ((length, place) for length in lengths for place in PLACES),
            np.eye(beyond.size),
            strict=True,
        )
    ]
    rows = []
    for weighted in (cells, _effects(lengths, beyond, cut)):
        for one, estimate in zip(weighted, _estimates(weighted, kept, clusters), strict=True):
            rows.append(
                {
                    **_cells(one),
                    "statistic": one.name,
                    "value": estimate.value,
                    "bounds": interval_of(estimate.low, estimate.high),
                    "interval": "simultaneous",
                    **(
                        {"count": len(kept.leads), "counted": "queries"}
                        if weighted is cells
                        else {"p": estimate.p, "detectable": estimate.detectable}
                    ),
                }
            )
    for name, shares in (("share not read", beyond), ("share cut", cut)):
        rows += [
            {**_cells(one), "statistic": name, "value": share}
            for one, share in zip(cells, shares.ravel(), strict=True)
        ]
    return rows


def _cells(one: _Weighted) -> dict[str, Any]:
    cells: dict[str, Any] = {"measure": LENGTHS}
    if one.length is not None:
        cells["length"] = str(one.length)
    if one.place is not None:
        cells |= {"axis": "place", "at": one.place, "label": f"{one.place:.2f}"}
    return cells


def _estimates(
    weighted: Sequence[_Weighted], scored: Scored, clusters: Clusters
) -> list[Simultaneous]:
    """Estimate weights times the cells' scores, in units that are estimated too."""
    weights = np.array([one.weights.ravel() for one in weighted])
    unit, unit_without = means_left_out(scored.units, clusters)
    leads = np.round(scored.leads / unit[None, :, None], ROUNDED).reshape(len(scored.leads), -1)
    mean, without = means_left_out(leads, clusters)
    ratio = np.repeat(unit / unit_without, len(PLACES), axis=1)
    return from_replicates(
        weights @ mean,
        (without * ratio) @ weights.T,
        largest=np.abs(weights) @ np.abs(leads).max(axis=0),
        groups=np.full(len(weights), clusters.count),
        counts=np.full(len(weights), len(leads)),
    )


def _effects(lengths: Sequence[int], beyond: np.ndarray, cut: np.ndarray) -> list[_Weighted]:
    """Return all effects; ``beyond`` and ``cut`` are shares, ``(lengths, places)``."""
    effects, is_read = [], beyond + cut <= READ

    def add(
        name: str, length: int | None, place: float | None, *terms: tuple[int, int, float]
    ) -> None:
        weights = np.zeros(beyond.shape)
        for row, column, weight in terms:
            weights[row, column] += weight
        effects.append(_Weighted(name, length, place, weights))

    places = list(enumerate(PLACES))[1:]
    for row, length in enumerate(lengths):
        for column, place in places:
            add(GridEffectOf.PLACE, length, place, (row, column, 1), (row, 0, -1))
    for row, length in enumerate(lengths[1:], 1):
        add(GridEffectOf.LENGTH, length, 0.0, (row, 0, 1), (0, 0, -1))
    for row, length in enumerate(lengths):
        for column, place in places:
            read = [other for other in range(row) if is_read[other, column]]
            if beyond[row, column] >= UNREAD and read:
                ends = (row, column, 1), (row, 0, -1), (read[-1], column, -1), (read[-1], 0, 1)
                add(GridEffectOf.TRUNCATION, length, place, *ends)
    whole = [row for row in range(len(lengths)) if is_read[row].all()]
    if len(whole) > 1:
        by_place, by_length = _slope(PLACES), _slope(np.log2([lengths[row] for row in whole]))
        weights = np.zeros(beyond.shape)
        weights[whole] = by_length[:, None] * by_place
        effects.append(_Weighted(GridEffectOf.INTERACTION, None, None, weights))
    return effects


def _slope(x: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the weights of the least-squares slope on ``x``."""
    centred = np.asarray(x, np.float64) - np.mean(x)
    return centred / (centred**2).sum()
