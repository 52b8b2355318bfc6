"""An audit's verdicts and effects as tables, each a pure function from Results to a Table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.audit.select import series_of, system_of
from positionbias.audit.verdict import as_share
from positionbias.audit.verdict_words import (
    CONTRASTS,
    PREFERS,
    SUBSET_NAMES,
    all_effects,
    bounds_of_effect,
    compared_effects,
    effect_in,
    in_words,
    leading,
    margin_in,
    number,
    places_of,
    verdicts_of,
)
from positionbias.core.interval import Interval
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_columns,
    drop_constant,
    drop_empty,
    level_heading,
    percent_cell,
    text_cell,
)
from positionbias.report.table import Cell, Column, Table
from positionbias.results.audit import DEVIATIONS, RANKS, READ_WHOLE, SCORE, WORTH
from positionbias.results.payloads import SIZES, Contrast, Effect, Question, Verdict
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = ["SIGNS", "compared_table", "effects_table", "verdict_tables"]

NAMES = {
    Question.PASSAGE: "verdicts",
    Question.TEXT: "verdicts-text",
    Question.LIST: "verdicts-list",
}
EXCEEDS = {True: "yes", False: "no", None: "–"}
# the direction of an effect in words
SIGNS = {
    Contrast.ENDS: (
        "End − front: evidence moved to the passage's end less the same evidence at its front; "
        "below 0 the front is preferred."
    ),
    Contrast.MIDDLE: (
        "Middle − ends: evidence in the middle less the mean of both ends; below 0 both ends are "
        "preferred."
    ),
    Contrast.ROTATION: (
        "Rotation: evidence rotated to the end less rotated to the front; below 0 the front is "
        "preferred."
    ),
    Contrast.RUNS: (
        "Two runs: evidence moved to the end less moved to the front; below 0 the front is "
        "preferred."
    ),
    Contrast.WORTH: (
        "Worth of the evidence: the passage less the same passage with an equally long sentence of "
        "another one in the evidence's place; not shown to be above 0."
    ),
    Contrast.TURNED: (
        "Rotated: the mean size of a relevant passage's change, whichever way, when it is cut at a "
        "drawn word and its parts are exchanged."
    ),
    Contrast.HALVES: (
        "Halves exchanged: the same, when it is cut at the sentence boundary nearest to its middle."
    ),
    Contrast.TURNED_MORE: (
        "Rotated, relevant − irrelevant: the size less that of an irrelevant candidate of the same "
        "query."
    ),
    Contrast.HALVES_MORE: "Halves exchanged, relevant − irrelevant: likewise.",
    Contrast.ORDER: (
        "List: ranks lost from the list's first place to its last; above 0 the first places are "
        "preferred."
    ),
    Contrast.ORDER_MIDDLE: (
        "List: ranks lost from the list's ends to its middle; above 0 the ends are preferred."
    ),
}
SHARE = (
    "Worth: effects are shares of what the evidence is worth to the system, its score of the "
    "passage less that with an equally long sentence of another passage in the evidence's place, "
    "averaged over queries."
)
DEVIATION = "Deviations: of the scores of a query's candidates."
RANK = "Ranks: places gained; −2 falls two places."
UNIT_NOTES = ((WORTH, SHARE), (DEVIATIONS, DEVIATION), (RANKS, RANK))
READ = "If a system does not read all texts to the end, effects are over those that it reads whole."
UNIT_NAMES = {WORTH: "Worth", DEVIATIONS: "Deviations", SCORE: "Score", RANKS: "Ranks"}
DETECTABLE = "Detectable: the smallest effect found with 80 % power."


def verdict_tables(results: Sequence[Result]) -> list[Table]:
    """Return the verdicts, a table per question and a row per system, with the deciding effect in
    every unit.
    """
    tables = [_verdict_table(results, Question.PASSAGE), _verdict_table(results, Question.TEXT)]
    # otherwise the words say it all
    if any(verdict.effects for _, verdict in verdicts_of(results, Question.LIST)):
        tables.append(_verdict_table(results, Question.LIST))
    return [table for table in tables if table.rows]


def _verdict_table(results: Sequence[Result], question: Question) -> Table:
    found, series = verdicts_of(results, question), series_of(results)
    firsts = [leading(verdict) for _, verdict in found]
    effects = [_by_unit(verdict) for _, verdict in found]
    units = _units(effect for shown in effects for effect in shown.values())
    rows = []
    for (result, verdict), first, shown in zip(found, firsts, effects, strict=True):
        rows.append(
            [
                text_cell(series[system_of(result)].full_label),
                text_cell(_prefers(verdict)),
                text_cell(_short(first.contrast) if first else ""),
                *(_effect_cell(shown.get(unit)) for unit in units),
                Cell(
                    EXCEEDS[verdict.exceeds],
                    EXCEEDS[verdict.exceeds] if verdict.exceeds is not None else None,
                ),
                _number_cell(number(first.detectable), first.unit) if first else decimal_cell(None),
                count_cell((first.queries if first else verdict.queries) or None),
                count_cell(verdict.wanted),
            ]
        )
    columns = [
        Column("System", numeric=False),
        Column("Answer" if question == Question.TEXT else "Prefers", numeric=False),
        Column("Effect", numeric=False),
    ]
    columns += _unit_columns(units, [effect for shown in effects for effect in shown.values()])
    columns += [
        Column(_beyond([verdict for _, verdict in found]), numeric=False),
        Column("Detectable", wide=True),
        Column("Queries"),
    ]
    columns += [Column("Wanted")]
    contrasts = distinct(first.contrast for first in firsts if first)
    notes = [SIGNS[contrast] for contrast in contrasts]
    notes += [
        text
        for unit, text in UNIT_NOTES
        if unit in units
        and question != Question.LIST
        and (unit, question) != (RANKS, Question.TEXT)
    ]
    if any(first and number(first.detectable) is not None for first in firsts):
        decided = distinct(
            UNIT_NAMES.get(first.unit, first.unit).lower() for first in firsts if first
        )
        notes.append(DETECTABLE.removesuffix(".") + f", in {' or '.join(decided)}.")
    notes += [READ] if any(first and first.subset == READ_WHOLE for first in firsts) else []
    notes += (
        ["Wanted: the queries that would give an answer."]
        if any(v.wanted is not None for _, v in found)
        else []
    )
    drop_empty(columns, rows, first=3)
    if len(contrasts) < 2:
        drop_columns(columns, rows, [2])
    return Table(NAMES[question], f"Verdicts: {question}", columns, rows, notes)


def _prefers(verdict: Verdict) -> str:
    within = f" (within it: {PREFERS[verdict.within]})" if verdict.within is not None else ""
    return f"{PREFERS[verdict.preference]}{within}"


def _short(contrast: Contrast) -> str:
    """Return a contrast's short name, for a table whose notes explain it."""
    return CONTRASTS[contrast].name.partition(":")[0]


