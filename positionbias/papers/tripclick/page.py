"""Page of a TripClick study: the paper's Tables 1 and 2, tests, training sets, and curves by
depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.convergence import ended_name
from positionbias.core.formatting import decimal, percent
from positionbias.core.schema import converted
from positionbias.evaluation.letters import LEVEL, is_significant
from positionbias.evaluation.significance import HOLM
from positionbias.papers.tripclick import (
    AGAINST_BM25,
    CURVES,
    ENSEMBLE,
    FIRST,
    NEGATIVES,
    REGENERATED,
    RERANKER,
    RETRIEVER,
    SETS,
    TELEMETRY,
    DepthCurve,
    DepthPoint,
    Telemetry,
    TrainingSet,
    compared_along,
    judged_sets,
    of_role,
    own_comparisons,
    paper_test,
    set_name,
    short,
    system_label,
    tripclick_systems,
)
from positionbias.papers.tripclick.tiles import tripclick_tiles
from positionbias.report.blocks import Block, FigureKind, block_of, figures_of
from positionbias.report.captions import MOST_NAMED
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
from positionbias.report.drawing import (
    characters,
    interval_line,
    legend_above,
    new_figure,
    required,
    series_handle,
    series_looks,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import WIDE, styled
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import Comparison, TrainingCurve
from positionbias.results.points import Estimate
from positionbias.results.published import PublishedCell, read_cells
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name, of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CELLS", "PART", "published_of", "tripclick_figures"]

PAPER = "Establishing Strong Baselines for TripClick Health Retrieval (ECIR 2022)"
CELLS = read_cells(Path(__file__).with_name("cells.csv"))
EMPTY = Cell("")
# Tables 1 and 2
MARK = "‡"
NAMES = {"bm25": "BM25", "ensemble": "Ensemble"}
# as the paper's tables have them
ORDER = ("bm25", "conv_knrm", "tk", "colbert", "bert_cat", "bert_dot")
STUB = ("Model", "Began with", "Negatives", "")
JUDGED = "Judged@10"
EFFECT = (
    "Effect size: the mean difference over the deviation of the differences (d_z). " + OVER_NOTE
)
HELD = {
    "Groups": "groups",
    "Queries": "queries",
    "Positives": "positives",
    "Negatives": "negatives",
    "False negatives": "false_negatives",
    "Distinct negatives": "distinct_negatives",
    "Distinct false negatives": "distinct_false_negatives",
}  # columns of a training set
# figures
ACROSS = 2.9  # inches of a panel
SERIES = {"pair accuracy": "Pairwise accuracy", "score margin": "Score margin"}
Curves = list[tuple[Result, DepthCurve]]


# -- Tables 1 and 2 --------------------------------------------------------------------------------


def published_of(results: Sequence[Result]) -> Published | None:
    """Return the paper's cells, for those tests that are its own by name."""
    names = {test: name for test in judged_sets(results) if (name := paper_test(test))}
    return Published(PAPER, CELLS, names) if names else None


