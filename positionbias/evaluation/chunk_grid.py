"""Estimate effects of the evidence's place in a document and in its chunks on its score, if a document has the score of its best chunk.

All texts of a setting have the same length, so the evidence's and the competitors' documents have the same number of chunks, and what a maximum over chunks
gains by chance cancels in the lead. It does not cancel if the evidence is whole in 2 chunks on one side of an effect and in 1 on the other: ``more`` reports
this. END − START over all chunks, and last − first chunk over all places in it, have equal numbers on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from positionbias.evaluation.bootstrap import Clusters, cluster_queries, means_left_out
from positionbias.evaluation.in_units import ROUNDED, in_units
from positionbias.evaluation.length_grid import PLACES
from positionbias.evaluation.simultaneous import Simultaneous
from positionbias.results.chunk_grid import ChunkCell, ChunkEffect, ChunkEffectOf, ChunkSetting, Within

__all__ = ["CELLS", "SAME_BUDGET", "Cell", "ScoredChunks", "chunk_grid_of"]

WHOLE = (Within.START, Within.MIDDLE, Within.END)
CHUNK_PLACES = (0.0, 0.5, 1.0)
SAME_BUDGET = 0.85  # the smallest ratio of the vectors of two equal budgets


class Cell(NamedTuple):
    """The place of the evidence: in its chunk, and in the document or its chunk in the document."""

    within: Within
    place: float


NATURAL = [Cell(Within.ANYWHERE, place) for place in PLACES]
CELLS = [*NATURAL, *(Cell(within, place) for within in (*WHOLE, Within.CUT) for place in CHUNK_PLACES)]


class ScoredChunks(NamedTuple):
    """Scores of documents: ``pairs`` of chunk and overlap; ``leads``, ``ranks``, ``starts``, ``held`` and ``beyond (queries, settings, cells)``, NaN without
    such a document; ``units``, ``vectors`` and ``stored (queries, settings)``; ``evidence_cut`` and ``answers_cut (settings,)``."""

    pairs: Sequence[tuple[int, int]]
    leads: np.ndarray
    ranks: np.ndarray
    starts: np.ndarray
    held: np.ndarray
    beyond: np.ndarray
    units: np.ndarray
    vectors: np.ndarray
    stored: np.ndarray
    evidence_cut: Sequence[int]
    answers_cut: Sequence[int | None]
    clusters: Sequence[str]

    def of_settings(self, keep: np.ndarray) -> ScoredChunks:
        """Return the scores of some settings."""
        kept = np.flatnonzero(keep).tolist()
        arrays: dict[str, Any] = {name: getattr(self, name)[:, kept] for name in self._fields[1:9]}
        listed: dict[str, Any] = {
            name: [getattr(self, name)[place] for place in kept] for name in ("pairs", "evidence_cut", "answers_cut")
        }
        return self._replace(**arrays, **listed)


class _Side(NamedTuple):
    """Cells of one setting, to average within each query, and their sign."""

    setting: int
    cells: Sequence[Cell]
    sign: float


def chunk_grid_of(scored: ScoredChunks) -> tuple[list[ChunkSetting], list[ChunkCell], list[ChunkEffect]]:
    """Return settings, cells and effects; settings in which all competitors have equal scores have none."""
    found = cluster_queries(scored.clusters, len(scored.leads))
    means, without = means_left_out(scored.units, found)
    scored = scored.of_settings((means > 0) & (without > 0).all(axis=0))
    if not scored.pairs:
        return [], [], []
    budgets = _budgets(scored.vectors.mean(axis=0), scored.stored.mean(axis=0))
    settings, cells = _described(scored, budgets, found)
    effects = _effects(scored, budgets)
    estimates = _estimates([sides for _, sides in effects], scored, found)
    shown = [
        ChunkEffect(
            of=effect.of, chunk=effect.chunk, overlap=effect.overlap, value=one.value, low=one.low, high=one.high, p=one.p,
            detectable=one.detectable, queries=one.count, more=_more(scored, sides), place=effect.place, within=effect.within,
            against=effect.against,
        )
        for (effect, sides), one in zip(effects, estimates, strict=True)
    ]  # fmt: skip
    return settings, cells, shown


def _described(scored: ScoredChunks, budgets: Sequence[int], clusters: Clusters) -> tuple[list[ChunkSetting], list[ChunkCell]]:
    """Return settings with their mean lead, and cells; intervals are simultaneous over leads, places in the document and means over chunks."""
    keys: list[tuple[int, Within, float | None, list[Cell]]] = []
    for row in range(len(scored.pairs)):
        keys += [(row, cell.within, cell.place, [cell]) for cell in NATURAL]
        keys += [(row, within, None, there) for within in (*WHOLE, Within.CUT) if (there := _there(scored, row, within))]
    sides = [[_Side(row, NATURAL, 1.0)] for row in range(len(scored.pairs))] + [[_Side(row, of, 1.0)] for row, _, _, of in keys]
    estimates = _estimates(sides, scored, clusters)
    leads, estimates = estimates[: len(scored.pairs)], estimates[len(scored.pairs) :]
    settings = [
        ChunkSetting(
            *scored.pairs[row], float(scored.vectors[:, row].mean()), float(scored.stored[:, row].mean()), budgets[row],
            one.value, one.low, one.high, _mean(scored.ranks, row, NATURAL), len(scored.leads) * len(NATURAL),
            scored.evidence_cut[row], scored.answers_cut[row], float(scored.units[:, row].mean()),
        )
        for row, one in enumerate(leads)
    ]  # fmt: skip
    cells = [_cell(scored, key, one) for key, one in zip(keys, estimates, strict=True)]
    unit = scored.units.mean(axis=0)
    for row in range(len(scored.pairs)):
        for within in (*WHOLE, Within.CUT):
            for cell in _there(scored, row, within):
                value = float(np.nanmean(scored.leads[:, row, CELLS.index(cell)]) / unit[row])
                single = Simultaneous(value, None, None, None, None, None, 0, _count(scored, row, [cell]))
                cells.append(_cell(scored, (row, within, cell.place, [cell]), single))
    return settings, cells


def _cell(scored: ScoredChunks, key: tuple[int, Within, float | None, Sequence[Cell]], one: Simultaneous) -> ChunkCell:
    row, within, place, of = key
    cut = np.where(np.isnan(scored.held), np.nan, scored.held == 0)
    described = (_mean(values, row, of) for values in (scored.ranks, scored.starts, scored.held, cut, scored.beyond))
    return ChunkCell(*scored.pairs[row], within, place, one.count, one.value, one.low, one.high, *described)


def _there(scored: ScoredChunks, row: int, within: Within) -> list[Cell]:
    """Return the cells of a setting that some query has."""
    cells = [cell for cell in CELLS if cell.within is within]
    return [cell for cell in cells if _count(scored, row, [cell])]


def _count(scored: ScoredChunks, row: int, cells: Sequence[Cell]) -> int:
    """Return the number of queries with one of these cells."""
    return int((~np.isnan(scored.leads[:, row, _columns(cells)])).any(axis=1).sum())


def _mean(values: np.ndarray, row: int, cells: Sequence[Cell]) -> float:
    return float(np.nanmean(values[:, row, _columns(cells)]))


def _columns(cells: Iterable[Cell]) -> list[int]:
    return [CELLS.index(cell) for cell in cells]


def _estimates(effects: Sequence[Sequence[_Side]], scored: ScoredChunks, clusters: Clusters) -> list[Simultaneous]:
    """Estimate sums over sides of sign · the mean lead over their cells."""
    leads = np.round(scored.leads / scored.units.mean(axis=0)[None, :, None], ROUNDED)
    columns, unit_of, owners = [], [], []
    for number, sides in enumerate(effects):
        for row in sorted({side.setting for side in sides}):
            parts = [side.sign * _within_query(leads[:, row, _columns(side.cells)]) for side in sides if side.setting == row]
            columns.append(np.round(np.sum(parts, axis=0), ROUNDED))
            unit_of.append(row)
            owners.append(number)
    weights = (np.array(owners)[None, :] == np.arange(len(effects))[:, None]).astype(np.float64)
    return in_units(np.column_stack(columns), np.array(unit_of), weights, scored.units, clusters)


def _within_query(leads: np.ndarray) -> np.ndarray:
    """Return each query's mean over its cells, NaN without any, of ``(queries, cells)``."""
    held = ~np.isnan(leads)
    counts = held.sum(axis=1)
    return np.where(counts > 0, np.nan_to_num(leads).sum(axis=1) / np.maximum(counts, 1), np.nan)


