"""Further tables of a contamination study: inflation and its tests, what students inherit, doses, training sets, trainings."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from positionbias.core.formatting import decimal
from positionbias.evaluation.significance import BONFERRONI, HOLM
from positionbias.report.cells import (
    OVER_NOTE,
    P_NOTE,
    any_cell,
    comparison_cells,
    count_cell,
    decimal_cell,
    drop_columns,
    level_heading,
    percent_cell,
    text_cell,
)
from positionbias.report.contamination_names import loss_name
from positionbias.report.table import Cell, Column, Table
from positionbias.results.contamination import (
    STANDARD,
    Beyond,
    Doses,
    Inherited,
    TeacherSet,
    Trainings,
    comparisons_along,
    inflations,
)
from positionbias.results.payloads import Comparison
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name, of_type

__all__ = ["beyond_table", "doses_table", "inflation_table", "inherited_table", "sets_table", "standard_table", "trained_table"]


def _system(facts: Facts, more: str = "") -> list[Cell]:
    return [text_cell(facts.role), text_cell(model_name(facts)), text_cell(f"{loss_name(facts)}{more}")]


def _tests(
    found: Sequence[tuple[Result, Comparison]], name: str, title: str, heads: tuple[str, str], notes: Sequence[str]
) -> Table:
    rows = [
        [
            text_cell(result.measure),
            text_cell(result.split),
            *_system(result.facts, ", contaminated" if result.facts.source and name == "standard-teacher" else ""),
            *comparison_cells(payload, HOLM, BONFERRONI),
            text_cell(", ".join(decimal(value, sign=True) for value in payload.noted.by_seed)),
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
    notes = (
        "The clean twin has the same role, model, loss and seeds, so that the difference is what contamination itself makes.",
        OVER_NOTE,
    )
    tests = _in_order(inflations(results))
    return _tests(tests, "inflation", "Inflation: contaminated against clean", ("Clean", "Contaminated"), notes)


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
    found = of_type(results, Inherited)
    measures, targets = distinct(of.measure for _, of in found), distinct(result.split for result, _ in found)
    found.sort(key=lambda item: (measures.index(item[1].measure), targets.index(item[0].split)))
    rows = [
        [
            text_cell(of.measure),
            text_cell(result.split),
            *_system(result.facts)[1:],
            decimal_cell(of.teacher, sign=True),
            decimal_cell(of.student, sign=True),
            percent_cell(result.value, result.interval, sign=False) if result.interval else Cell("not defined"),
            count_cell(result.count),
        ]
        for result, of in found
    ]
    columns = [Column(text, numeric=False) for text in ("Measure", "Target", "Student", "Loss")]
    columns += [Column("Teacher's change"), Column("Student's change")]
    columns += [Column(level_heading("Share inherited", (result.interval for result, _ in found))), Column("Queries")]
    notes = (
        "Change: contaminated less clean. Share: the student's over the teacher's, with Fieller's interval of one training seed, of three or more a t interval over trainings and queries; not defined where the "
        "teacher's own change cannot be told from 0.",
    )
    return Table("inherited", "What a student inherits of its teacher's inflation", columns, rows, notes, stub=4)


def beyond_table(results: Sequence[Result]) -> Table:
    """What contamination changes where judgements were seen, less what it changes on each other target."""
    found = of_type(results, Beyond)
    rows = [
        [
            text_cell(result.split),
            *_system(result.facts),
            text_cell(of.elsewhere),
            decimal_cell(of.here, sign=True),
            decimal_cell(of.there, sign=True),
            decimal_cell(result.value, result.interval, sign=True),
        ]
        for result, of in found
    ]
    measure = found[0][1].measure if found else ""
    columns = [Column(text, numeric=False) for text in ("Contaminated with", "Role", "Model", "Loss", "Other target")]
    columns += [Column(f"Change of {measure}, seen"), Column("Change, other target")]
    columns.append(Column(level_heading("Difference", (result.interval for result, _ in found))))
    notes = (
        "Judgements of a target are more training data too, which may help on any: what they add beyond that shows as a difference. Welch's "
        "interval, over the queries of both.",
    )
    return Table("beyond", "Inflation beyond the change on other targets", columns, rows, notes, stub=5)


def doses_table(results: Sequence[Result]) -> Table:
    """Inflation at each share: on all queries of the target, those that were seen and the others."""
    found = of_type(results, Doses)
    sets = {(result.facts.source, result.facts.share): result.value for result, _ in of_type(results, TeacherSet)}
    rows = [
        [
            text_cell(result.split),
            *_system(result.facts),
            decimal_cell(point.share, places=2),
            percent_cell(sets.get((result.facts.source, point.share)), sign=False),
            *(cell for part in point.parts for cell in _part(part)),
        ]
        for result, doses in found
        for point in doses.points
    ]
    measure = found[0][1].measure if found else ""
    columns = [Column(text, numeric=False) for text in ("Target", "Role", "Model", "Loss")]
    columns += [Column("Share of queries"), Column("Share of groups")]
    for part in ("All queries", "Queries that were seen", "Other queries"):
        columns += [Column(f"Change of {measure} [95\u00a0%]", part), Column("Queries", part)]
    notes = (
        "Contaminated less clean, on the target that contaminated; a query is seen where its judgements were in the teacher's training set.",
    )
    return Table("doses", "Inflation by contaminated share", columns, rows, notes, stub=5)


def _part(point: Point | None) -> tuple[Cell, Cell]:
    if point is None:
        return Cell(""), count_cell(0)
    return decimal_cell(point.mean, point.interval, sign=True), count_cell(point.queries)


def sets_table(results: Sequence[Result]) -> Table:
    """How much of each teacher's training set was of a target."""
    found = [
        (result, dict(zip(of.__struct_encode_fields__, structs.astuple(of), strict=True)))
        for result, of in of_type(results, TeacherSet)
    ]
    keys = distinct(key for _, rows in found for key in rows)
    body = [
        [
            text_cell(result.facts.source or "none"),
            decimal_cell(result.facts.share or 0.0, places=2),
            *map(any_cell, rows.values()),
            percent_cell(result.value, sign=False),
        ]
        for result, rows in found
    ]
    columns = [Column("Source", numeric=False), Column("Share of queries"), *(Column(key.capitalize()) for key in keys)]
    columns.append(Column("Share of groups"))
    return Table("contaminated-sets", "The teachers' training sets", columns, body, (), stub=2)


def trained_table(results: Sequence[Result]) -> Table:
    """How long each teacher and student trained, what stopped it, and its validation where there was one."""
    found = [
        (result, dict(zip(of.__struct_encode_fields__, structs.astuple(of), strict=True)))
        for result, of in of_type(results, Trainings)
    ]
    keys = distinct(key for _, rows in found for key in rows)
    body = [
        [
            *_system(result.facts),
            text_cell(result.facts.source or "none"),
            decimal_cell(result.facts.share or 0.0, places=2),
            *(any_cell(", ".join(map(str, distinct(values)))) for values in rows.values()),
            decimal_cell(result.value),
        ]
        for result, rows in found
    ]
    columns = [Column(text, numeric=False) for text in ("Role", "Model", "Loss", "Contaminated with")]
    columns += [Column("Share"), *(Column(key.capitalize(), numeric=False) for key in keys), Column("Validation nDCG@10")]
    return Table("distillation-trainings", "The trainings", columns, body, ("Values over the training seeds.",), stub=5)
