"""Page of a contamination study: the paper's Tables 1 and 2, inflation, levels, inheritance,
training sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.contamination.cards import add_suspicions
from positionbias.contamination.tiles import suspicion_tiles
from positionbias.core.formatting import decimal, interval, with_interval
from positionbias.core.schema import converted
from positionbias.evaluation.letters import LEVEL, is_significant
from positionbias.evaluation.significance import BONFERRONI, HOLM
from positionbias.papers.contamination import (
    BEYOND,
    CONTAMINATION,
    DOSES,
    INHERITED,
    SETS,
    STANDARD,
    TRAINED,
    Beyond,
    DosePoint,
    Doses,
    Inherited,
    TeacherSet,
    Trainings,
    clean_of,
    clean_systems,
    comparisons_along,
    distilled,
    first_stages,
    inflations,
    is_contamination_test,
    largest_shares,
    target_of,
    targets_of,
)
from positionbias.papers.contamination.tiles import contamination_tiles
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
    MARKERS,
    characters,
    colour_of,
    interval_line,
    legend_above,
    line_handle,
    new_figure,
    required,
    series_handle,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import INK, WIDE, styled
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.report.published import Published, SideBySide
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import Comparison
from positionbias.results.points import Point
from positionbias.results.published import read_cells
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, distinct, model_name, of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CELLS",
    "PART",
    "contamination_figures",
    "doses_caption",
    "doses_figure",
    "inflation_caption",
    "inflation_figure",
    "published_of",
]

PAPER = "Training on the Test Model: Contamination in Ranking Distillation (2024)"
PRETRAINED = {"bert_cat": "ELECTRA", "bert_dot": "BERT"}
# the paper's figures, without its marks of significance; a source there is a whole test collection
CELLS = tuple(
    replace(cell, facts=replace(cell.facts, share=1.0 if cell.facts.source else None))
    for cell in read_cells(Path(__file__).with_name("cells.csv"))
)
LOSSES = {
    "lce": "LCE",
    "margin_mse": "MarginMSE",
    "kl": "KL\u00a0div.",
    "ranknet": "RankNet",
    "hinge": "hinge",
    "pointwise": "pointwise",
}
# Tables 1 and 2
DAGGER, DOUBLE = "†", "‡"  # uncorrected, and after Holm's correction
EMPTY = Cell("")
Key = tuple[str, str, Facts]  # target, measure, system
# figures
# inches of a panel: in a row as long as it comes, and in a row of all targets
ACROSS, LEAST = 2.6, 1.9
# of a point's ``parts``
PARTS = ("all queries of the target", "queries whose judgements were seen", "the other queries")
ROLES = ("teacher", "student")


def loss_name(facts: Facts) -> str:
    """Return a loss as the paper writes it."""
    return LOSSES.get(facts.loss, facts.loss)


def system_label(facts: Facts) -> str:
    """Return a system's label without its contamination, for a row or a panel."""
    return f"{facts.role} {short_label(facts)}"


def short_label(facts: Facts) -> str:
    """Return ``system_label`` without the role: a teacher's loss is never a student's."""
    return f"{model_name(facts)}, {loss_name(facts)}"


# -- Tables 1 and 2 --------------------------------------------------------------------------------


def published_of(results: Sequence[Result]) -> Published | None:
    """Return the paper's cells, for those targets that are its own by name."""
    names = {target: name for target in targets_of(results) if (name := target_of(target))}
    return Published(PAPER, CELLS, names, PRETRAINED) if names else None


def _marks(results: Sequence[Result], axis: str) -> dict[Key, str]:
    """Mark each figure whose comparison along this axis is significant, before and after
    correction.
    """
    found = {}
    for result, payload in comparisons_along(results, axis):
        corrected = payload.p_adjusted.get(HOLM)
        mark = DOUBLE if is_significant(corrected) else DAGGER if is_significant(payload.p) else ""
        found[result.split, result.measure, result.facts] = mark
    return found