def reranking_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return Table 1: BM25, every re-ranker and the ensemble on every test."""
    shown = of_role(results, FIRST, RERANKER, ENSEMBLE)
    measures = distinct(result.measure for result in shown if result.facts.role == RERANKER)
    tests, marks = judged_sets(shown), _marks(results)
    keys = [(test, measure) for test in tests for measure in measures]
    cells = _cells(published, 1, tests)
    rows = (
        _side_by_side(shown, cells, keys, published, marks, "ours" if cells else "") if keys else []
    )
    columns = [
        *(Column(text, numeric=False) for text in STUB),
        *(Column(measure, test) for test, measure in keys),
    ]
    notes = [
        (
            f"{MARK} against BM25, which all re-rank: p < {LEVEL:g} after Holm's correction over "
            "all systems of a test and measure."
        ),
        P_NOTE,
        f"A query's value is its mean over training seeds; intervals stand in the CSV. {OVER_NOTE}",
    ]
    return _beside(
        "tripclick-reranking",
        "Re-ranking BM25's candidates",
        columns,
        rows,
        notes,
        len(STUB),
        cells,
    )


def retrieval_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return Table 2: BM25 and dense retrieval over the whole collection."""
    shown = of_role(results, FIRST, RETRIEVER)
    measures = distinct(result.measure for result in shown)
    tests = judged_sets(shown) if any(result.facts.role == RETRIEVER for result in shown) else []
    cells = _cells(published, 2, tests)
    rows = []
    for test in tests:
        own = [cell for cell in cells if published and cell.collection == published.names.get(test)]
        keys = [(test, measure) for measure in measures]
        found = _side_by_side(shown, own, keys, published, None, "ours" if cells else "")
        rows += [[text_cell(test), *row] for row in found]
    columns = [Column(text, numeric=False) for text in ("Test", *STUB)]
    columns += [Column("J@10" if measure == JUDGED else measure) for measure in measures]
    notes = [
        "J@10: the share of the first 10 that anybody judged; what nobody judged counts as not "
        "relevant. " + OVER_NOTE
    ]
    indexes = distinct(
        index for r in shown if (index := getattr(r.payload, "notes", {}).get("index"))
    )
    notes += [
        f"Dense retrieval by an approximate index ({index}), which can miss passages."
        for index in indexes
        if index != "exact"
    ]
    return _beside(
        "tripclick-retrieval",
        "Retrieval from the whole collection",
        columns,
        rows,
        notes,
        1 + len(STUB),
        cells,
    )


def _cells(published: Published | None, table: int, tests: Sequence[str]) -> list[PublishedCell]:
    """Return the paper's figures for those tests that are its own."""
    names = (
        {published.names[test] for test in tests if test in published.names} if published else set()
    )
    return (
        [cell for cell in published.cells if cell.table == table and cell.collection in names]
        if published
        else []
    )


def _marks(results: Sequence[Result]) -> dict[tuple[str, str, Facts], str]:
    found = {}
    for result, payload in compared_along(results, AGAINST_BM25):
        significant = is_significant(payload.p_adjusted.get(HOLM))
        found[result.split, result.measure, result.facts] = MARK if significant else ""
    return found


def _side_by_side(
    shown: Sequence[Result],
    cells: Sequence[PublishedCell],
    keys: Sequence[tuple[str, str]],
    published: Published | None,
    marks: Mapping[tuple[str, str, Facts], str] | None,
    ours: str,
) -> list[list[Cell]]:
    """Return our systems and the paper's, by kind; a column each (test, measure). ``marks`` leaves
    intervals to CSV.
    """
    values = {(r.split, r.measure, r.facts): r for r in shown}
    names = published.names if published else {}
    rows = []
    for kind in _kinds(shown, cells):
        for facts in distinct(result.facts for result in shown if result.facts.model == kind):
            rows.append(
                [
                    *_stub(facts, ours),
                    *(_our_cell(values.get((*key, facts)), marks) for key in keys),
                ]
            )
        for line in distinct(cell.row for cell in cells if cell.facts.model == kind):
            theirs = {(c.collection, c.measure): c for c in cells if c.row == line}
            figures = [
                _their_cell(theirs.get((names.get(test, ""), measure))) for test, measure in keys
            ]
            rows.append(
                [*_stub(next(iter(theirs.values())).facts, f"published, line {line}"), *figures]
            )
    return rows


def _kinds(results: Sequence[Result], cells: Sequence[PublishedCell]) -> list[str]:
    """Return the kinds of model that have rows, in the paper's order, those of ours alone before
    the ensemble.
    """
    found = distinct(
        facts.model for facts in [*(r.facts for r in results), *(c.facts for c in cells)]
    )
    others = [kind for kind in found if kind not in (*ORDER, "ensemble")]
    return [kind for kind in (*ORDER, *others, "ensemble") if kind in found]


