"""Further tables of a contamination study: inflation and its tests, what students inherit, doses, training sets, trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from positionbias.core.formatting import decimal
from positionbias.evaluation.significance import BONFERRONI, HOLM
from positionbias.report.cells import (
    OVER_NOTE,
    P_NOTE,
    any_cell,
    as_interval,
    count_cell,
    decimal_cell,
    drop_columns,
    level_heading,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.contamination_select import (
    BEYOND,
    CONTAMINATION,
    DOSES,
    INHERITED,
    SETS,
    STANDARD,
    TRAINED,
    comparisons_along,
    loss_name,
    on_own_target,
    whole_share,
)
from positionbias.report.leakage_select import rows_of
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result
from positionbias.results.select import distinct, model_name

__all__ = ["beyond_table", "doses_table", "inflation_table", "inherited_table", "sets_table", "standard_table", "trained_table"]


def _tests(
    found: Sequence[tuple[Result, Comparison]], name: str, title: str, heads: tuple[str, str], notes: Sequence[str]
) -> Table:
    rows = [
        [
            text_cell(result.measure),
            text_cell(result.split),
            text_cell(result.facts.role),
            text_cell(model_name(result.facts)),
            text_cell(
                f"{loss_name(result.facts)}{', contaminated' if result.facts.source and name == 'standard-teacher' else ''}"
            ),
            decimal_cell(payload.baseline_mean),
            decimal_cell(payload.candidate_mean),
            decimal_cell(payload.difference, payload.difference_interval, sign=True),
            decimal_cell(payload.effect_size, places=2, sign=True),
            p_cell(payload.p),
            p_cell(payload.p_adjusted.get(HOLM)),
            p_cell(payload.p_adjusted.get(BONFERRONI)),
            p_cell(payload.p_t),
            text_cell(", ".join(decimal(value, sign=True) for value in payload.notes.get("difference by seed", ()))),
            count_cell(result.count),
        ]
        for result, payload in found
    ]
    columns = [Column(text, numeric=False) for text in ("Measure", "Target", "Role", "Model", "Loss")]
    columns += [Column(heads[0]), Column(heads[1])]
    columns += [Column(level_heading("Difference", (p.difference_interval for _, p in found)))]
    columns += [Column(text) for text in ("Effect size", "p", "p Holm", "p Bonferroni", "p Student's t")]
    columns += [Column("Seed by seed", numeric=False), Column("Queries")]
    if not any(row[-2].text for row in rows):
        drop_columns(columns, rows, [len(columns) - 2])
    effect = "Effect size: the mean difference over the deviation of the differences (d_z). " + OVER_NOTE
    return Table(name, title, columns, rows, [*notes, effect, P_NOTE], stub=5)


def inflation_table(results: Sequence[Result]) -> Table:
    """Every contaminated system against its clean twin on what contaminated it, with the largest share."""
    largest = whole_share(results)
    tests = [(r, p) for r, p in comparisons_along(results, CONTAMINATION) if on_own_target(r)]
    kept = [(r, p) for r, p in tests if r.facts.share == largest.get(replace(r.facts, share=None))]
    notes = (
        "The clean twin has the same role, model, loss and seeds, so that the difference is what contamination itself makes.",
        OVER_NOTE,
    )
    return _tests(_in_order(kept), "inflation", "Inflation: contaminated against clean", ("Clean", "Contaminated"), notes)


def standard_table(results: Sequence[Result]) -> Table:
    """The tests behind the marks of Table 1: every system against the clean teacher."""
    notes = ("Contaminated systems on what contaminated them alone.",)
    tests = _in_order(comparisons_along(results, STANDARD))
    return _tests(tests, "standard-teacher", "Against the clean teacher", ("Clean teacher", "Mean"), notes)


def _in_order(tests: Sequence[tuple[Result, Comparison]]) -> list[tuple[Result, Comparison]]:
    """By measure and target, as they come."""
    measures, targets = distinct(r.measure for r, _ in tests), distinct(r.split for r, _ in tests)
    return sorted(tests, key=lambda item: (measures.index(item[0].measure), targets.index(item[0].split)))


def inherited_table(results: Sequence[Result]) -> Table:
    """How much of the teacher's inflation each student has."""
    found = [result for result in results if result.measure == INHERITED]
    measures, targets = distinct(rows_of(result)["measure"] for result in found), distinct(result.split for result in found)
    found.sort(key=lambda result: (measures.index(rows_of(result)["measure"]), targets.index(result.split)))
    rows = [
        [
            text_cell(rows_of(result)["measure"]),
            text_cell(result.split),
            text_cell(model_name(result.facts)),
            text_cell(loss_name(result.facts)),
            decimal_cell(rows_of(result)["teacher"], sign=True),
            decimal_cell(rows_of(result)["student"], sign=True),
            percent_cell(result.value, result.interval, sign=False) if result.interval else Cell("not defined"),
            count_cell(result.count),
        ]
        for result in found
    ]
    columns = [Column(text, numeric=False) for text in ("Measure", "Target", "Student", "Loss")]
    columns += [Column("Teacher's change"), Column("Student's change")]
    columns += [Column(level_heading("Share inherited", (result.interval for result in found))), Column("Queries")]
    notes = (
        "Change: contaminated less clean. Share: the student's over the teacher's, with Fieller's interval of one training seed, of three or more a t interval over trainings and queries; not defined where the "
        "teacher's own change cannot be told from 0.",
    )
    return Table("inherited", "What a student inherits of its teacher's inflation", columns, rows, notes, stub=4)


