"""Page of pools: figures, captions and sections on kinds' finds, effects of pools of one kind on
others, one new run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.formatting import count, decimal, interval, percent, slug, with_interval
from positionbias.papers.pooling import PAPER, PublishedTask
from positionbias.papers.pooling.tiles import pool_tiles
from positionbias.pooling.tables import (
    agreement_table,
    bias_table,
    comparisons_table,
    coverage_data,
    curve_data,
    effects_table,
    left_out_by_kind_table,
    left_out_runs_table,
    left_out_table,
    order_table,
    relabelled_table,
    scatter_data,
    task_table,
    verdict_table,
)
from positionbias.pooling.text import task_sentences
from positionbias.report.blocks import Block, FigureKind
from positionbias.report.drawing import (
    DASHES,
    MARKERS,
    characters,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    required,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import INK, MUTED, SERIES, WIDE, styled
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.pool_verdict import ScoreFigures, UnjudgedFigures
from positionbias.results.pools import (
    ALL,
    ChangeFigures,
    Contrast,
    CoverageFigures,
    CurveFigures,
    OnePoolFigures,
    OrderFigures,
    PoolFigures,
    TaskFigures,
    by_contrast,
    by_measure,
    by_task,
    is_of_pools,
    measures_in,
    pools_in,
    tests_in,
)
from positionbias.results.published import read_cells
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CELLS", "PART", "pool_figures", "published_of"]

BESIDE = 4.5  # minimum width in inches for two panels side by side
MIXED = "v"  # the marker beyond mixed pools: of no kind
COUNTED = ("in the kind's pool", "in no other kind's pool")
AXES = {"depth": "Pool depth", "groups": "Groups that feed a pool"}
CELLS = read_cells(Path(__file__).with_name("cells.csv"))
# of one task's results, with what the paper prints
Tables = Callable[[list[Result], Published | None], Sequence[Table]]


@dataclass(frozen=True, slots=True)
class KindLooks:
    """A kind of system's look in every figure."""

    colour: str
    marker: str
    dash: Any


def looks_of(results: Sequence[Result]) -> dict[str, KindLooks]:
    """Return each kind's looks, in the order of the task's table of systems; of several tasks, of
    the first one's.
    """
    kinds = [kind for _, task in of_type(results, TaskFigures) for kind in task.kinds]
    return {
        kind: KindLooks(
            colour_of(index), MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)]
        )
        for index, kind in enumerate(distinct(kinds))
    }