def _stub(facts: Facts, whose: str) -> list[Cell]:
    model = (
        ended_name(NAMES[facts.model], facts.unfinished)
        if facts.model in NAMES
        else model_name(facts)
    )
    return [text_cell(part) for part in (model, facts.pretrained, set_name(facts), whose)]


def _our_cell(result: Result | None, marks: Mapping[tuple[str, str, Facts], str] | None) -> Cell:
    if result is None:
        return EMPTY
    if result.measure == JUDGED:
        return percent_cell(result.value, sign=False)
    if marks is None:
        return decimal_cell(result.value, result.interval)
    mark = marks.get((result.split, result.measure, result.facts), "")
    cell = decimal_cell(result.value, result.interval, letters=mark)
    return cell.briefly()


def _their_cell(cell: PublishedCell | None) -> Cell:
    if cell is None:
        return EMPTY
    return (
        percent_cell(cell.value, sign=False) if cell.measure == JUDGED else decimal_cell(cell.value)
    )


def _beside(
    name: str,
    title: str,
    columns: list[Column],
    rows: list[list[Cell]],
    notes: list[str],
    stub: int,
    cells: Sequence[PublishedCell],
) -> Table:
    """Return the table with a note on the paper's lines where there are any, without empty columns
    of names.
    """
    if cells:
        notes.append(
            f"Published: {PAPER}, with its lines' numbers. Ours is another experiment, not a "
            "repetition of it."
        )
    gone = [place for place in range(stub) if not any(row[place].text for row in rows)]
    drop_columns(columns, rows, gone)
    return Table(name, title, columns, rows, notes, stub=max(1, stub - len(gone)))


# -- tests -----------------------------------------------------------------------------------------


def _tests(
    found: Sequence[tuple[Result, Comparison, list[str]]], heads: Sequence[str]
) -> tuple[list[Column], list[list[Cell]]]:
    """Return comparisons as rows behind what names them."""
    rows = [
        [
            *map(text_cell, (result.split, result.measure, *names)),
            *comparison_cells(payload, HOLM),
            count_cell(result.count),
        ]
        for result, payload, names in found
    ]
    columns = [Column(text, numeric=False) for text in ("Test", "Measure", *heads[:-2])]
    columns += [Column(heads[-2]), Column(heads[-1])]
    columns += [
        Column(
            level_heading("Difference", (payload.difference_interval for _, payload, _ in found))
        )
    ]
    return [
        *columns,
        *(
            Column(name, wide=not name.startswith("p") or "Student" in name)
            for name in ("Effect size", "p", "p Holm", "p Student's t", "Queries")
        ),
    ], rows


def negatives_table(results: Sequence[Result]) -> Table:
    """Return each model on one training set against the same on another."""
    found = [
        (
            result,
            payload,
            [
                short(result.facts),
                set_name(converted(Facts, payload.noted.baseline)),
                set_name(result.facts),
            ],
        )
        for result, payload in compared_along(results, NEGATIVES)
    ]
    columns, rows = _tests(found, ("Model", "Training set A", "Training set B", "With A", "With B"))
    notes = [*_what_differs(results), EFFECT, P_NOTE]
    return Table(
        "tripclick-negatives",
        "What one training set gains over another",
        columns,
        rows,
        notes,
        stub=5,
    )


def _what_differs(results: Sequence[Result]) -> list[str]:
    """Give what is equal and what differs in trainings on different sets, in numbers."""
    held = [
        f"{set_name(result.facts)} {of.groups:,} triples of {of.queries:,} queries and "
        f"{of.positives:,} clicked passages"
        for result, of in of_type(results, TrainingSet)
        if of.positives is not None
    ]
    steps: dict[str, list[str]] = {}
    for result, logged in of_type(results, Telemetry):
        steps.setdefault(set_name(result.facts), []).extend(
            f"{step:,}" for step in logged.steps if step is not None
        )
    alike = len({step for of in steps.values() for step in of}) == 1
    notes = ["B less A: the same model and seeds" + (" and number of steps" if alike else "") + "."]
    if not alike and any(steps.values()):
        made = [f"{name} {', '.join(distinct(of))}" for name, of in steps.items()]
        notes.append(f"Steps: {'; '.join(made)}.")
    if held:
        notes.append(
            f"Where negatives come from is not all in which the sets differ: {'; '.join(held)}."
        )
    return notes


