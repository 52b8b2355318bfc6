"""Tables of a leakage study in the paper's form: effectiveness (Tables 3 to 5), tests, sizes (Figure 2's numbers), orders, training sets."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import decimal
from positionbias.core.interval import Interval
from positionbias.core.schema import converted
from positionbias.evaluation.letters import LEVEL
from positionbias.evaluation.significance import BONFERRONI
from positionbias.report.cells import (
    P_NOTE,
    comparison_cells,
    count_cell,
    decimal_cell,
    drop_columns,
    level_heading,
    percent_cell,
    text_cell,
)
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.leakage import (
    LeakedSetSize,
    ModelOrders,
    SizeEffect,
    SizePoint,
    by_condition,
    conditions,
    leakage_models,
    tests_of_leakage,
)
from positionbias.results.payloads import PerQuery
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, distinct, of_type

__all__ = ["leakage_sentence", "leakage_table", "leakage_tests_table", "orders_table", "sizes_table", "trainsets_table"]

DAGGER = "†"
RECIPROCAL = {"RR": "1/MRR"}  # measures that are shown as 1 over their mean, as a rank
EFFECTIVENESS = (3, 4, 5)  # the paper's tables, one a target


def leakage_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Every model's effectiveness by measure and condition, each size chosen by cross-validation, with † where a leakage is significant."""
    found = {(r.measure, r.facts): r for r in by_condition(results)}
    measures, names = distinct(measure for measure, _ in found), conditions(results)
    daggers = {(r.measure, r.facts) for r, p in tests_of_leakage(results) if _below(p.p_adjusted.get(BONFERRONI))}
    body: list[list[Cell]] = []
    printed = False
    for model in leakage_models(results):
        keys = [(measure, Facts(model=model, variant=name)) for measure in measures for name in names]
        cells = [_value(found[key], key in daggers) for key in keys]
        theirs = [_printed(results, published, *key) for key in keys]
        body.append([text_cell(MODELS.get(model, model)), text_cell("ours"), *cells])
        if any(cell.text for cell in theirs):
            printed = True
            body.append([text_cell(MODELS.get(model, model)), text_cell("published"), *theirs])
    columns = [Column("Model", numeric=False), Column("", numeric=False)]
    columns += [Column(_heading(name), RECIPROCAL.get(m, m)) for m in measures for name in names]
    if not printed:
        del columns[1]
        for row in body:
            del row[1]
    first = _first_stage(results, measures)
    notes = [
        f"{DAGGER} differs from training without leakage (p < {LEVEL:g}, Bonferroni over the models and leakages of a measure; the paper's "
        "figures by Student's paired t-test).",
        "The size of the training set is chosen for each measure on the other folds of topics. Lower is better for MFR and 1/MRR; MFR is an "
        "arithmetic mean.",
        *([f"BM25, which is re-ranked: {first}."] if first else []),
        *(
            [
                f"Published: {published.paper}. Ours is another experiment, not a repetition of it; beside BERT_CAT stands monoBERT, "
                "which is BERT_CAT with the pointwise loss."
            ]
            if published and printed
            else []
        ),
    ]
    return Table("leakage", "Effectiveness with and without leakage", columns, body, notes, stub=1 + printed)


def _heading(condition: str) -> str:
    """A condition as the paper's tables head its column: "No", "MSM", "Test"."""
    short = condition.removesuffix(" leakage")
    return short[:1].upper() + short[1:]


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL


def _value(result: Result, significant: bool) -> Cell:
    value, bounds = result.value, result.interval
    if result.measure in RECIPROCAL:
        value, bounds = _inverse(value, bounds)
    letters = DAGGER if significant else ""
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return Cell(decimal(value) + letters, value, low, high, letters=letters)


def _inverse(value: float | None, bounds: Interval | None) -> tuple[float | None, Interval | None]:
    """A mean reciprocal rank as a rank."""
    inverse = 1 / value if value else None
    if bounds is None or bounds.low <= 0:
        return inverse, None
    return inverse, Interval(1 / bounds.high, 1 / bounds.low, bounds.level, bounds.method)


def _printed(results: Sequence[Result], published: Published | None, measure: str, facts: Facts) -> Cell:
    """The paper's cell; the first model's collection is that of all."""
    collection = results[0].collection
    cells = [published.find(table, collection, measure, facts=facts) for table in EFFECTIVENESS] if published else []
    cell = next((cell for cell in cells if cell is not None), None)
    return decimal_cell(cell.value, letters=cell.letters) if cell else Cell("")


def _first_stage(results: Sequence[Result], measures: Sequence[str]) -> str:
    rows = {r.measure: r for r in results if r.kind == "per_query" and r.facts.model == "bm25"}
    shown = []
    for measure in measures:
        if measure in rows:
            value = _inverse(rows[measure].value, None)[0] if measure in RECIPROCAL else rows[measure].value
            shown.append(f"{RECIPROCAL.get(measure, measure)} {decimal(value)}")
    return ", ".join(shown)