def _more(scored: ScoredChunks, sides: Sequence[_Side]) -> float:
    """Return how many more chunks hold the evidence whole on the positive sides; 0 if the sides are of two settings."""
    if len({side.setting for side in sides}) > 1:
        return 0.0
    return round(sum(side.sign * _mean(scored.held, side.setting, side.cells) for side in sides), ROUNDED)


def _budgets(vectors: np.ndarray, stored: np.ndarray) -> list[int]:
    """Group settings with about the same number of vectors: from the most vectors, each group down to ``SAME_BUDGET`` of its first."""
    numbers, first, number = [0] * len(vectors), np.inf, 0
    for row in sorted(range(len(vectors)), key=lambda one: (-vectors[one], stored[one])):
        if vectors[row] < SAME_BUDGET * first:
            first, number = vectors[row], number + 1
        numbers[row] = number
    return numbers


def _effects(scored: ScoredChunks, budgets: Sequence[int]) -> list[tuple[ChunkEffect, list[_Side]]]:
    """Return all effects, each with its sides."""
    found: list[tuple[ChunkEffect, list[_Side]]] = []
    for row, pair in enumerate(scored.pairs):
        for cell in NATURAL[1:]:
            effect = ChunkEffect(ChunkEffectOf.PLACE, *pair, None, place=cell.place, against="start")
            found.append((effect, [_Side(row, [cell], 1.0), _Side(row, NATURAL[:1], -1.0)]))
        cells = [cell for within in WHOLE for cell in _there(scored, row, within)]
        if cells:
            found += _in_chunk(row, pair, cells)
            cut = _there(scored, row, Within.CUT)
            if cut:
                effect = ChunkEffect(ChunkEffectOf.CUT, *pair, None, within=Within.CUT, against="whole")
                found.append((effect, [_Side(row, cut, 1.0), _Side(row, cells, -1.0)]))
    return found + _equal_budgets(scored, budgets)