def first_stage_tests_table(results: Sequence[Result]) -> Table:
    """Return every system against BM25: the tests behind the marks."""
    found = [
        (result, payload, [result.system])
        for result, payload in compared_along(results, AGAINST_BM25)
    ]
    columns, rows = _tests(found, ("System", "BM25", "System's"))
    return Table("tripclick-bm25", "Against BM25", columns, rows, (EFFECT, P_NOTE), stub=3)


# -- trainings, depths -----------------------------------------------------------------------------


def sets_table(results: Sequence[Result]) -> Table:
    """Return each training set's contents, how much of it is false, and what its maker could not
    use.
    """
    found = of_type(results, TrainingSet)
    left_out = distinct(reason for _, held in found for reason in held.left_out)
    rows = [
        [
            text_cell(set_name(result.facts)),
            *(_counted(getattr(held, name)) for name in HELD.values()),
            EMPTY if result.value is None else percent_cell(result.value, sign=False),
            *(_counted(held.left_out.get(reason)) for reason in left_out),
        ]
        for result, held in found
    ]
    columns = [Column("Training set", numeric=False), *map(Column, HELD), Column("Share false")]
    columns += [
        Column(reason.removeprefix("positives ").capitalize(), "Clicked passages of queries")
        for reason in left_out
    ]
    notes = ["Positives: clicked passages of a query, each once."]
    if any(result.value is not None for result, _ in found):
        notes.append(
            "A negative is false where it is relevant by the complete judgements, which no "
            "training saw."
        )
    if left_out:
        notes.append(
            "Clicked passages of queries: those that are judged relevant, and why triples of some "
            "were not made, or fewer."
        )
    drop_columns(
        columns, rows, [n for n in range(1, len(columns)) if not any(row[n].text for row in rows)]
    )
    return Table("tripclick-sets", "The training sets", columns, rows, notes)


def _counted(number: int | None) -> Cell:
    return EMPTY if number is None else any_cell(number)


def telemetry_table(results: Sequence[Result]) -> Table:
    """Return training logs: the paper's first evidence of bad negatives."""
    found = of_type(results, Telemetry)
    shares = {result.facts.variant: result.value for result, _ in of_type(results, TrainingSet)}
    rows = [
        [
            text_cell(short(result.facts)),
            text_cell(set_name(result.facts)),
            EMPTY
            if (share := shares.get(result.facts.variant)) is None
            else percent_cell(share, sign=False),
            *map(_over_seeds, (logged.pair_accuracy, logged.score_margin, logged.loss)),
            *(
                any_cell(", ".join(map(str, of)))
                for of in (logged.steps, logged.kept_steps, logged.seeds)
            ),
        ]
        for result, logged in found
    ]
    columns = [Column(text, numeric=False) for text in ("Model", "Training set")]
    columns += map(
        Column,
        (
            "False negatives",
            "Pairwise accuracy",
            "Score margin",
            "Loss",
            "Steps",
            "Step kept",
            "Seeds",
        ),
    )
    notes = [
        "Means over what was logged in the last half of the steps, on the triples trained on; seed "
        "by seed where there are several. The margin is the positive's score less the negative's, "
        "in the model's own scale.",
    ]
    gone = [2] if not any(row[2].text for row in rows) else []
    if all(logged.steps == logged.kept_steps for _, logged in found):
        gone.append(7)
    else:
        notes.append(
            "What is measured of a model are the weights of the step kept, the best on validation."
        )
    drop_columns(columns, rows, gone)
    return Table("tripclick-telemetry", "What the trainings showed", columns, rows, notes, stub=2)