class _Rows:
    """Rows of one of the paper's tables, ours and its own."""

    def __init__(
        self,
        results: Sequence[Result],
        published: Published | None,
        table: int,
        axis: str,
        stub: Sequence[str],
    ) -> None:
        self.values = {(r.split, r.measure, r.facts): r for r in distilled(results)}
        self.published, self.table, self.marks = published, table, _marks(results, axis)
        self.rows = SideBySide(*stub)

    def add(self, stub: Sequence[str], keys: Sequence[Key], *, intervals: bool = False) -> None:
        """Add a row of ours, and one of the paper's where it prints any of it."""
        ours = [self._ours(key, intervals) for key in keys]
        if any(cell.value is not None for cell in ours):
            self.rows.add(stub, ours, [self._theirs(key) for key in keys])

    def _ours(self, key: Key, intervals: bool) -> Cell:
        result = self.values.get(key)
        if result is None:
            return EMPTY
        cell = decimal_cell(result.value, result.interval, letters=self.marks.get(key, ""))
        return cell if intervals else cell.briefly()

    def _theirs(self, key: Key) -> Cell:
        target, measure, facts = key
        cell = (
            self.published.find(self.table, target, measure, facts=facts)
            if self.published
            else None
        )
        return decimal_cell(cell.value) if cell else EMPTY

    def make(self, name: str, title: str, columns: Sequence[Column], notes: Sequence[str]) -> Table:
        """Return the table, with a note on what is published."""
        began = "; ".join(
            f"beside {MODELS.get(model, model)} stands a model that began with {what}"
            for model, what in PRETRAINED.items()
        )
        printed = (
            f"Published: {PAPER}; its marks of significance are left out. Ours is another "
            f"experiment, not a repetition of it: {began}."
        )
        return self.rows.table(name, title, columns, notes, printed)


def contamination_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return Table 1: every teacher and student by target and measure; a contaminated row's figures
    are of its own source.
    """
    targets, measures = (
        targets_of(results),
        distinct(result.measure for result in distilled(results)),
    )
    columns = [Column(measure, target) for target in targets for measure in measures]
    rows = _Rows(results, published, 1, STANDARD, ("Role", "Model", "Loss", "Contaminated"))
    first = first_stages(results)
    if first:
        cells = [first.get((target, measure)) for target in targets for measure in measures]
        plain = [decimal_cell(result.value) if result else EMPTY for result in cells]
        rows.rows.add(("BM25", "", "", ""), plain)
    largest = largest_shares(result.facts for result in distilled(results))
    for facts in clean_systems(results):
        stub = (facts.role, model_name(facts), loss_name(facts))
        rows.add(
            (*stub, "no"), [(target, measure, facts) for target in targets for measure in measures]
        )
        own = {target: replace(facts, source=target) for target in targets}
        own |= {of.source: of for of in largest if clean_of(of) == facts}
        keys = [(target, measure, own[target]) for target in targets for measure in measures]
        shares = distinct(f"{of.share:g}" for of in own.values() if of.share not in (None, 1.0))
        rows.add((*stub, "yes" + (f", share {' / '.join(shares)}" if shares else "")), keys)
    notes = (
        "A contaminated teacher was trained on the judgements of the target in whose column it "
        "stands, beside its other training data; a contaminated student was distilled from it and "
        "saw none of them. BM25 is what all of them re-rank.",
        f"Against the clean teacher: {DAGGER} p < {LEVEL:g}, uncorrected as in the paper; "
        f"{DOUBLE} p < {LEVEL:g} after Holm's correction over all of a measure.",
        P_NOTE,
        f"A query's value is its mean over training seeds. {OVER_NOTE}",
    )
    return rows.make(
        "contamination", "Effectiveness with clean and with contaminated teachers", columns, notes
    )


def sources_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Return Table 2: every student and its teacher, on every target by the teacher's source; the
    paper's use KL.
    """
    targets, measures = (
        targets_of(results),
        distinct(result.measure for result in distilled(results)),
    )
    rows = _Rows(
        results, published, 2, CONTAMINATION, ("Role", "Model", "Loss", "Source of contamination")
    )
    largest = largest_shares(result.facts for result in distilled(results))
    for facts in clean_systems(results):
        kept = [
            of
            for target in targets
            for of in largest
            if of.source == target and clean_of(of) == facts
        ]
        for of in (facts, *kept) if kept else ():
            stub = (facts.role, model_name(facts), loss_name(facts), of.source or "none")
            rows.add(stub, [(target, measures[0], of) for target in targets], intervals=True)
    columns = [Column(target, f"{measures[0]} [95\u00a0%]") for target in targets]
    notes = (
        f"Against the same system with nothing contaminated: {DAGGER} p < {LEVEL:g}, uncorrected; "
        f"{DOUBLE} after Holm's correction, over all systems on the targets that contaminated "
        "them, and over all on the other targets.",
        f"{P_NOTE} {OVER_NOTE}",
    )
    return rows.make("contamination-sources", "Contamination source and target", columns, notes)