def coverage_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Relevant documents in each kind's depth-k pool against k, in all and in no other kind's: a
    row of panels a task.

    Raises:
        InputError: no coverage among the results.
    """
    required(of_type(results, CoverageFigures), "relevant documents by pool depth")
    tasks = {
        task: [own for _, own in of_type(of_task, CoverageFigures)]
        for task, of_task in by_task(results).items()
    }
    tasks = {task: found for task, found in tasks.items() if found}
    looks = looks_of(results)
    across = 2 if width > BESIDE else 1
    panels = [(task, number, words) for task in tasks for number, words in enumerate(COUNTED)]
    with styled():
        figure = new_figure(width, 0.85 + 2.4 * len(panels) // across)
        grid = figure.subplots(len(panels) // across, across, squeeze=False)
        for axes, (task, number, words) in zip(grid.flat, panels, strict=True):
            for own in tasks[task]:
                counts = (own.found_by_depth, own.unique_by_depth)[number]
                axes.plot(
                    own.depths, counts, color=looks[own.kind].colour, linestyle=looks[own.kind].dash
                )
            title = f"Relevant, {words}" if len(tasks) == 1 else f"{task}: {words}"
            axes.set_title(wrap(title, characters(width / across + 0.3)))
            axes.set_ylim(bottom=0)
            axes.set_xlim(left=0)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            # the depth that counts by query are kept for
            axes.axvline(tasks[task][0].depth, color=MUTED.light, linewidth=0.8, zorder=1)
        for row in grid[:, 0]:
            row.set_ylabel("Documents")
        under_all(figure, "Pool depth", width)
        kinds = [
            kind
            for kind in looks
            if any(own.kind == kind for found in tasks.values() for own in found)
        ]
        legend_above(
            figure,
            [line_handle(looks[kind].colour, looks[kind].dash) for kind in kinds],
            kinds,
            width,
        )
    return figure


def scatter_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Each test system's score by the judgements of one pool against that by gold; a panel a pool
    kind and measure, the line of equal scores.

    ``results`` are of one task.

    Raises:
        InputError: no points of one pool among the results.
    """
    found = required(of_type(results, OnePoolFigures), "the points of one pool")
    looks = looks_of(results)
    pools, measures = pools_in(found), measures_in(found)
    by_key = {(own.measure, own.pool): own for _, own in found}
    keys = [(measure, pool) for measure in measures for pool in pools]
    across = len(pools) if width > BESIDE and len(pools) < 4 else 1
    tall = min(3.1, (width - 0.5) / across)
    with styled():
        figure = new_figure(width, 0.75 + (tall + 0.15) * -(-len(keys) // across))
        grid = list(figure.subplots(-(-len(keys) // across), across, squeeze=False).flat)
        for axes, key in zip(grid, keys, strict=True):
            _points(axes, by_key[key], looks)
            axes.set_title(wrap(f"{key[0]}, {key[1]} pool", characters(width / across + 0.3)))
            first_column = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
            axes.set_ylabel("By this pool" if first_column else "")
        under_all(figure, "By the gold judgements", width)
        shown = [
            kind
            for kind in looks
            if any(p.kind == kind for own in by_key.values() for p in own.points)
        ]
        handles = [_dot(looks[kind].colour, looks[kind].marker) for kind in shown]
        names = [f"{kind} runs" for kind in shown]
        legend_above(
            figure,
            [*handles, line_handle(INK.light, "-", linewidth=0.9)],
            [*names, "equal scores"],
            width,
        )
    return figure


def _points(axes: Axes, found: OnePoolFigures, looks: Mapping[str, KindLooks]) -> None:
    for kind, own in looks.items():
        of_kind = [point for point in found.points if point.kind == kind]
        axes.plot(
            [point.gold for point in of_kind],
            [point.estimated for point in of_kind],
            color=own.colour, marker=own.marker, markersize=4.6, linestyle="none", fillstyle="none",
            markeredgewidth=1.2,
        )  # fmt: skip
    values = [value for point in found.points for value in (point.gold, point.estimated)] or [
        0.0,
        1.0,
    ]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.05
    ends = (low - room, high + room)
    axes.plot(ends, ends, color=INK.light, linewidth=0.9, zorder=1)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_aspect("equal")
    axes.grid(True, axis="both")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(tick_places(4.5))


def _dot(colour: str, marker: str, *, full: bool = False) -> Any:
    fill = "full" if full else "none"
    return line_handle(
        colour, "none", marker=marker, markersize=5.5, fillstyle=fill, markeredgewidth=1.2
    )


def bias_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Draw the mean change of score by pool kind and kind of the test systems, for other kinds its
    excess over permuted kinds, beside unseen systems of the pool's own and beyond mixed pools; a
    panel a measure. ``results`` are of one task.

    Raises:
        InputError: no change of scores among the results.
    """
    found = required(of_type(results, ChangeFigures), "a change of scores")
    effects = by_contrast(results)
    looks, measures = looks_of(results), measures_in(found)
    lines = list(dict.fromkeys((own.pool, own.test) for _, own in found if own.test != ALL))
    across = len(measures) if width > BESIDE and len(measures) < 4 else 1
    down = -(-len(measures) // across)
    room = int(characters(width) * (0.32 if across > 1 else 0.42))
    names = [wrap(f"{test} by {pool} pools", room) for pool, test in lines]
    tall = len(lines) * (0.3 + 0.16 * max(name.count("\n") for name in names))
    with styled():
        figure = new_figure(width, 0.85 + down * (0.55 + tall))
        grid = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
        for axes, measure in zip(grid, measures, strict=False):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for result, own in found:
                if own.measure != measure or own.test == ALL:
                    continue
                at, look = lines.index((own.pool, own.test)), looks[own.test]
                _with_interval(axes, result, at - 0.2, look.colour, look.marker, full=True)
                for contrast, lower, marker in zip(
                    Contrast, (0.06, 0.3), (look.marker, MIXED), strict=True
                ):
                    if effect := effects.get((contrast, measure, own.pool, own.test)):
                        _with_interval(axes, effect[0], at + lower, look.colour, marker, full=False)
            axes.set_title(measure)
            axes.xaxis.set_major_locator(tick_places(1.3 * width / across))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:.2f}".replace("-", "−"))
            axes.grid(False, axis="y")
            axes.grid(True, axis="x")
            axes.margins(x=0.08)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
        for axes in grid[len(measures) :]:
            axes.set_axis_off()
        grid[0].set_yticks(range(len(lines)), names)
        grid[0].set_ylim(len(lines) - 0.4, -0.6)
        under_all(figure, "Mean change of score, from gold to a pool's judgements", width)
        handles = [
            _dot(MUTED.light, "o", full=True),
            _dot(MUTED.light, "o"),
            _dot(MUTED.light, MIXED),
        ]
        legend_above(
            figure,
            handles,
            [
                "change",
                "its excess beside unseen runs of the pool's kind",
                "its excess beyond mixed pools",
            ],
            width,
        )
    return figure


def _with_interval(
    axes: Axes, result: Result, at: float, colour: str, marker: str, *, full: bool
) -> None:
    if result.value is None:
        return
    if result.interval is not None:
        ends = [result.interval.low, result.interval.high]
        axes.plot(
            ends,
            [at, at],
            color=colour,
            linewidth=1.8 if full else 1.2,
            solid_capstyle="butt",
            zorder=2,
        )
    fill = (
        {"color": colour}
        if full
        else {"color": colour, "markerfacecolor": "none", "markeredgewidth": 1.2}
    )
    axes.plot(
        [result.value], [at], marker=marker, markersize=5.5, linestyle="none", zorder=3, **fill
    )  # type: ignore[arg-type]


def curves_of(results: Sequence[Result], axis: str) -> list[tuple[Result, CurveFigures]]:
    """Return the curves along "depth" or "groups" that have more than one point."""
    return [
        (result, own)
        for result, own in of_type(results, CurveFigures)
        if own.axis == axis and len(own.at) > 1
    ]


def curve_figure(results: Sequence[Result], axis: str, width: float = WIDE) -> Figure:
    """Draw the mean change of score of each kind of test system by the pools' depth or number of
    groups, with its interval.

    A panel a pool kind and measure; ``results`` are of one task.

    Raises:
        InputError: no such curve among the results.
    """
    from matplotlib.ticker import MaxNLocator

    found = required(curves_of(results, axis), f"a curve by {axis} of pools")
    looks, pools, measures = looks_of(results), pools_in(found), measures_in(found)
    keys = [(measure, pool) for measure in measures for pool in pools]
    across = len(pools) if width > BESIDE and len(pools) < 4 else 1
    down = -(-len(keys) // across)
    tests = [test for test in tests_in(found) if test != ALL]
    with styled():
        figure = new_figure(width, 0.85 + 2.1 * down)
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        for axes, (measure, pool) in zip(grid.flat, keys, strict=False):
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
            for _, own in found:
                if (own.measure, own.pool) == (measure, pool) and own.test in tests:
                    _draw(axes, own, looks[own.test])
            axes.set_title(wrap(f"{measure}, {pool} pools", characters(width / across + 0.3)))
            axes.set_xlim(left=0)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1f}".replace("-", "−"))
        for axes in grid[:, 0]:
            axes.set_ylabel("Change of score")
        under_all(figure, AXES[axis], width)
        handles = [
            line_handle(
                looks[test].colour, looks[test].dash, marker=looks[test].marker, markersize=4
            )
            for test in tests
        ]
        legend_above(figure, handles, [f"{test} runs" for test in tests], width)
    return figure


def _draw(axes: Axes, own: CurveFigures, looks: KindLooks) -> None:
    points = zip(own.at, own.change, own.change_low, own.change_high, strict=True)
    drawn = [(at, change, low, high) for at, change, low, high in points if change is not None]
    at, change = [point[0] for point in drawn], [point[1] for point in drawn]
    axes.plot(
        at, change, color=looks.colour, linestyle=looks.dash, marker=looks.marker, markersize=3.6
    )
    bounds = [(x, low, high) for x, _, low, high in drawn if low is not None and high is not None]
    if bounds:
        places, lows, highs = map(list, zip(*bounds, strict=True))
        axes.fill_between(places, lows, highs, color=looks.colour, alpha=0.16, linewidth=0)


def verdict_figure(results: Sequence[Result], width: float = WIDE) -> Figure:
    """Draw the bounds of every run's score, and the new run's prediction: pooled runs by falling
    score, a panel a measure.

    Raises:
        InputError: no bounds of scores among the results.
    """
    found = required(of_type(results, ScoreFigures), "bounds of scores")
    mine, theirs = SERIES[1].light, SERIES[0].light
    with styled():
        figure = new_figure(width, 0.85 + 2.6 * len(found))
        grid = list(figure.subplots(len(found), 1, squeeze=False).flat)
        for axes, (_, own) in zip(grid, found, strict=True):
            pooled = sorted(own.pooled, key=lambda run: -run.score)
            places = range(1, len(pooled) + 1)
            axes.vlines(
                places,
                [run.low for run in pooled],
                [run.high for run in pooled],
                color=theirs,
                linewidth=1.4,
            )
            scores = [run.score for run in pooled]
            axes.plot(places, scores, color=theirs, marker="o", markersize=2.6, linestyle="none")
            axes.axhspan(own.low, own.high, color=mine, alpha=0.2, linewidth=0)
            if own.predicted_low is not None and own.predicted_high is not None:
                axes.axhspan(
                    own.predicted_low, own.predicted_high, color=mine, alpha=0.35, linewidth=0
                )
            axes.axhline(own.score, color=mine, linewidth=1.4, linestyle=(0, (6, 2)))
            axes.set_title(own.measure)
            axes.set_ylabel("Score")
            axes.set_xlim(0, len(pooled) + 1)
        under_all(figure, "Pooled runs, by falling score", width)
        handles = [
            line_handle(mine, (0, (6, 2))),
            line_handle(theirs, "-", marker="o", markersize=3),
        ]
        legend_above(
            figure,
            handles,
            [
                f"{found[0][0].system}: its score, prediction and bounds",
                "a pooled run: its score and bounds",
            ],
            width,
        )
    return figure


def coverage_caption(results: Sequence[Result]) -> str:
    """Give each kind's number of relevant passages at the marked depth."""
    parts = []
    tasks = by_task(results)
    for task, of_task in tasks.items():
        for _, own in of_type(of_task, CoverageFigures):
            of = f"{task}, " if len(tasks) > 1 else ""
            number, alone = count(own.relevant), count(own.unique)
            parts.append(
                f"{of}{own.kind} ({own.systems} runs of {own.groups} groups): {number}, {alone} of "
                "them in no other kind's pool"
            )
    depth = of_type(results, CoverageFigures)[0][1].depth
    return (
        f"Relevant documents by pool depth. At depth {depth}, the thin line: {'; '.join(parts)}. "
        "Only judged documents count, so curves are understated where they go deeper than what "
        "was judged; and a kind with more runs finds more."
    )


def scatter_caption(results: Sequence[Result]) -> str:
    """Give the three τ of every panel."""
    parts = []
    for _, own in by_measure(of_type(results, OnePoolFigures)):
        taus = ", ".join(f"{test} {decimal(tau)}" for test, tau in own.tau_b.items())
        parts.append(f"{own.measure}, {own.pool} pool: {taus}")
    return (
        "Each test system's score by the judgements of one drawn pool against its score by gold; "
        f"below the line it is underestimated. Kendall's τ: {'; '.join(parts)}."
    )


def bias_caption(results: Sequence[Result]) -> str:
    """Give the change of every kind by pools of another, with intervals."""
    effects = by_contrast(results)
    parts = []
    for result, own in by_measure(of_type(results, ChangeFigures)):
        if own.test in (ALL, own.pool):
            continue
        text = f"{own.test} runs by {own.pool} pools, {own.measure}: {_signed(result)}"
        for contrast in Contrast:
            if effect := effects.get((contrast, own.measure, own.pool, own.test)):
                unseen = f"{own.pool} runs " if contrast is Contrast.UNSEEN else ""
                text += f", {contrast} {unseen}{_signed(effect[0])}"
        parts.append(text)
    return (
        "How far pools of one kind move the scores of systems that did not feed them (left of 0: "
        "underestimated), with 95\u00a0% intervals over groups and queries; hollow: how much more "
        f"than permuted kinds would. Of other kinds than the pools': {'; '.join(parts)}."
    )


def _signed(result: Result) -> str:
    return with_interval(decimal(result.value, sign=True), interval(result.interval, sign=True))


def curve_caption(results: Sequence[Result], axis: str) -> str:
    """Give both ends of each curve of another kind than the pool's."""
    parts = []
    for _, own in by_measure(curves_of(results, axis)):
        if own.test not in (ALL, own.pool):
            ends = [(own.at[place], own.change[place]) for place in (0, -1)]
            shown = ", ".join(f"{decimal(change, sign=True)} at {at}" for at, change in ends)
            parts.append(f"{own.test} runs by {own.pool} pools, {own.measure}: {shown}")
    if axis == "depth":
        what = (
            "Mean change of score by the depth of the pools, against the same gold throughout, "
            "with 95\u00a0% intervals."
        )
    else:
        what = (
            "Mean change of score by the number of groups that feed a pool, with 95\u00a0% "
            "intervals; as groups are drawn, fewer systems are left to test."
        )
    return f"{what} Of other kinds than the pools': {'; '.join(parts)}."


def verdict_caption(results: Sequence[Result]) -> str:
    """Give the new run's score, as predicted and its bounds."""
    parts = []
    for _, own in of_type(results, ScoreFigures):
        predicted = (
            f"{decimal(own.predicted)} predicted ({decimal(own.predicted_low)} to "
            f"{decimal(own.predicted_high)}), "
        )
        parts.append(
            f"{own.measure}: {decimal(own.score)} as judged, "
            f"{'' if own.predicted is None else predicted}{decimal(own.low)} to "
            f"{decimal(own.high)} possible"
        )
    head = next((own for _, own in of_type(results, UnjudgedFigures)), None)
    share = f" {percent(head.share)} of its first {head.depth} are unjudged." if head else ""
    return (
        "The new run (wide band) and every pooled run (bars): all that they can score, whatever "
        "the unjudged documents are; the dark band is the new run's 95\u00a0% prediction "
        f"interval. {'; '.join(parts)}.{share}"
    )


def _has(kind: type[PoolFigures]) -> Callable[[Sequence[Result]], object]:
    return lambda results: of_type(results, kind)


def _curve(axis: str) -> FigureKind:
    return FigureKind(
        partial(curves_of, axis=axis),
        partial(curve_figure, axis=axis),
        partial(curve_caption, axis=axis),
        "y",
    )


FIGURES = {
    "coverage": FigureKind(_has(CoverageFigures), coverage_figure, coverage_caption),
    "scatter": FigureKind(_has(OnePoolFigures), scatter_figure, scatter_caption),
    "bias": FigureKind(_has(ChangeFigures), bias_figure, bias_caption, "x"),
    "depth": _curve("depth"),
    "groups": _curve("groups"),
    "verdict": FigureKind(_has(ScoreFigures), verdict_figure, verdict_caption),
}


def pool_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Return every figure about pools that the results support, by name; ``width`` in inches.

    Names: coverage, scatter, bias, depth, groups, verdict; with several tasks all but the first end
    in ``-TASK``.
    """
    return {
        name: kind.draw(chosen, width=width) for name, kind, chosen in _figures(results, FIGURES)
    }


def _figures(
    results: Sequence[Result], names: Iterable[str]
) -> list[tuple[str, FigureKind, list[Result]]]:
    """Return the figures with these names, of each task; coverage of all tasks in one."""
    tasks = by_task(results)
    found = []
    for name in names:
        every = {name: [result for own in tasks.values() for result in own]}
        parts = (
            every
            if name == "coverage"
            else {_named(name, task, tasks): own for task, own in tasks.items()}
        )
        found += [
            (full, FIGURES[name], own) for full, own in parts.items() if FIGURES[name].there(own)
        ]
    return found


def _named(name: str, task: str, tasks: Collection[str]) -> str:
    return f"{name}-{slug(task)}" if len(tasks) > 1 else name


def _each(
    figures: Sequence[str] = (),
    tables: Tables = lambda results, published: (),
    folded: Tables = lambda results, published: (),
) -> Callable[[Sequence[Study]], list[Block]]:
    """Return what builds blocks of figures, every task's tables, then the folded ones (the figures'
    data).
    """

    def build(study: Study) -> Block:
        block, tasks = Block(study.title, study.number), by_task(study.results)
        for name, kind, chosen in _figures(study.results, figures):
            block.draw(f"pool-{name}", kind, chosen)
        for away, make in ((False, tables), (True, folded)):
            for task, results in tasks.items():
                for table in make(results, study.published):
                    if len(tasks) > 1:
                        table = replace(
                            table,
                            name=_named(table.name, task, tasks),
                            title=f"{table.title}: {task}",
                        )
                    block.add(table, folded=away)
        return block

    return each(build)


def _order_tables(results: list[Result], published: Published | None) -> list[Table]:
    return [
        order_table(results, published),
        *([task_table(results)] if of_type(results, OrderFigures) else []),
    ]


def published_of(results: Sequence[Result]) -> Published | None:
    """Return the paper's cells, for those tasks that are its own."""
    recognised = {result.collection: own.task for result, own in of_type(results, PublishedTask)}
    return Published(PAPER, CELLS, recognised) if recognised else None


PART = Part(
    sections=(
        PageSection(
            "pool-coverage",
            "What each kind of system finds",
            "If the pool of a test collection were made of one kind of system alone, these "
            "relevant documents would be in it.",
            _each(["coverage"], folded=lambda results, _: [coverage_data(results)]),
        ),
        PageSection(
            "pool-order",
            "Do pools of one kind put systems in the right order?",
            "Half of the groups of one kind feed a pool; its judgements rank the systems that did "
            "not feed it, and their order is held against that by the gold judgements. A τ of 1 is "
            "the same order, of 0 an order by chance.",
            _each(
                ["scatter"],
                _order_tables,
                lambda results, _: [agreement_table(results), scatter_data(results)],
            ),
        ),
        PageSection(
            "pool-bias",
            "Whom pools of one kind underestimate",
            "A system that did not feed a pool has documents in it that nobody judged, and they "
            "count as not relevant: every unseen system loses. The pool is unfair to a kind where "
            "it loses more than equally good unseen systems of the pool's own kind do, and more "
            "than it would if kinds were permuted among the groups.",
            _each(["bias"], lambda results, _: [effects_table(results), bias_table(results)]),
        ),
        PageSection(
            "pool-curves",
            "Deeper pools, more groups",
            "What a collection's makers can do about it: judge deeper, or let more groups take "
            "part.",
            _each(
                ["depth", "groups"],
                folded=lambda results, _: [
                    curve_data(results, axis) for axis in ("depth", "groups")
                ],
            ),
        ),
        PageSection(
            "pool-left-out",
            "Each group left out of the pool",
            "The judgements that only one group brought in are removed, and its runs are scored "
            "again: what would have become of them had they come too late.",
            _each(
                tables=lambda results, _: [
                    left_out_by_kind_table(results),
                    left_out_table(results),
                ],
                folded=lambda results, _: [left_out_runs_table(results)],
            ),
        ),
        PageSection(
            "pool-labels",
            "What wrong labels do",
            "Which kind a system is of is often read from a short description.",
            _each(tables=lambda results, _: [relabelled_table(results)]),
        ),
        PageSection(
            "pool-verdict",
            "Can the collection judge this run?",
            "The run did not help to make the pool. What it would score, had it, is predicted from "
            "the pooled runs, each group of which is left out in turn; beside that stand bounds "
            "that hold whatever the unjudged documents are.",
            _each(
                ["verdict"],
                lambda results, _: [verdict_table(results)],
                lambda results, _: [comparisons_table(results)],
            ),
        ),
    ),
    tiles=pool_tiles,
    run=task_sentences,
    is_own=is_of_pools,
    published=published_of,
    after_study=("pool-order", "pool-labels"),
)
