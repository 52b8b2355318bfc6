"""Page of a leakage study: the paper's Tables 3 to 8 and Figure 2, tests, orders of models,
training sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.core.formatting import decimal
from positionbias.core.interval import Interval
from positionbias.core.schema import converted
from positionbias.evaluation.letters import LEVEL, is_significant
from positionbias.evaluation.significance import BONFERRONI
from positionbias.leakage.published import PAPER, target_of
from positionbias.papers.leakage import (
    BY_SIZE,
    MEMORIES,
    NEGATIVE_RANK,
    OFFSET,
    ORDER,
    RANK,
    SCORE,
    TRAINSETS,
    WITH,
    WITHOUT,
    LeakedSetSize,
    Memory,
    ModelOrders,
    SizeEffect,
    SizePoint,
    by_condition,
    conditions,
    leakage_models,
    leaked_sizes,
    tests_of_leakage,
)
from positionbias.papers.leakage.tiles import leakage_tiles
from positionbias.report.blocks import Block, FigureKind, block_of
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
from positionbias.report.drawing import (
    interval_line,
    legend_above,
    new_figure,
    required,
    series_handle,
    under_all,
)
from positionbias.report.figure import WIDE, styled
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.report.published import Published, SideBySide
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import PerQuery
from positionbias.results.published import DEVIATION, read_cells
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, distinct, of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CELLS", "PART", "published_of", "sizes_caption", "sizes_figure"]

CELLS = read_cells(Path(__file__).with_name("cells.csv"))
# Tables 3 to 5
DAGGER = "†"
PRINTED = f"Published: {PAPER}. Ours is another experiment, not a repetition of it"
RECIPROCAL = {"RR": "1/MRR"}  # measures that are shown as 1 over their mean, as a rank
EFFECTIVENESS = (3, 4, 5)  # the paper's tables, one a target
# Tables 6 to 8
TABLES = {RANK: 6, SCORE: 7, OFFSET: 8, NEGATIVE_RANK: 0}  # the paper's; of the last it prints none
NAMES = {
    RANK: "memory-ranks",
    SCORE: "memory-scores",
    OFFSET: "memory-offsets",
    NEGATIVE_RANK: "memory-other-ranks",
}
EXPLAINED = {
    RANK: (
        "The rank in the re-ranked candidates, of a passage that was not retrieved by its score "
        "among them."
    ),
    SCORE: "The model's own score; models have scales of their own.",
    OFFSET: (
        "By topic the mean of (rank of the leaked non-relevant passage − rank of the leaked "
        "relevant one); the difference is the increase by leakage."
    ),
    NEGATIVE_RANK: "As the ranks of the relevant ones.",
}
ACROSS = 3.0  # inches of a panel of Figure 2 at least


# -- Tables 3 to 5 ---------------------------------------------------------------------------------


def published_of(results: Sequence[Result]) -> Published | None:
    """Return the paper's cells, where the topics are those of one of its targets."""
    for result in by_condition(results)[:1]:
        if isinstance(result.payload, PerQuery) and (target := target_of(result.payload.query_ids)):
            return Published(PAPER, CELLS, {result.collection: target})
    return None


def leakage_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return every model's effectiveness by measure and condition, sizes cross-validated, † where a
    leakage is significant.
    """
    found = {(r.measure, r.facts): r for r in by_condition(results)}
    measures, names = distinct(measure for measure, _ in found), conditions(results)
    daggers = {
        (r.measure, r.facts)
        for r, p in tests_of_leakage(results)
        if is_significant(p.p_adjusted.get(BONFERRONI))
    }
    rows = SideBySide("Model")
    for model in leakage_models(results):
        keys = [
            (measure, Facts(model=model, variant=name)) for measure in measures for name in names
        ]
        cells = [_value(found[key], key in daggers) for key in keys]
        rows.add(
            [MODELS.get(model, model)], cells, [_printed(results, published, *key) for key in keys]
        )
    columns = [Column(_heading(name), RECIPROCAL.get(m, m)) for m in measures for name in names]
    first = _first_stage(results, measures)
    notes = [
        f"{DAGGER} differs from training without leakage (p < {LEVEL:g}, Bonferroni over the "
        "models and leakages of a measure; the paper's figures by Student's paired t-test).",
        "The size of the training set is chosen for each measure on the other folds of topics. "
        "Lower is better for MFR and 1/MRR; MFR is an arithmetic mean.",
        *([f"BM25, which is re-ranked: {first}."] if first else []),
    ]
    beside = (
        f"{PRINTED}; beside BERT_CAT stands monoBERT, which is BERT_CAT with the pointwise loss."
    )
    return rows.table("leakage", "Effectiveness with and without leakage", columns, notes, beside)


def _heading(condition: str) -> str:
    """Return a condition as the paper's tables head its column: "No", "MSM", "Test"."""
    short = condition.removesuffix(" leakage")
    return short[:1].upper() + short[1:]