def _over_seeds(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return EMPTY
    mean = decimal_cell(sum(known) / len(known))
    if len(known) == 1:
        return mean
    return replace(
        mean, text=f"{mean.text} ({', '.join(decimal_cell(value).text for value in known)})"
    )


def depths_table(results: Sequence[Result]) -> Table:
    """Return the depth curves' points."""
    found = of_type(results, DepthCurve)
    depths = sorted({point.depth for _, curve in found for point in curve.points})
    systems = distinct(result.facts for result, _ in found)
    rows = []
    for result, curve in found:
        points = {point.depth: point for point in curve.points}
        figures = [
            decimal_cell(p.mean, p.interval) if (p := points.get(depth)) else EMPTY
            for depth in depths
        ]
        rows.append(
            [text_cell(result.split), text_cell(system_label(result.facts, systems)), *figures]
        )
    columns = [Column("Test", numeric=False), Column("System", numeric=False)]
    columns += [Column(str(depth), "nDCG@10 [95\u00a0%] at re-ranking depth") for depth in depths]
    return Table(
        "tripclick-depths",
        "Effectiveness by re-ranking depth",
        columns,
        rows,
        _depth_notes(found),
        stub=2,
    )


def _depth_notes(found: Sequence[tuple[Result, DepthCurve]]) -> list[str]:
    """Say which depths not all queries have the candidates for, and which most have not."""
    notes = [OVER_NOTE]
    for test in distinct(result.split for result, _ in found):
        curve = next(curve for result, curve in found if result.split == test)
        if some := [
            f"{point.depth}: {percent(point.reached, 0)}"
            for point in curve.points
            if point.reached < 1
        ]:
            notes.append(
                f"{test}: queries with so many candidates, by depth: {'; '.join(some)}; of the "
                "others all that they have are re-ranked."
            )
        if curve.beyond:
            deeper = ", ".join(map(str, curve.beyond))
            notes.append(
                f"{test}: most queries have no {deeper} candidates; nothing is shown at such a "
                "depth."
            )
    return notes


# -- figures ---------------------------------------------------------------------------------------


def curves_by_model(results: Sequence[Result]) -> Curves:
    """Return the depth curves of models trained on BM25's negatives."""
    return [
        (r, curve) for r, curve in of_type(results, DepthCurve) if r.facts.variant == REGENERATED
    ]


def compared_curves(results: Sequence[Result]) -> Curves:
    """Return the depth curves of models trained on several sets."""
    curves = of_type(results, DepthCurve)
    several = {short(r.facts) for r, _ in curves if r.facts.variant != REGENERATED}
    return [(r, curve) for r, curve in curves if short(r.facts) in several]


def depth_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Draw nDCG@10 by re-ranking depth, on a logarithmic axis, with intervals: a panel per test, a
    line per model.

    Raises:
        InputError: no depth curve.
    """
    found = required(curves_by_model(results), "nDCG@10 by re-ranking depth")
    lines = distinct(short(result.facts) for result, _ in found)
    panels: dict[str, Curves] = {}
    for result, curve in found:
        panels.setdefault(result.split, []).append((result, curve))
    return _curves(panels, lines, lambda result: short(result.facts), width)


def negatives_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Draw a panel per model and test, a line per training set.

    Raises:
        InputError: no model with several training sets.
    """
    found = required(compared_curves(results), "depth curves of a model with several training sets")
    several = len(distinct(result.split for result, _ in found)) > 1
    panels: dict[str, Curves] = {}
    for result, curve in found:
        panels.setdefault(
            short(result.facts) + (f", {result.split}" if several else ""), []
        ).append((result, curve))
    return _curves(
        panels,
        _sets(result.facts for result, _ in found),
        lambda result: set_name(result.facts),
        width,
    )


def _sets(every: Iterable[Facts]) -> list[str]:
    """Return training sets in words, BM25's first."""
    return sorted(
        distinct(set_name(facts) for facts in every), key=lambda name: name != REGENERATED
    )


def _curves(
    panels: Mapping[str, Curves], lines: Sequence[str], line: Callable[[Result], str], width: float
) -> Figure:
    across = min(len(panels), max(1, int(width / ACROSS)))
    down = -(-len(panels) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.5 * down)
        grid = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        depths = sorted(
            {
                point.depth
                for curves in panels.values()
                for _, curve in curves
                for point in curve.points
            }
        )
        for place, (axes, (title, curves)) in enumerate(zip(grid, panels.items(), strict=False)):
            for result, curve in curves:
                _line(axes, curve.points, lines.index(line(result)), len(lines))
            axes.set_xscale("log")
            _depth_marks(axes, depths, width / across)
            axes.set_title(wrap(title, characters(width / across)))
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(panels))
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[: len(panels) : across]:
            axes.set_ylabel("nDCG@10")
        under_all(figure, "Candidates of BM25 that are re-ranked", width)
        handles = [series_handle(index) for index in range(len(lines))]
        legend_above(figure, handles, lines, width)
    return figure