def _by_unit(verdict: Verdict) -> dict[str, Effect]:
    """Return the deciding contrast in each of its units, over all queries."""
    first = leading(verdict)
    if first is None:
        return {}
    units = distinct(effect.unit for effect in verdict.effects if effect.contrast == first.contrast)
    found = {unit: effect_in(verdict, first.contrast, unit, first.subset) for unit in units}
    return {unit: effect for unit, effect in found.items() if effect is not None}


def effects_table(results: Sequence[Result], question: Question | None = None) -> Table:
    """Return every effect with its interval: a row per system, contrast and subset of queries, a
    column per unit.

    Effects of the order of a passage's text have a table of their own."""
    found, series = all_effects(results, question), series_of(results)
    units = _units(effect for _, effect in found)
    keys = distinct((system_of(result), effect.contrast, effect.subset) for result, effect in found)
    cells = {
        (system_of(result), effect.contrast, effect.subset, effect.unit): effect
        for result, effect in reversed(found)
    }
    rows = []
    for system, contrast, subset in keys:
        own = [cells.get((system, contrast, subset, unit)) for unit in units]
        counts = distinct(effect.queries for effect in own if effect and effect.queries)
        names = (
            series[system].full_label,
            CONTRASTS[contrast].name,
            SUBSET_NAMES.get(subset, subset).removeprefix("texts ").removesuffix(" texts"),
        )
        rows.append(
            [*map(text_cell, names), count_cell(max(counts, default=None)), *map(_effect_cell, own)]
        )
    columns = [Column(name, numeric=False) for name in ("System", "Effect", "Texts")]
    columns += [Column("Queries"), *_unit_columns(units, [effect for _, effect in found])]
    drop_empty(columns, rows, first=4)
    drop_constant(columns, rows, [2])
    notes = [
        SIGNS[contrast]
        for contrast in Contrast
        if any(effect.contrast == contrast for _, effect in found)
    ]
    notes += [
        text
        for unit, text in UNIT_NOTES
        if unit in units and (unit, question) != (RANKS, Question.TEXT)
    ]
    if any(subset == READ_WHOLE for _, _, subset in keys):
        notes.append("Read whole: only the queries whose texts the system reads to the end.")
    if question == Question.TEXT:
        return Table(
            "effects-text", "Changes by another order of the text", columns, rows, notes, stub=2
        )
    return Table("effects", "Effects of moved evidence", columns, rows, notes, stub=2)