def _value(result: Result, significant: bool) -> Cell:
    value, bounds = result.value, result.interval
    if result.measure in RECIPROCAL:
        value, bounds = _inverse(value, bounds)
    letters = DAGGER if significant else ""
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return Cell(decimal(value) + letters, value, low, high, letters=letters)


def _inverse(value: float | None, bounds: Interval | None) -> tuple[float | None, Interval | None]:
    """Return a mean reciprocal rank as a rank."""
    inverse = 1 / value if value else None
    if bounds is None or bounds.low <= 0:
        return inverse, None
    return inverse, Interval(1 / bounds.high, 1 / bounds.low, bounds.level, bounds.method)


def _printed(
    results: Sequence[Result], published: Published | None, measure: str, facts: Facts
) -> Cell:
    """Return the paper's cell; the first model's collection is that of all."""
    collection = results[0].collection
    cells = (
        [published.find(table, collection, measure, facts=facts) for table in EFFECTIVENESS]
        if published
        else []
    )
    cell = next((cell for cell in cells if cell is not None), None)
    return decimal_cell(cell.value, letters=cell.letters) if cell else Cell("")


def _first_stage(results: Sequence[Result], measures: Sequence[str]) -> str:
    rows = {r.measure: r for r in results if r.kind == "per_query" and r.facts.model == "bm25"}
    shown = []
    for measure in measures:
        if measure in rows:
            value = (
                _inverse(rows[measure].value, None)[0]
                if measure in RECIPROCAL
                else rows[measure].value
            )
            shown.append(f"{RECIPROCAL.get(measure, measure)} {decimal(value)}")
    return ", ".join(shown)


def leakage_tests_table(results: Sequence[Result]) -> Table:
    """Return each leakage against none: the difference with its interval, p, that by Bonferroni,
    and Student's.
    """
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
    columns += [
        Column(name, wide=name not in ("p", "p Bonferroni"))
        for name in ("Effect size", "p", "p Bonferroni", "p Student's t", "Topics")
    ]
    notes = (
        (
            "Difference = with − without leakage, topic by topic; effect size: its mean over its "
            "deviation (d_z)."
        ),
        P_NOTE,
    )
    return Table("leakage-tests", "Leakage against none", columns, rows, notes, stub=3)


def sizes_table(results: Sequence[Result]) -> Table:
    """Return by model, topics and training set size each condition's mean, and each leakage's
    gain.
    """
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
    columns = [
        Column("Model", numeric=False),
        Column("Topics", numeric=False),
        Column("Number"),
        Column("Instances"),
    ]
    columns += [Column(name, f"{measure} [95\u00a0%]") for name in names]
    columns += [Column(name, "Difference from no leakage [95\u00a0%]") for name in gains]
    notes = ("Means over the training seeds; intervals over topics.",)
    return Table(
        "leakage-sizes", "Effectiveness by training set size", columns, body, notes, stub=4
    )


def _point(point: SizePoint, *, sign: bool = False) -> Cell:
    return decimal_cell(point.mean, point.interval, sign=sign)


def orders_table(results: Sequence[Result]) -> Table:
    """Return how far each leakage keeps the order of the models, and which change places."""
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
    columns = [
        Column("Measure", numeric=False),
        Column("Leakage", numeric=False),
        Column("Kendall's τ"),
    ]
    columns += [
        Column("Swaps", "All models with it"),
        Column("which", "All models with it", numeric=False),
    ]
    columns += [
        Column("Swaps", "One of two with it"),
        Column("which", "One of two with it", numeric=False),
    ]
    notes = (
        (
            "Against the order of the models without leakage. A < B: A was better, and B is; in "
            "the last column B alone has seen the leakage."
        ),
    )
    return Table("leakage-orders", "The order of the models", columns, body, notes, stub=2)


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    return (
        ", ".join(f"{MODELS.get(one, one)} < {MODELS.get(two, two)}" for one, two in pairs)
        or "none"
    )