# -- further tables --------------------------------------------------------------------------------


def _system(facts: Facts, more: str = "") -> list[Cell]:
    return [
        text_cell(facts.role),
        text_cell(model_name(facts)),
        text_cell(f"{loss_name(facts)}{more}"),
    ]


def _tests(
    found: Sequence[tuple[Result, Comparison]],
    name: str,
    title: str,
    heads: tuple[str, str],
    notes: Sequence[str],
) -> Table:
    rows = [
        [
            text_cell(result.measure),
            text_cell(result.split),
            *_system(
                result.facts,
                ", contaminated" if result.facts.source and name == "standard-teacher" else "",
            ),
            *comparison_cells(payload, HOLM, BONFERRONI),
            text_cell(", ".join(decimal(value, sign=True) for value in payload.noted.by_seed)),
            count_cell(result.count),
        ]
        for result, payload in found
    ]
    columns = [
        Column(text, numeric=False) for text in ("Measure", "Target", "Role", "Model", "Loss")
    ]
    columns += [Column(heads[0]), Column(heads[1])]
    columns += [Column(level_heading("Difference", (p.difference_interval for _, p in found)))]
    columns += [
        Column(text, wide=text not in ("p", "p Holm"))
        for text in ("Effect size", "p", "p Holm", "p Bonferroni", "p Student's t")
    ]
    columns += [Column("Seed by seed", numeric=False, wide=True), Column("Queries", wide=True)]
    if not any(row[-2].text for row in rows):
        drop_columns(columns, rows, [len(columns) - 2])
    effect = (
        "Effect size: the mean difference over the deviation of the differences (d_z). " + OVER_NOTE
    )
    return Table(name, title, columns, rows, [*notes, effect, P_NOTE], stub=5)


def inflation_table(results: Sequence[Result]) -> Table:
    """Return every contaminated system against its clean paired model on its source, with the
    largest share.
    """
    notes = (
        (
            "The paired clean model has the same role, model, loss and seeds, so that the "
            "difference is what contamination itself makes."
        ),
        OVER_NOTE,
    )
    tests = _in_order(inflations(results))
    return _tests(
        tests,
        "inflation",
        "Inflation: contaminated against clean",
        ("Clean", "Contaminated"),
        notes,
    )


def standard_table(results: Sequence[Result]) -> Table:
    """Return the tests behind the marks of Table 1: every system against the clean teacher."""
    notes = ("Contaminated systems on what contaminated them alone.",)
    tests = _in_order(comparisons_along(results, STANDARD))
    return _tests(
        tests, "standard-teacher", "Against the clean teacher", ("Clean teacher", "Mean"), notes
    )


def _in_order(tests: Sequence[tuple[Result, Comparison]]) -> list[tuple[Result, Comparison]]:
    """Sort by measure and target, in order of appearance."""
    measures, targets = distinct(r.measure for r, _ in tests), distinct(r.split for r, _ in tests)
    return sorted(
        tests, key=lambda item: (measures.index(item[0].measure), targets.index(item[0].split))
    )