def _line(axes: Any, points: Sequence[DepthPoint], index: int, lines: int) -> None:
    """Draw one curve, shifted so that intervals do not overlap."""
    aside = 1.03 ** (index - (lines - 1) / 2)
    places = [point.depth * aside for point in points]
    means = [Estimate(point.mean, point.interval) for point in points]
    interval_line(axes, places, means, index, size=4, linewidth=1, alpha=0.6)


def _depth_marks(axes: Any, depths: Sequence[int], width: float) -> None:
    """Mark the depths; where there is no room for all, the first, the last and those between that
    are far enough apart.
    """
    room = 0.42 / max(0.5, width - 0.7) * max(0.1, log10(depths[-1] / depths[0]))
    kept = [depths[-1]]
    for depth in reversed(depths[:-1]):
        if log10(kept[-1] / depth) >= room:
            kept.append(depth)
    axes.set_xticks(kept, [str(depth) for depth in kept])
    axes.set_xticks([], minor=True)


def depth_caption(results: Sequence[Result]) -> str:
    """Describe the figure, with the ends of its curves."""
    return (
        "nDCG@10 by how many of BM25's candidates are re-ranked, with intervals over trainings and "
        "queries (of one training seed over queries); models trained on BM25's negatives. A model "
        "that was trained well loses nothing by more candidates. A curve ends at the deepest of "
        "the depths for which half the queries have candidates."
        + _ends(curves_by_model(results), lambda result: short(result.facts))
    )


def negatives_caption(results: Sequence[Result]) -> str:
    """Describe the figure, with the ends of its curves."""
    found = compared_curves(results)
    return (
        "The same models trained on different sets, with intervals over trainings and queries (of "
        "one training seed over queries)."
        + _ends(found, lambda result: f"{short(result.facts)}, {set_name(result.facts)}")
    )


def _ends(found: Curves, name: Callable[[Result], str]) -> str:
    if not found or len(found) > MOST_NAMED:
        return ""
    parts = []
    for result, curve in found:
        first, last = curve.points[0], curve.points[-1]
        parts.append(
            f"{name(result)} on {result.split}: {decimal(first.mean)} at {first.depth}, "
            f"{decimal(last.mean)} at {last.depth}"
        )
    return f" {'; '.join(parts)}."


def logged(results: Sequence[Result]) -> list[tuple[Result, TrainingCurve]]:
    """Return the training logs of models that have several training sets."""
    curves = [
        (r, curve)
        for r, curve in of_type(results, TrainingCurve)
        if r.facts.role in (RERANKER, RETRIEVER)
    ]
    several = {short(r.facts) for r, _ in curves if r.facts.variant != REGENERATED}
    return [(r, curve) for r, curve in curves if short(r.facts) in several]