def trainsets_table(results: Sequence[Result]) -> Table:
    """Return how much of each training set leaked."""
    found = of_type(results, LeakedSetSize)
    body = [
        [
            text_cell(result.facts.variant),
            *map(
                count_cell,
                (size.instances, size.leaked_instances, size.leaked_queries, size.topics),
            ),
            count_cell(size.without_candidates or None),
            percent_cell(result.value, sign=False),
        ]
        for result, size in found
    ]
    counted = (
        "Instances",
        "Leaked instances",
        "Leaked queries",
        "Topics leaked",
        "Topics leaked without candidates",
    )
    columns = [Column("Training set", numeric=False), *map(Column, counted), Column("Leaked share")]
    drop_columns(columns, body, [] if any(size.without_candidates for _, size in found) else [5])
    notes = (
        "An instance is a query with one passage; a leaked query stands in two instances or more.",
    )
    return Table("leakage-sets", "The training sets", columns, body, notes, stub=2)


def leakage_sentence(results: Sequence[Result]) -> str:
    """Say which sizes were chosen, fold by fold, in the first measure."""
    chosen = [
        f"{MODELS.get(r.facts.model, r.facts.model)} with {r.facts.variant} "
        f"{', '.join(f'{size:,}' for size in sizes)}"
        for r in by_condition(results)
        if r.measure == by_condition(results)[0].measure and (sizes := _chosen(r))
    ]
    return (
        (
            f"Instances chosen for {by_condition(results)[0].measure}, fold by fold: "
            f"{'; '.join(chosen)}."
        )
        if chosen
        else ""
    )


def _chosen(result: Result) -> Sequence[int]:
    assert isinstance(result.payload, PerQuery)
    return converted(list[int], result.payload.notes.get("chosen instances, fold by fold", []))


# -- Tables 6 to 8 ---------------------------------------------------------------------------------


def memory_tables(results: Sequence[Result], published: Published | None = None) -> list[Table]:
    """Return a table for each of rank, score, offset, and the rank of the non-relevant, where there
    are any.
    """
    found = of_type(results, Memory)
    tables = (
        _memory_table([item for item in found if item[0].measure == measure], measure, published)
        for measure in TABLES
    )
    return [table for table in tables if table.rows]


def _memory_table(
    found: Sequence[tuple[Result, Memory]], measure: str, published: Published | None
) -> Table:
    places = 2 if measure in (RANK, NEGATIVE_RANK) else 3
    rows = SideBySide("Leakage", "Model")
    for result, memory in found:
        values = (
            memory.with_mean,
            memory.with_deviation,
            memory.without_mean,
            memory.without_deviation,
        )
        ours = [
            *(decimal_cell(value, places=places) for value in values),
            decimal_cell(result.value, result.interval, places=places, sign=True),
            decimal_cell(memory.difference_deviation, places=places),
            count_cell(memory.count),
            count_cell(memory.repeats),
        ]
        printed = enumerate(_printed_memory(result, measure, published))
        theirs = [decimal_cell(value, places=places, sign=place == 4) for place, value in printed]
        names = (result.facts.variant, MODELS.get(result.facts.model, result.facts.model))
        rows.add(names, ours, [*theirs, Cell(""), Cell("")])
    columns = [
        Column(name, side)
        for side in (WITH.capitalize(), WITHOUT.capitalize())
        for name in ("Mean", "Deviation")
    ]
    columns += [
        Column(level_heading("Difference", (r.interval for r, _ in found))),
        Column("Its deviation", wide=True),
    ]
    columns += [Column("Topics" if measure == OFFSET else "Passages"), Column("Models", wide=True)]
    notes = (
        EXPLAINED[measure],
        (
            "Each model with leakage stands against the one that was trained alike without it "
            "(size, seed); intervals over topics."
        ),
    )
    return rows.table(
        NAMES[measure], measure[:1].upper() + measure[1:], columns, notes, f"{PRINTED}."
    )


