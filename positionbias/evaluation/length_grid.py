"""Estimate effects of place, length and truncation on the score of the same evidence.

The score z at length l and place p is the mean over queries of the evidence's lead over its
competitors' mean, divided by the mean deviation of the competitors' scores at that length. Every
effect is a linear function of these scores; its interval accounts for the estimated deviations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from positionbias.evaluation.bootstrap import Clusters, cluster_queries, means_left_out
from positionbias.evaluation.simultaneous import Simultaneous, from_replicates

__all__ = [
    "LENGTHS",
    "GridCell",
    "GridEffect",
    "GridEffectOf",
    "GridFigures",
    "LengthGrid",
    "PLACES",
    "READ",
    "UNREAD",
    "Scored",
    "grid_of",
]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GridFigures:
    """Figures behind a grid: the ``unit`` of its lengths, at most ``competitors`` per query, how
    far ``apart`` fillers are from the relevant passage, and the source of the model's ``limit``."""

    unit: str
    queries: int
    clusters: int
    competitors: int
    apart: str
    limit: str
    unmoved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GridCell:
    """The evidence at one place of texts of one length.

    ``score`` is its lead over the competitors, which stand at place 0 of texts of that length, in
    their deviations, with a simultaneous 95 % interval over all cells. ``rank`` is its mean rank
    among them, ``start`` the mean token (or word) at which it starts. ``beyond`` is the share of
    queries where it starts beyond the model's limit, ``cut`` the share where it starts within and
    ends beyond.
    """

    length: int
    place: float
    score: float | None
    low: float | None
    high: float | None
    rank: float
    start: float
    beyond: float
    cut: float = 0.0


@dataclass(frozen=True, slots=True)
class GridEffect:
    """One effect in deviations, with its simultaneous 95 % interval over all effects; ``length``
    and ``place`` where it has one.
    """

    of: GridEffectOf
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    length: int | None = None
    place: float | None = None


@dataclass(frozen=True, slots=True)
class LengthGrid:
    """A model's response to the length of a text and the place of the same evidence in it; cells by
    length, then by place. ``deviations`` are those of the competitors' scores, in the system's own
    unit, one per length."""

    lengths: Sequence[int]
    deviations: Sequence[float]
    places: Sequence[float]
    cells: Sequence[GridCell]
    effects: Sequence[GridEffect]
    figures: GridFigures


class Scored(NamedTuple):
    """Scores of the evidence: ``leads (queries, lengths, places)`` over its competitors' mean,
    ``units (queries, lengths)`` (the competitors' deviations), ``ranks`` and
    ``starts (queries, lengths, places)``; ``beyond`` marks evidence that starts beyond the limit,
    ``cut`` evidence that starts within and ends beyond it."""

    lengths: Sequence[int]
    leads: np.ndarray
    units: np.ndarray
    ranks: np.ndarray
    starts: np.ndarray
    beyond: np.ndarray
    cut: np.ndarray
    clusters: Sequence[str]

    def of_lengths(self, keep: np.ndarray) -> Scored:
        """Return the scores of some lengths."""
        return Scored(
            [length for length, kept in zip(self.lengths, keep, strict=True) if kept],
            self.leads[:, keep],
            self.units[:, keep],
            self.ranks[:, keep],
            self.starts[:, keep],
            self.beyond[:, keep],
            self.cut[:, keep],
            self.clusters,
        )


def grid_of(scored: Scored) -> tuple[list[GridCell], list[GridEffect]]:
    """Return cells and effects; lengths at which all competitors have equal scores have none."""
    found = cluster_queries(scored.clusters, len(scored.leads))
    means, without = means_left_out(scored.units, found)
    scored = scored.of_lengths((means > 0) & (without > 0).all(axis=0))
    if not scored.lengths:
        return [], []
    beyond, cut = scored.beyond.mean(axis=0), scored.cut.mean(axis=0)
    cells = _estimates(np.eye(beyond.size), scored, found)
    keys = [(length, place) for length in scored.lengths for place in PLACES]
    columns = (scored.ranks.mean(axis=0), scored.starts.mean(axis=0), beyond, cut)
    described = np.stack(columns, axis=-1).reshape(len(keys), -1).tolist()
    shown = [
        GridCell(*key, one.value, one.low, one.high, *row)
        for key, one, row in zip(keys, cells, described, strict=True)
    ]
    effects = _effects(scored.lengths, beyond, cut)
    if not effects:
        return shown, []
    weights = np.array([weight.ravel() for _, weight in effects])
    estimates = _estimates(weights, scored, found)
    return shown, [
        GridEffect(
            effect.of,
            one.value,
            one.low,
            one.high,
            one.p,
            one.detectable,
            length=effect.length,
            place=effect.place,
        )
        for (effect, _), one in zip(effects, estimates, strict=True)
    ]


def _estimates(weights: np.ndarray, scored: Scored, clusters: Clusters) -> list[Simultaneous]:
    """Estimate ``weights (k, cells)`` times the cells' scores, in units that are estimated too."""
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


def _effects(
    lengths: Sequence[int], beyond: np.ndarray, cut: np.ndarray
) -> list[tuple[GridEffect, np.ndarray]]:
    """Return all effects, each with its weights ``(lengths, places)``; ``beyond`` and ``cut`` are
    shares, ``(lengths, places)``.
    """
    found, is_read = [], beyond + cut <= READ

    def add(effect: GridEffect, *terms: tuple[int, int, float]) -> None:
        weights = np.zeros(beyond.shape)
        for row, column, weight in terms:
            weights[row, column] += weight
        found.append((effect, weights))

    for row, length in enumerate(lengths):
        for column, place in enumerate(PLACES[1:], 1):
            add(
                GridEffect(GridEffectOf.PLACE, None, length=length, place=place),
                (row, column, 1),
                (row, 0, -1),
            )
    for row, length in enumerate(lengths[1:], 1):
        add(
            GridEffect(GridEffectOf.LENGTH, None, length=length, place=0.0), (row, 0, 1), (0, 0, -1)
        )
    for row, length in enumerate(lengths):
        for column, place in enumerate(PLACES[1:], 1):
            read = [other for other in range(row) if is_read[other, column]]
            if beyond[row, column] >= UNREAD and read:
                ends = (row, column, 1), (row, 0, -1), (read[-1], column, -1), (read[-1], 0, 1)
                add(GridEffect(GridEffectOf.TRUNCATION, None, length=length, place=place), *ends)
    whole = [row for row in range(len(lengths)) if is_read[row].all()]
    if len(whole) > 1:
        by_place, by_length = _slope(PLACES), _slope(np.log2([lengths[row] for row in whole]))
        weights = np.zeros(beyond.shape)
        weights[whole] = by_length[:, None] * by_place
        found.append((GridEffect(GridEffectOf.INTERACTION, None), weights))
    return found


def _slope(x: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the weights of the least-squares slope on ``x``."""
    centred = np.asarray(x, np.float64) - np.mean(x)
    return centred / (centred**2).sum()