def inherited_table(results: Sequence[Result]) -> Table:
    """Return each student's share of its teacher's inflation."""
    found = of_type(results, Inherited)
    measures, targets = (
        distinct(of.measure for _, of in found),
        distinct(result.split for result, _ in found),
    )
    found.sort(key=lambda item: (measures.index(item[1].measure), targets.index(item[0].split)))
    rows = [
        [
            text_cell(of.measure),
            text_cell(result.split),
            *_system(result.facts)[1:],
            decimal_cell(of.teacher, sign=True),
            decimal_cell(of.student, sign=True),
            percent_cell(result.value, result.interval, sign=False)
            if result.interval
            else Cell("not defined"),
            count_cell(result.count),
        ]
        for result, of in found
    ]
    columns = [Column(text, numeric=False) for text in ("Measure", "Target", "Student", "Loss")]
    columns += [Column("Teacher's change"), Column("Student's change")]
    columns += [
        Column(level_heading("Share inherited", (result.interval for result, _ in found))),
        Column("Queries"),
    ]
    notes = (
        "Change: contaminated less clean. Share: the student's over the teacher's, with Fieller's "
        "interval of one training seed, of three or more a t interval over trainings and queries; "
        "not defined where the teacher's own change cannot be told from 0.",
    )
    return Table(
        "inherited",
        "What a student inherits of its teacher's inflation",
        columns,
        rows,
        notes,
        stub=4,
    )


def beyond_table(results: Sequence[Result]) -> Table:
    """Return the effect of contamination where judgements were seen, less that on each other
    target.
    """
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
    columns = [
        Column(text, numeric=False)
        for text in ("Contaminated with", "Role", "Model", "Loss", "Other target")
    ]
    columns += [Column(f"Change of {measure}, seen"), Column("Change, other target")]
    columns.append(Column(level_heading("Difference", (result.interval for result, _ in found))))
    notes = (
        "Judgements of a target are more training data too, which may help on any: what they add "
        "beyond that shows as a difference. Welch's interval, over the queries of both.",
    )
    return Table(
        "beyond", "Inflation beyond the change on other targets", columns, rows, notes, stub=5
    )


def doses_table(results: Sequence[Result]) -> Table:
    """Return inflation at each share: on all queries of the target, on the seen and on the
    others.
    """
    found = of_type(results, Doses)
    sets = {
        (result.facts.source, result.facts.share): result.value
        for result, _ in of_type(results, TeacherSet)
    }
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
        (
            "Contaminated less clean, on the target that contaminated; a query is seen where its "
            "judgements were in the teacher's training set."
        ),
    )
    return Table("doses", "Inflation by contaminated share", columns, rows, notes, stub=5)


def _part(point: Point | None) -> tuple[Cell, Cell]:
    if point is None:
        return Cell(""), count_cell(0)
    return decimal_cell(point.mean, point.interval, sign=True), count_cell(point.queries)


def sets_table(results: Sequence[Result]) -> Table:
    """Return how much of each teacher's training set was of a target."""
    found = [(result, of.to_rows()) for result, of in of_type(results, TeacherSet)]
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
    columns = [
        Column("Source", numeric=False),
        Column("Share of queries"),
        *(Column(key.capitalize()) for key in keys),
    ]
    columns.append(Column("Share of groups"))
    return Table("contaminated-sets", "The teachers' training sets", columns, body, (), stub=2)


def trained_table(results: Sequence[Result]) -> Table:
    """Return how long each teacher and student trained, what stopped it, and its validation where
    there was one.
    """
    found = [(result, of.to_rows()) for result, of in of_type(results, Trainings)]
    keys = distinct(key for _, rows in found for key in rows)
    body = [
        [
            *_system(result.facts),
            text_cell(result.facts.source or "none"),
            decimal_cell(result.facts.share or 0.0, places=2),
            *(
                any_cell(
                    ", ".join(
                        "–" if one is None else str(one)
                        for one in distinct(converted(list[Any], values))
                    )
                )
                for values in rows.values()
            ),
            decimal_cell(result.value),
        ]
        for result, rows in found
    ]
    columns = [
        Column(text, numeric=False) for text in ("Role", "Model", "Loss", "Contaminated with")
    ]
    columns += [
        Column("Share"),
        *(Column(key.capitalize(), numeric=False) for key in keys),
        Column("Validation nDCG@10"),
    ]
    return Table(
        "distillation-trainings",
        "The trainings",
        columns,
        body,
        ("Values over the training seeds.",),
        stub=5,
    )