def _printed_memory(
    result: Result, measure: str, published: Published | None
) -> list[float | None]:
    """Return the paper's figures for ours: mean and deviation with, without, the difference and its
    deviation.
    """
    facts = Facts(model=result.facts.model, variant=result.facts.variant)

    def figure(name: str) -> float | None:
        cell = (
            published.find(TABLES[measure], result.collection, name, facts=facts)
            if published
            else None
        )
        return cell.value if cell else None

    if measure == OFFSET:
        return [None, None, None, None, figure(OFFSET), figure(f"{OFFSET} {DEVIATION}")]
    states = [f"{measure}, {state}" for state in (WITH, WITHOUT)]
    found = [figure(name) for state in states for name in (state, f"{state} {DEVIATION}")]
    difference = found[0] - found[2] if found[0] is not None and found[2] is not None else None
    return [*found, difference, None]


# -- Figure 2 --------------------------------------------------------------------------------------


def sizes_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw mean effectiveness with its interval over topics by training set size (log scale), a
    panel per model.

    Raises:
        InputError: no effectiveness on topics with leaked queries among the results.
    """
    found = required(
        leaked_sizes(results), "effectiveness by training set size on topics with leaked queries"
    )
    names = distinct(name for _, effect in found for name in effect.means)
    across = min(len(found), max(1, int(width / ACROSS)))
    down = -(-len(found) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.4 * down)
        panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
        for axes, (result, effect) in zip(panels, found, strict=False):
            for index, name in enumerate(names):
                points = effect.means.get(name, [])
                # side by side, so that intervals do not overlap
                at = [point.instances * 1.05 ** (index - (len(names) - 1) / 2) for point in points]
                interval_line(axes, at, [point.estimate for point in points], index)
            sizes = distinct(point.instances for of in effect.means.values() for point in of)
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [_short(size) for size in sizes])
            axes.minorticks_off()
            axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)
            axes.set_title(MODELS.get(result.system, result.system))
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        for axes in panels[: len(found) : across]:
            axes.set_ylabel(found[0][1].measure)
        under_all(figure, "Training instances", width)
        legend_above(figure, [series_handle(index) for index in range(len(names))], names, width)
    return figure


def _short(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else f"{size:,}"


def sizes_caption(results: Sequence[Result]) -> str:
    """Describe the figure, with the means at the smallest and the largest size."""
    found = leaked_sizes(results)
    parts = []
    for result, effect in found:
        for name, points in effect.means.items():
            first, last = points[0], points[-1]
            shown = f"{decimal(first.mean)} with {first.instances:,} instances"
            shown += f", {decimal(last.mean)} with {last.instances:,}" if len(points) > 1 else ""
            parts.append(f"{MODELS.get(result.system, result.system)}, {name}: {shown}")
    measure, topics = (found[0][1].measure, found[0][0].count) if found else ("", 0)
    return (
        f"{measure} by training set size on the {topics:,} topics with leaked queries, with "
        f"intervals over topics. {'; '.join(parts)}."
    )


# -- sections --------------------------------------------------------------------------------------


SIZES = FigureKind(leaked_sizes, sizes_figure, sizes_caption, "y")


def _effectiveness(study: Study) -> Block:
    results = study.results
    if not leakage_models(results):
        return block_of(study)
    tables = (
        leakage_table(results, study.published),
        leakage_tests_table(results),
        sizes_table(results),
        orders_table(results),
    )
    block = block_of(study, {"leakage-sizes": SIZES}, [*tables, trainsets_table(results)])
    block.sentences = list(filter(None, [leakage_sentence(results)]))
    return block


def _memories(study: Study) -> Block:
    return block_of(study, tables=memory_tables(study.results, study.published))


PART = Part(
    sections=(
        PageSection(
            "leakage",
            "Effectiveness with and without leakage",
            "Each model was trained on sets that differ in a fixed number of leaked queries alone: "
            "none; training queries that near-duplicate the test queries (MSM leakage); the test "
            "queries themselves, with their judged passages (test leakage), which bounds what "
            "leakage can do.",
            each(_effectiveness),
        ),
        PageSection(
            "memories",
            "What the models remember of leaked passages",
            "Where the passages of leaked training instances stand among a test query's "
            "candidates, in models that were trained on them and in models that were not. "
            "Remembering lifts the relevant passage, lowers the other, and widens the gap between "
            "them.",
            each(_memories),
        ),
    ),
    tiles=leakage_tiles,
    measures=(TRAINSETS, BY_SIZE, ORDER, *MEMORIES),
    comparisons=lambda results: (result for result, _ in tests_of_leakage(results)),
    published=published_of,
    after_study=("leakage", "memory"),
)