def leakage_tests_table(results: Sequence[Result]) -> Table:
    """Each leakage against none: the difference with its interval, p, that by Bonferroni, and Student's."""
    found = tests_of_leakage(results)
    rows = [
        [
            text_cell(result.measure),
            text_cell(MODELS.get(result.facts.model, result.facts.model)),
            text_cell(result.facts.variant),
            *comparison_cells(payload, BONFERRONI),
            count_cell(result.count),
        ]
        for result, payload in found
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Model", "Leakage")]
    columns += [
        Column("Without"),
        Column("With"),
        Column(level_heading("Difference", (p.difference_interval for _, p in found))),
    ]
    columns += [Column(name) for name in ("Effect size", "p", "p Bonferroni", "p Student's t", "Topics")]
    notes = ("Difference = with − without leakage, topic by topic; effect size: its mean over its deviation (d_z).", P_NOTE)
    return Table("leakage-tests", "Leakage against none", columns, rows, notes, stub=3)


def sizes_table(results: Sequence[Result]) -> Table:
    """By model, topics and training set size: each condition's mean, and what each leakage gains."""
    found = of_type(results, SizeEffect)
    names = distinct(name for _, effect in found for name in effect.means)
    gains = distinct(name for _, effect in found for name in effect.gains)
    measure = found[0][1].measure if found else ""
    body = [
        [
            text_cell(MODELS.get(result.system, result.system)),
            text_cell("with leaked queries" if effect.topics == "leaked" else "all"),
            count_cell(result.count),
            count_cell(effect.means[names[0]][place].instances),
            *(_point(effect.means[name][place]) for name in names),
            *(_point(effect.gains[name][place], sign=True) for name in gains),
        ]
        for result, effect in found
        for place in range(len(effect.means[names[0]]))
    ]
    columns = [Column("Model", numeric=False), Column("Topics", numeric=False), Column("Number"), Column("Instances")]
    columns += [Column(name, f"{measure} [95\u00a0%]") for name in names]
    columns += [Column(name, "Difference from no leakage [95\u00a0%]") for name in gains]
    notes = ("Means over the training seeds; intervals over topics.",)
    return Table("leakage-sizes", "Effectiveness by training set size", columns, body, notes, stub=4)


def _point(point: SizePoint, *, sign: bool = False) -> Cell:
    return decimal_cell(point.mean, point.interval, sign=sign)


def orders_table(results: Sequence[Result]) -> Table:
    """How far each leakage keeps the order of the models, and who changes places."""
    body = [
        [
            text_cell(orders.measure),
            text_cell(name),
            decimal_cell(order.tau),
            count_cell(len(order.swaps)),
            text_cell(_listed(order.swaps)),
            count_cell(len(order.overtakes)),
            text_cell(_listed([pair[::-1] for pair in order.overtakes])),
        ]
        for _, orders in of_type(results, ModelOrders)
        for name, order in orders.rows.items()
    ]
    columns = [Column("Measure", numeric=False), Column("Leakage", numeric=False), Column("Kendall's τ")]
    columns += [Column("Swaps", "All models with it"), Column("which", "All models with it", numeric=False)]
    columns += [Column("Swaps", "One of two with it"), Column("which", "One of two with it", numeric=False)]
    notes = (
        "Against the order of the models without leakage. A < B: A was better, and B is; in the last column B alone has seen the leakage.",
    )
    return Table("leakage-orders", "The order of the models", columns, body, notes, stub=2)


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{MODELS.get(one, one)} < {MODELS.get(two, two)}" for one, two in pairs) or "none"


def trainsets_table(results: Sequence[Result]) -> Table:
    """How much of each training set leaked."""
    found = of_type(results, LeakedSetSize)
    body = [
        [
            text_cell(result.facts.variant),
            *map(count_cell, (size.instances, size.leaked_instances, size.leaked_queries, size.topics)),
            count_cell(size.without_candidates or None),
            percent_cell(result.value, sign=False),
        ]
        for result, size in found
    ]
    counted = ("Instances", "Leaked instances", "Leaked queries", "Topics leaked", "Topics leaked without candidates")
    columns = [Column("Training set", numeric=False), *map(Column, counted), Column("Leaked share")]
    drop_columns(columns, body, [] if any(size.without_candidates for _, size in found) else [5])
    notes = ("An instance is a query with one passage; a leaked query stands in two instances or more.",)
    return Table("leakage-sets", "The training sets", columns, body, notes, stub=2)


def leakage_sentence(results: Sequence[Result]) -> str:
    """Which sizes were chosen, fold by fold, in the first measure."""
    chosen = [
        f"{MODELS.get(r.facts.model, r.facts.model)} with {r.facts.variant} {', '.join(f'{size:,}' for size in sizes)}"
        for r in by_condition(results)
        if r.measure == by_condition(results)[0].measure and (sizes := _chosen(r))
    ]
    return f"Instances chosen for {by_condition(results)[0].measure}, fold by fold: {'; '.join(chosen)}." if chosen else ""


def _chosen(result: Result) -> Sequence[int]:
    assert isinstance(result.payload, PerQuery)
    return converted(list[int], result.payload.notes.get("chosen instances, fold by fold", []))