def telemetry_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Draw pairwise accuracy and score margin by training step: a row per model, a line per
    training set and seed.

    Raises:
        InputError: no model with several training sets.
    """
    found = required(logged(results), "trainings of a model on several training sets")
    models, lines = distinct(short(r.facts) for r, _ in found), _sets(r.facts for r, _ in found)
    across = 2 if width > 2 * 2.4 else 1
    keys = [(model, name) for model in models for name in SERIES]
    down = -(-len(keys) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.2 * down)
        grid = list(figure.subplots(down, across, squeeze=False, sharex=True).flat)
        for place, (axes, (model, name)) in enumerate(zip(grid, keys, strict=True)):
            for result, curve in found:
                if short(result.facts) == model:
                    _logged_line(axes, curve, name, lines.index(set_name(result.facts)))
            axes.set_title(wrap(f"{SERIES[name]}, {model}", characters(width / across)))
            axes.xaxis.set_major_locator(tick_places(width / across))
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(keys))
        under_all(figure, "Training step", width)
        legend_above(figure, [series_handle(index) for index in range(len(lines))], lines, width)
    return figure


def _logged_line(axes: Any, curve: TrainingCurve, name: str, index: int) -> None:
    values = curve.series.get(name, ())
    shown = [
        (step, value) for step, value in zip(curve.steps, values, strict=False) if value is not None
    ]
    axes.plot(
        [step for step, _ in shown],
        [value for _, value in shown],
        markersize=3.5,
        **series_looks(index),
    )


def telemetry_caption(results: Sequence[Result]) -> str:
    """Describe the figure."""
    facts: list[Facts] = distinct(result.facts for result, _ in logged(results))
    seeds = len(distinct(of.seed for of in facts))
    repeated = f" {seeds} lines a set: one a seed." if seeds > 1 else ""
    return (
        "Share of training triples whose clicked passage scored higher, and by how much on "
        f"average, since the point before.{repeated}"
    )


# -- sections --------------------------------------------------------------------------------------


FIGURES = {
    "depth": FigureKind(curves_by_model, depth_figure, depth_caption, "y"),
    "negatives": FigureKind(compared_curves, negatives_figure, negatives_caption, "y"),
    "telemetry": FigureKind(logged, telemetry_figure, telemetry_caption),
}


def tripclick_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Return the figures of a study that its results support, by name."""
    return figures_of(FIGURES, results, width=width)


def _figures(*names: str) -> dict[str, FigureKind]:
    return {f"tripclick-{name}": FIGURES[name] for name in names}


def _effectiveness(study: Study) -> Block:
    results, published = study.results, study.published
    shown = (reranking_table(results, published), retrieval_table(results, published))
    return block_of(
        study, _figures("depth"), shown, (first_stage_tests_table(results), depths_table(results))
    )


def _negatives(study: Study) -> Block:
    shown = [make(study.results) for make in (sets_table, telemetry_table, negatives_table)]
    return block_of(study, _figures("negatives", "telemetry"), shown)


PART = Part(
    sections=(
        PageSection(
            "tripclick",
            "Re-ranking and retrieval on clicks",
            "Every re-ranker reorders the same candidates of BM25; dense retrieval searches the "
            "whole collection, through an index that can miss passages where the table says so. "
            "Each test is judged by its own set of judgements.",
            each(_effectiveness),
        ),
        PageSection(
            "tripclick-negatives",
            "What models were trained on",
            "Results that nobody clicked may well be relevant. What speaks for such false "
            "negatives in a training set, by the paper: pairs are ordered rightly less often in "
            "training, by smaller margins, and a model ranks worse the more candidates it "
            "re-ranks.",
            each(_negatives),
        ),
    ),
    tiles=tripclick_tiles,
    measures=(SETS, TELEMETRY, CURVES),
    is_of=lambda results: bool(tripclick_systems(results)),
    comparisons=own_comparisons,
    published=published_of,
    after_study=("tripclick",),
    after_report=("tripclick",),
)