def beyond_table(results: Sequence[Result]) -> Table:
    """What contamination changes where judgements were seen, less what it changes on each other target."""
    found = [result for result in results if result.measure == BEYOND]
    rows = [
        [
            text_cell(result.split),
            text_cell(result.facts.role),
            text_cell(model_name(result.facts)),
            text_cell(loss_name(result.facts)),
            text_cell(rows_of(result)["elsewhere"]),
            decimal_cell(rows_of(result)["here"], sign=True),
            decimal_cell(rows_of(result)["there"], sign=True),
            decimal_cell(result.value, result.interval, sign=True),
        ]
        for result in found
    ]
    measure = rows_of(found[0])["measure"] if found else ""
    columns = [Column(text, numeric=False) for text in ("Contaminated with", "Role", "Model", "Loss", "Other target")]
    columns += [Column(f"Change of {measure}, seen"), Column("Change, other target")]
    columns.append(Column(level_heading("Difference", (result.interval for result in found))))
    notes = (
        "Judgements of a target are more training data too, which may help on any: what they add beyond that shows as a difference. Welch's "
        "interval, over the queries of both.",
    )
    return Table("beyond", "Inflation beyond the change on other targets", columns, rows, notes, stub=5)


def doses_table(results: Sequence[Result]) -> Table:
    """Inflation at each share: on all queries of the target, those that were seen and the others."""
    found = [result for result in results if result.measure == DOSES]
    sets = {(r.facts.source, r.facts.share): r.value for r in results if r.measure == SETS}
    rows = [
        [
            text_cell(result.split),
            text_cell(result.facts.role),
            text_cell(model_name(result.facts)),
            text_cell(loss_name(result.facts)),
            decimal_cell(point["share"], places=2),
            percent_cell(sets.get((result.facts.source, point["share"])), sign=False),
            *(cell for part in ("all", "seen", "others") for cell in _part(point[part])),
        ]
        for result in found
        for point in rows_of(result)["points"]
    ]
    measure = rows_of(found[0])["measure"] if found else ""
    columns = [Column(text, numeric=False) for text in ("Target", "Role", "Model", "Loss")]
    columns += [Column("Share of queries"), Column("Share of groups")]
    for part in ("All queries", "Queries that were seen", "Other queries"):
        columns += [Column(f"Change of {measure} [95\u00a0%]", part), Column("Queries", part)]
    notes = (
        "Contaminated less clean, on the target that contaminated; a query is seen where its judgements were in the teacher's training set.",
    )
    return Table("doses", "Inflation by contaminated share", columns, rows, notes, stub=5)


def _part(point: Mapping[str, Any] | None) -> tuple[Cell, Cell]:
    if point is None:
        return Cell(""), count_cell(0)
    return decimal_cell(point["mean"], as_interval(point["interval"]), sign=True), count_cell(point["queries"])


def sets_table(results: Sequence[Result]) -> Table:
    """How much of each teacher's training set was of a target."""
    found = [result for result in results if result.measure == SETS]
    keys = distinct(key for result in found for key in rows_of(result))
    body = [
        [
            text_cell(result.facts.source or "none"),
            decimal_cell(result.facts.share or 0.0, places=2),
            *(any_cell(rows_of(result)[key]) for key in keys),
            percent_cell(result.value, sign=False),
        ]
        for result in found
    ]
    columns = [Column("Source", numeric=False), Column("Share of queries"), *(Column(key.capitalize()) for key in keys)]
    columns.append(Column("Share of groups"))
    return Table("contaminated-sets", "The teachers' training sets", columns, body, (), stub=2)


def trained_table(results: Sequence[Result]) -> Table:
    """How long each teacher and student trained, what stopped it, and its validation where there was one."""
    found = [result for result in results if result.measure == TRAINED]
    keys = distinct(key for result in found for key in rows_of(result))
    body = [
        [
            text_cell(result.facts.role),
            text_cell(model_name(result.facts)),
            text_cell(loss_name(result.facts)),
            text_cell(result.facts.source or "none"),
            decimal_cell(result.facts.share or 0.0, places=2),
            *(any_cell(", ".join(map(str, distinct(rows_of(result)[key])))) for key in keys),
            decimal_cell(result.value),
        ]
        for result in found
    ]
    columns = [Column(text, numeric=False) for text in ("Role", "Model", "Loss", "Contaminated with")]
    columns += [Column("Share"), *(Column(key.capitalize(), numeric=False) for key in keys), Column("Validation nDCG@10")]
    return Table("distillation-trainings", "The trainings", columns, body, ("Values over the training seeds.",), stub=5)