def compared_table(results: Sequence[Result]) -> Table:
    """Return every system's effects with their intervals: the data of the figure that compares
    systems.
    """
    effects, series = compared_effects(results), series_of(results)
    rows = []
    for system, one in series.items():
        if any(system in found for found in effects.values()):
            rows.append(
                [
                    text_cell(one.full_label),
                    *(_effect_cell(found.get(system)) for found in effects.values()),
                ]
            )
    columns = [Column("System", numeric=False)]
    for (contrast, unit), found in effects.items():
        name = CONTRASTS[contrast].name
        bounds = [bounds_of_effect(effect) for effect in found.values()]
        columns.append(
            Column(level_heading(f"{name[:1].upper()}{name[1:]}, {in_words(unit)}", bounds))
        )
    notes = [SIGNS[contrast] for contrast, _ in effects]
    return Table("audit-compared", "Systems compared", columns, rows, notes)


def _units(effects: Iterable[Effect]) -> list[str]:
    """Return the units in order: those of scores, ranks, then measures."""
    found, order = distinct(effect.unit for effect in effects), [*UNIT_NAMES]
    return sorted(found, key=lambda unit: order.index(unit) if unit in order else len(order))


def _unit_columns(units: Sequence[str], effects: Sequence[Effect]) -> list[Column]:
    return [
        Column(
            level_heading(
                UNIT_NAMES.get(unit, unit),
                [bounds_of_effect(effect) for effect in effects if effect.unit == unit],
            )
        )
        for unit in units
    ]


def _effect_cell(effect: Effect | None) -> Cell:
    if effect is None:
        return decimal_cell(None)
    signed = effect.contrast not in SIZES
    return _number_cell(number(effect.value), effect.unit, bounds_of_effect(effect), sign=signed)


def _number_cell(
    value: float | None, unit: str, bounds: Interval | None = None, *, sign: bool = False
) -> Cell:
    if unit == WORTH:
        return percent_cell(value, bounds, sign=sign)
    return decimal_cell(value, bounds, places=places_of(unit), sign=sign)


def _beyond(verdicts: Sequence[Verdict]) -> str:
    """Return the heading of the column on effects beyond the margin; it names the margin if all
    share one.
    """
    shared = {
        (margin_in(verdict, first.unit), first.unit)
        for verdict in verdicts
        if (first := leading(verdict))
    }
    margin, unit = next(iter(shared)) if len(shared) == 1 else (None, "")
    if margin is None:
        return "Beyond margin"
    return f"Beyond {as_share(margin)}" if unit == WORTH else f"Beyond {margin:g}"
