"""Documents in chunks in a report: tables of index budgets and effects, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from positionbias.audit.chunk_figure import setting_name
from positionbias.audit.length_report import PLACE_NAMES, UNKNOWN_LIMIT
from positionbias.audit.select import of_audit, series_of, system_of
from positionbias.core.formatting import decimal, interval, slug, with_interval
from positionbias.core.interval import Interval
from positionbias.report.cells import count_cell, decimal_cell, drop_empty, level_heading, p_cell, percent_cell, text_cell
from positionbias.report.table import Cell, Column, Table
from positionbias.results.chunk_grid import CHUNKS, ChunkCell, ChunkEffect, ChunkEffectOf, ChunkGrid, ChunkSetting, Within
from positionbias.results.result import Result
from positionbias.results.select import distinct

if TYPE_CHECKING:
    pass

__all__ = [
    "chunk_budget_table",
    "chunk_cells_table",
    "chunk_documents_table",
    "chunk_effects_table",
    "chunk_places_table",
    "chunk_sentences",
]


MORE = "*: the evidence is whole in more chunks on one side, and the maximum over more chunks is higher by chance."
Key = tuple[ChunkEffectOf, float | None, Within | None]
_OUTER: Key = (ChunkEffectOf.OF_CHUNK, 0.5, None)
_WHOLE: Key = (ChunkEffectOf.PLACE, 1.0, None)
IN_CHUNKS: Mapping[Key, str] = {
    (ChunkEffectOf.IN_CHUNK, None, Within.END): "In the chunk: end − start",
    (ChunkEffectOf.IN_CHUNK, None, Within.MIDDLE): "In the chunk: middle − ends",
    (ChunkEffectOf.OF_CHUNK, 1.0, None): "Chunk: last − first",
    _OUTER: "Chunk: middle − outer",
    (ChunkEffectOf.CUT, None, Within.CUT): "Across a border − whole",
}
IN_DOCUMENT: Mapping[Key, str] = {
    (ChunkEffectOf.PLACE, place, None): f"In the document: {name} − start" for place, name in list(PLACE_NAMES.items())[1:]
}


def chunk_sentences(name: str, grid: ChunkGrid) -> list[str]:
    """Say for each kind of effect in how many settings it is found, with the lowest and the highest, and its limits."""
    said = []
    for label, effects in _families(grid):
        ordered = sorted(effects, key=lambda one: one.value or 0.0)
        found = [one for one in ordered if _found(one)]
        if found:
            shown = " to ".join(f"{_shown(one)} ({setting_name(one, grid)})" for one in distinct((found[0], found[-1])))
            said.append(f"{name}, {label}: found in {len(found)} of {len(effects)} settings, {shown}.")
        else:
            largest = max(effects, key=lambda one: abs(one.value or 0.0))
            told = f"{_shown(largest)} ({setting_name(largest, grid)})"
            said.append(f"{name}, {label}: not found in {len(effects)} settings; the largest is {told}.")
    if any(one.overlap for one in grid.settings):
        said.append(
            "With an overlap, evidence at an end is whole in two chunks and in the middle in one: the middle's effects are then left out here, as the maximum over more chunks is higher by chance. "
            "And no chunk begins before the last one's end: a preference for the front of a chunk then also shows between first and last chunk."
        )
    if grid.figures.limit in UNKNOWN_LIMIT:
        said.append(
            "Its length limit is not known: a place that is not read looks like one that it dislikes (--reads N gives the limit)."
        )
    return said


def _families(grid: ChunkGrid) -> Iterator[tuple[str, list[ChunkEffect]]]:
    """Yield the effects for sentences by heading, without those of unequal numbers of chunks."""
    named = {**{key: name for key, name in IN_CHUNKS.items() if key != _OUTER}, _WHOLE: IN_DOCUMENT[_WHOLE]}
    for key, name in named.items():
        equal = [one for one in grid.effects if _key(one) == key and _equal(one)]
        if equal:
            yield f"{name[0].lower()}{name[1:]}".replace(": ", ", "), equal


def _key(one: ChunkEffect) -> Key:
    return one.of, one.place, one.within


def _equal(one: ChunkEffect) -> bool:
    """Return True if the first side has no more chunks with the evidence and, if it is whole on both sides, as many."""
    return one.more <= 0 if one.of in (ChunkEffectOf.PLACE, ChunkEffectOf.CUT) else not one.more


def _found(one: ChunkEffect) -> bool:
    return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)


def _bounds(one: ChunkSetting | ChunkCell | ChunkEffect | None) -> Interval | None:
    return None if one is None or one.low is None or one.high is None else Interval(one.low, one.high)


def _shown(effect: ChunkEffect) -> str:
    return with_interval(decimal(effect.value, sign=True), interval(_bounds(effect), sign=True))


def _effect_cell(effect: ChunkEffect | None, every: list[Interval | None]) -> Cell:
    every.append(_bounds(effect))
    return decimal_cell(effect.value if effect else None, every[-1], sign=True)


def chunk_budget_table(results: Sequence[Result]) -> Table:
    """Return the settings by index budget, grouped by about equal numbers of vectors."""
    series, rows, every = series_of(results), [], list[Interval | None]()
    found = of_audit(results, ChunkGrid)
    for result, grid in found:
        less = {(one.chunk, one.overlap): one for one in grid.effects if one.of is ChunkEffectOf.BUDGET}
        for one in sorted(grid.settings, key=lambda one: (one.budget, -one.vectors, one.stored)):
            every.append(_bounds(one))
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    count_cell(one.budget),
                    text_cell(setting_name(one, grid)),
                    decimal_cell(one.vectors, places=0),
                    count_cell(round(one.stored)),
                    decimal_cell(one.lead, every[-1], places=2),
                    _effect_cell(less.get((one.chunk, one.overlap)), every),
                    decimal_cell(one.rank, places=2),
                    _cut_cell(one.evidence_cut, one.documents),
                    _cut_cell(one.answers_cut, one.documents),
                ]
            )
    unit = "/".join(distinct(grid.figures.unit for _, grid in found)) or "words"
    columns = [Column("System", numeric=False), Column("Budget"), Column("Chunk", numeric=False), Column("Vectors")]
    columns += [
        Column(f"Stored {unit}", wide=True),
        Column(level_heading("Lead", every)),
        Column("Less the first of its budget", wide=True),
    ]
    columns += [Column("Rank"), Column("Evidence cut"), Column("Answer cut", wide=True)]
    drop_empty(columns, rows, first=6)
    notes = [
        "Vectors and what is stored are of one document. A budget has the settings of about as many vectors (down to 85 %). Lead and rank are means over five places in the document, where the evidence falls.",
        *distinct(f"Cut: whole in no chunk, of {grid.settings[0].documents:,} documents." for _, grid in found),
        *_left_out(found),
    ]
    return Table(f"{slug(CHUNKS)}-budgets", "Chunks by index budget", columns, rows, notes, stub=3)


def _cut_cell(cut: int | None, of: int) -> Cell:
    return percent_cell(None) if cut is None else percent_cell(cut / of, sign=False, more=f" ({cut:,})")


def _left_out(found: Iterable[tuple[Result, ChunkGrid]]) -> list[str]:
    return distinct(
        f"Left out: {number:,} queries, {reason}." for _, grid in found for reason, number in grid.figures.unmoved.items()
    )


def chunk_places_table(results: Sequence[Result]) -> Table:
    """Return the effects of the place in the chunk, of the chunk, and of a border, a row per system and setting."""
    columns, rows, marked = _by_setting(results, IN_CHUNKS)
    notes = [
        "In deviations of the competitors' scores; intervals hold for all effects of a system together. The place in the chunk is over first, middle and last chunk, that of the chunk over the places in it."
    ]
    if marked:
        notes.append(MORE)
    series = series_of(results)
    notes += [" ".join(chunk_sentences(series[system_of(result)].label, grid)) for result, grid in of_audit(results, ChunkGrid)]
    return Table(slug(CHUNKS), "Place in the chunk, and of the chunk", columns, rows, notes, stub=2)


def chunk_documents_table(results: Sequence[Result]) -> Table:
    """Return the effects of the place in the document, a row per system and setting."""
    columns, rows, marked = _by_setting(results, IN_DOCUMENT)
    notes = ["The evidence is wherever its place falls: at the start of a chunk, elsewhere in it, or across a border."]
    notes += [MORE] if marked else []
    return Table(f"{slug(CHUNKS)}-documents", "Place in the document, in chunks and whole", columns, rows, notes, stub=2)


def _by_setting(results: Sequence[Result], wanted: Mapping[Key, str]) -> tuple[list[Column], list[list[Cell]], bool]:
    """Return a row of these effects per system and setting, and whether one has unequal numbers of chunks."""
    series, rows, every = series_of(results), [], list[Interval | None]()
    marked = False
    for result, grid in of_audit(results, ChunkGrid):
        effects = {(one.chunk, one.overlap, _key(one)): one for one in grid.effects}
        for one in grid.settings:
            found = [effects.get((one.chunk, one.overlap, key)) for key in wanted]
            if not any(found):
                continue
            row = [text_cell(series[system_of(result)].label), text_cell(setting_name(one, grid))]
            for effect in found:
                row.append(_effect_cell(effect, every))
                if effect is not None and not _equal(effect):
                    row[-1], marked = replace(row[-1], text=f"{row[-1].text}*"), True
            rows.append(row)
    columns = [Column("System", numeric=False), Column("Chunk", numeric=False)]
    columns += [Column(level_heading(name, every)) for name in wanted.values()]
    drop_empty(columns, rows, first=2)
    return columns, rows, marked


def chunk_cells_table(results: Sequence[Result]) -> Table:
    """Return the data of the heat map, and of each single chunk."""
    series, rows, every = series_of(results), [], []
    for result, grid in of_audit(results, ChunkGrid):
        for cell in grid.cells:
            every.append(_bounds(cell))
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    count_cell(cell.chunk),
                    count_cell(cell.overlap),
                    text_cell(cell.within),
                    decimal_cell(cell.place, places=2),
                    count_cell(cell.queries),
                    decimal_cell(cell.start, places=1),
                    decimal_cell(cell.held, places=2),
                    percent_cell(cell.cut, sign=False),
                    decimal_cell(cell.score, every[-1], sign=True),
                    decimal_cell(cell.rank, places=2),
                    percent_cell(cell.beyond, sign=False),
                ]
            )
    columns = [Column("System", numeric=False), Column("Chunk"), Column("Overlap"), Column("In the chunk", numeric=False)]
    columns += [
        Column("Place"),
        Column("Queries"),
        Column("Starts at", wide=True),
        Column("Chunks with it"),
        Column("Cut", wide=True),
    ]
    columns += [Column(level_heading("Lead", every)), Column("Rank among competitors"), Column("Not read", wide=True)]
    note = "Place: of the evidence in the document where it stands anywhere in a chunk, else of its chunk; none: the mean over chunks."
    return Table(f"{slug(CHUNKS)}-cells", "Lead over the competitors by chunk and place", columns, rows, [note], stub=4)


def chunk_effects_table(results: Sequence[Result]) -> Table:
    """Return all effects with their p and the detectable effect."""
    series, rows, every = series_of(results), [], []
    for result, grid in of_audit(results, ChunkGrid):
        for one in grid.effects:
            every.append(_bounds(one))
            side = one.within or (PLACE_NAMES.get(one.place, "") if one.place is not None else "this setting")
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    text_cell(one.of),
                    count_cell(one.chunk),
                    count_cell(one.overlap),
                    text_cell(f"{side} − {one.against}"),
                    count_cell(one.queries),
                    decimal_cell(one.more, places=2, sign=True),
                    decimal_cell(one.value, every[-1], sign=True),
                    p_cell(one.p),
                    decimal_cell(one.detectable),
                ]
            )
    columns = [Column("System", numeric=False), Column("Effect of", numeric=False), Column("Chunk"), Column("Overlap")]
    columns += [Column("Sides", numeric=False), Column("Queries"), Column("More chunks with it")]
    columns += [Column(level_heading("Deviations", every)), Column("p"), Column("Smallest detectable", wide=True)]
    return Table(
        f"{slug(CHUNKS)}-effects", "Effects of places in documents and chunks, of cuts and of budgets", columns, rows, stub=5
    )