# -- figures ---------------------------------------------------------------------------------------


def inflated(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return contaminated systems against clean paired models on their source, in the first
    measure, with the largest share.
    """
    found = inflations(results)
    return [(result, payload) for result, payload in found if result.measure == found[0][0].measure]


def inflation_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw contaminated less clean with its interval: a panel per target, a row per teacher or
    student.

    Raises:
        InputError: no comparison of a contaminated system with its paired clean model.
    """
    found = required(inflated(results), "a contaminated system beside its paired clean model")
    targets = distinct(result.split for result, _ in found)
    rows = distinct(
        short_label(result.facts)
        for result, _ in sorted(found, key=lambda item: ROLES.index(item[0].facts.role))
    )
    across = min(len(targets), max(1, int((width - 1.6) / 1.5)))
    down = -(-len(targets) // across)
    room = max(12, int(characters(width) * 0.3))
    each = max(0.3, 0.17 * max(wrap(name, room).count("\n") + 1 for name in rows))
    with styled():
        figure = new_figure(width, 1.0 + down * (0.4 + each * len(rows)))
        panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        for axes, target in zip(panels, targets, strict=False):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for result, payload in found:
                if result.split == target:
                    _forest(
                        axes,
                        payload,
                        rows.index(short_label(result.facts)),
                        ROLES.index(result.facts.role),
                    )
            axes.set_yticks(range(len(rows)), [wrap(name, room) for name in rows])
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(False)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
            axes.xaxis.set_major_locator(tick_places((width - 1.6) / across))
            axes.set_title(target)
        for place, axes in enumerate(panels[: len(targets)]):
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(targets))
        for axes in panels[len(targets) :]:
            axes.set_axis_off()
        under_all(
            figure, f"Change of {found[0][0].measure} by contamination with the target", width
        )
        handles = [line_handle(colour_of(i), "-", marker=MARKERS[i]) for i in range(len(ROLES))]
        legend_above(
            figure, handles, ["teacher that saw the judgements", "student that did not"], width
        )
    return figure


def _forest(axes: Any, payload: Comparison, at: float, role: int) -> None:
    if (bounds := payload.difference_interval) is not None:
        axes.plot(
            [bounds.low, bounds.high],
            [at, at],
            color=colour_of(role),
            linewidth=1.8,
            solid_capstyle="butt",
        )
    axes.plot(
        [payload.difference],
        [at],
        color=colour_of(role),
        marker=MARKERS[role],
        markersize=5.5,
        linestyle="none",
    )


def inflation_caption(results: Sequence[Result]) -> str:
    """Describe the figure in numbers."""
    found = inflated(results)
    parts = [
        f"{r.split}, {system_label(r.facts)}: "
        + with_interval(
            decimal(p.difference, sign=True), interval(p.difference_interval, sign=True)
        )
        for r, p in found
        if len(found) <= MOST_NAMED
    ]
    measure = found[0][0].measure if found else ""
    return (
        f"{measure} with a teacher that saw the target's judgements, less that with one that did "
        "not, with intervals over trainings and queries (of one training seed over queries)."
        + (f" {'; '.join(parts)}." if parts else "")
    )


def dosed(results: Sequence[Result]) -> list[tuple[Result, Doses]]:
    """Return inflation at each share by system and target, where there are several shares."""
    return [(result, doses) for result, doses in of_type(results, Doses) if len(doses.points) > 1]


def doses_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw contaminated less clean by the share of queries seen: a panel per system and target, a
    line per part of its queries.

    Raises:
        InputError: no system with several shares of a target.
    """
    found = required(dosed(results), "inflation at several shares of a target's queries")
    systems = distinct(
        clean_of(r.facts)
        for r, _ in sorted(found, key=lambda item: ROLES.index(item[0].facts.role))
    )
    targets = distinct(result.split for result, _ in found)
    found = sorted(
        found,
        key=lambda item: (systems.index(clean_of(item[0].facts)), targets.index(item[0].split)),
    )
    several = len(targets) > 1
    # a column per target where there is room, so that systems can be compared down the page
    whole = several and len(found) == len(systems) * len(targets) and len(targets) * LEAST <= width
    across = len(targets) if whole else min(len(found), max(1, int(width / ACROSS)))
    down = -(-len(found) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.4 * down)
        panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        for axes, (result, doses) in zip(panels, found, strict=False):
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
            shares = [point.share for point in doses.points]
            gap = min(after - before for before, after in pairwise(shares))
            for index in range(len(PARTS)):
                _dose_line(axes, doses.points, index, 0.12 * gap * (index - 1))
            title = system_label(result.facts) + (f", {result.split}" if several else "")
            axes.set_title(wrap(title, characters(width / across)))
            axes.set_xticks(shares, [f"{share:g}" for share in shares])
        for place, axes in enumerate(panels[: len(found)]):
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(found))
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        for axes in panels[: len(found) : across]:
            axes.set_ylabel(f"Change of {found[0][1].measure}")
        under_all(figure, "Share of the target's queries whose judgements the teacher saw", width)
        handles = [series_handle(index) for index in range(len(PARTS))]
        legend_above(figure, handles, PARTS, width)
    return figure


def _dose_line(axes: Any, points: Sequence[DosePoint], part: int, aside: float) -> None:
    """Draw one part of the queries, shifted so that intervals do not overlap."""
    shown = [(point.share + aside, of) for point in points if (of := point.parts[part]) is not None]
    interval_line(axes, [at for at, _ in shown], [of for _, of in shown], part)


def doses_caption(results: Sequence[Result]) -> str:
    """Describe the figure, with the change on all queries at the smallest and the largest share."""
    parts, found = [], dosed(results)
    for result, doses in found if len(found) <= MOST_NAMED else ():
        both = (doses.points[0], doses.points[-1])
        ends = ", ".join(
            f"{decimal(point.every.mean, sign=True)} with {point.share:g}" for point in both
        )
        parts.append(f"{system_label(result.facts)} on {result.split}: {ends}")
    return (
        "What contamination changes by the share of the target's queries whose judgements the "
        "teacher saw, with intervals over trainings and queries (of one training seed over "
        "queries). A smaller share is the beginning of a larger "
        "one." + (f" {'; '.join(parts)}." if parts else "")
    )


# -- the section -----------------------------------------------------------------------------------


FIGURES = {
    "inflation": FigureKind(inflated, inflation_figure, inflation_caption, "x"),
    "doses": FigureKind(dosed, doses_figure, doses_caption, "y"),
}


def _contamination(study: Study) -> Block:
    results, published = study.results, study.published
    if not distilled(results):
        return block_of(study)
    tables = [
        contamination_table(results, published),
        sources_table(results, published),
        inflation_table(results),
    ]
    tables += [
        inherited_table(results),
        beyond_table(results),
        sets_table(results),
        trained_table(results),
    ]
    figures = {"inflation": FIGURES["inflation"], "contamination-doses": FIGURES["doses"]}
    return block_of(study, figures, tables, [standard_table(results), doses_table(results)])


def contamination_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Return every figure of a contamination study that the results support, by name."""
    return figures_of(FIGURES, results, width=width)


PART = Part(
    sections=(
        PageSection(
            "contamination",
            "Teachers that saw the test, and their students",
            "Each contaminated teacher was trained on a target's own judgements beside its other "
            "training data; its students were trained on its scores alone. What a contaminated "
            "system gains on that target over its paired clean model is inflation: it says nothing "
            "of other queries.",
            each(_contamination),
        ),
    ),
    tiles=lambda results: [*suspicion_tiles(results), *contamination_tiles(results)],
    found=add_suspicions,
    measures=(SETS, DOSES, INHERITED, BEYOND, TRAINED),
    is_of=lambda results: bool(distilled(results)),
    comparisons=lambda results: filter(is_contamination_test, results),
    published=published_of,
    after_study=("contamination",),
    after_report=("contamination",),
)