def _in_chunk(row: int, pair: tuple[int, int], cells: Sequence[Cell]) -> list[tuple[ChunkEffect, list[_Side]]]:
    """Return the effects of the place in the chunk (over all chunks) and of the chunk's place (over all places in it)."""

    def side(sign: float, *wanted: Within | float) -> _Side:
        return _Side(row, [cell for cell in cells if cell.within in wanted or cell.place in wanted], sign)

    middle = [cell for cell in cells if cell.place == 0.5]
    ends, outer = "start and end", "first and last chunk"
    found = [
        (
            ChunkEffect(ChunkEffectOf.IN_CHUNK, *pair, None, within=Within.END, against="start"),
            [side(1.0, Within.END), side(-1.0, Within.START)],
        ),
        (
            ChunkEffect(ChunkEffectOf.IN_CHUNK, *pair, None, within=Within.MIDDLE, against=ends),
            [side(1.0, Within.MIDDLE), side(-1.0, Within.START, Within.END)],
        ),
        (ChunkEffect(ChunkEffectOf.OF_CHUNK, *pair, None, place=1.0, against="first chunk"), [side(1.0, 1.0), side(-1.0, 0.0)]),
    ]
    if middle:
        effect = ChunkEffect(ChunkEffectOf.OF_CHUNK, *pair, None, place=0.5, against=outer)
        found.append((effect, [side(1.0, 0.5), side(-1.0, 0.0, 1.0)]))
    return found


def _equal_budgets(scored: ScoredChunks, budgets: Sequence[int]) -> list[tuple[ChunkEffect, list[_Side]]]:
    """Return each setting minus the first of its budget: the one with the most vectors, then with the least stored."""
    vectors, stored = scored.vectors.mean(axis=0), scored.stored.mean(axis=0)
    order = sorted(range(len(budgets)), key=lambda one: (-vectors[one], stored[one]))
    firsts: dict[int, int] = {}
    found = []
    for row in order:
        first = firsts.setdefault(budgets[row], row)
        if row != first:
            size, overlap = scored.pairs[first]
            effect = ChunkEffect(ChunkEffectOf.BUDGET, *scored.pairs[row], None, against=f"{size}, overlap {overlap}")
            found.append((effect, [_Side(row, NATURAL, 1.0), _Side(first, NATURAL, -1.0)]))
    return found
