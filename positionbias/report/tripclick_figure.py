"""Effectiveness against re-ranking depth, by model and by training set; and what was seen in training, by training set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from positionbias.core.formatting import decimal
from positionbias.report.captions import MOST_NAMED
from positionbias.report.drawing import (
    interval_line,
    legend_above,
    letters,
    new_figure,
    required,
    series_handle,
    series_looks,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import WIDE, styled
from positionbias.results.payloads import TrainingCurve
from positionbias.results.points import Estimate
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, of_type
from positionbias.results.tripclick import REGENERATED, RERANKER, RETRIEVER, DepthCurve, DepthPoint, set_name, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "compared_curves",
    "curves_by_model",
    "depth_caption",
    "depth_figure",
    "logged",
    "negatives_caption",
    "negatives_figure",
    "telemetry_caption",
    "telemetry_figure",
]

ACROSS = 2.9  # inches of a panel
Curves = list[tuple[Result, DepthCurve]]
SERIES = {"pair accuracy": "Pairwise accuracy", "score margin": "Score margin"}


def curves_by_model(results: Sequence[Result]) -> Curves:
    """The depth curves of models trained on BM25's negatives."""
    return [(r, curve) for r, curve in of_type(results, DepthCurve) if r.facts.variant == REGENERATED]


def compared_curves(results: Sequence[Result]) -> Curves:
    """The depth curves of models that were trained on several sets, all of them."""
    curves = of_type(results, DepthCurve)
    several = {short(r.facts) for r, _ in curves if r.facts.variant != REGENERATED}
    return [(r, curve) for r, curve in curves if short(r.facts) in several]


def depth_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """A panel a test, a line a model: nDCG@10 against re-ranking depth, on a logarithmic axis, with intervals.

    Raises:
        InputError: no depth curve.
    """
    found = required(curves_by_model(results), "nDCG@10 by re-ranking depth")
    lines = distinct(short(result.facts) for result, _ in found)
    panels: dict[str, Curves] = {}
    for result, curve in found:
        panels.setdefault(result.split, []).append((result, curve))
    return _curves(panels, lines, lambda result: short(result.facts), width)


def negatives_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """A panel a model and test, a line a training set.

    Raises:
        InputError: no model with several training sets.
    """
    found = required(compared_curves(results), "depth curves of a model with several training sets")
    several = len(distinct(result.split for result, _ in found)) > 1
    panels: dict[str, Curves] = {}
    for result, curve in found:
        panels.setdefault(short(result.facts) + (f", {result.split}" if several else ""), []).append((result, curve))
    return _curves(panels, _sets(result.facts for result, _ in found), lambda result: set_name(result.facts), width)


def _sets(every: Iterable[Facts]) -> list[str]:
    """Training sets in words, BM25's first."""
    return sorted(distinct(set_name(facts) for facts in every), key=lambda name: name != REGENERATED)


def _curves(panels: Mapping[str, Curves], lines: Sequence[str], line: Callable[[Result], str], width: float) -> Figure:
    across = min(len(panels), max(1, int(width / ACROSS)))
    down = -(-len(panels) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.5 * down)
        grid = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        depths = sorted({point.depth for curves in panels.values() for _, curve in curves for point in curve.points})
        for place, (axes, (title, curves)) in enumerate(zip(grid, panels.items(), strict=False)):
            for result, curve in curves:
                _line(axes, curve.points, lines.index(line(result)), len(lines))
            axes.set_xscale("log")
            _depth_marks(axes, depths, width / across)
            axes.set_title(wrap(title, letters(width / across)))
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
    """One curve; a little aside, so that no interval hides another."""
    aside = 1.03 ** (index - (lines - 1) / 2)
    places = [point.depth * aside for point in points]
    means = [Estimate(point.mean, point.interval) for point in points]
    interval_line(axes, places, means, index, size=4, linewidth=1, alpha=0.6)


def _depth_marks(axes: Any, depths: Sequence[int], width: float) -> None:
    """Depths as they are; where there is no room for all, the first, the last and those between that are far enough apart."""
    from math import log10

    room = 0.42 / max(0.5, width - 0.7) * max(0.1, log10(depths[-1] / depths[0]))
    kept = [depths[-1]]
    for depth in reversed(depths[:-1]):
        if log10(kept[-1] / depth) >= room:
            kept.append(depth)
    axes.set_xticks(kept, [str(depth) for depth in kept])
    axes.set_xticks([], minor=True)


def depth_caption(results: Sequence[Result]) -> str:
    """What the figure shows, with the ends of its curves."""
    return (
        "nDCG@10 by how many of BM25's candidates are re-ranked, with intervals over trainings and queries (of one training seed over queries); models trained on BM25's negatives. A model that was "
        "trained well loses nothing by more candidates. A curve ends at the deepest of the depths for which half the queries have candidates."
        + _ends(curves_by_model(results), lambda result: short(result.facts))
    )


def negatives_caption(results: Sequence[Result]) -> str:
    """What the figure shows, with the ends of its curves."""
    found = compared_curves(results)
    return (
        "The same models trained on different sets, with intervals over trainings and queries (of one training seed over queries)."
        + _ends(found, lambda result: f"{short(result.facts)}, {set_name(result.facts)}")
    )


def _ends(found: Curves, name: Callable[[Result], str]) -> str:
    if not found or len(found) > MOST_NAMED:
        return ""
    parts = []
    for result, curve in found:
        first, last = curve.points[0], curve.points[-1]
        parts.append(
            f"{name(result)} on {result.split}: {decimal(first.mean)} at {first.depth}, {decimal(last.mean)} at {last.depth}"
        )
    return f" {'; '.join(parts)}."


def logged(results: Sequence[Result]) -> list[tuple[Result, TrainingCurve]]:
    """What was logged in the trainings of models that have several training sets."""
    curves = [(r, curve) for r, curve in of_type(results, TrainingCurve) if r.facts.role in (RERANKER, RETRIEVER)]
    several = {short(r.facts) for r, _ in curves if r.facts.variant != REGENERATED}
    return [(r, curve) for r, curve in curves if short(r.facts) in several]


def telemetry_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """A row a model: pairwise accuracy and score margin by training step, a line a training set and seed.

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
            axes.set_title(wrap(f"{SERIES[name]}, {model}", letters(width / across)))
            axes.xaxis.set_major_locator(tick_places(width / across))
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(keys))
        under_all(figure, "Training step", width)
        legend_above(figure, [series_handle(index) for index in range(len(lines))], lines, width)
    return figure


def _logged_line(axes: Any, curve: TrainingCurve, name: str, index: int) -> None:
    values = curve.series.get(name, ())
    shown = [(step, value) for step, value in zip(curve.steps, values, strict=False) if value is not None]
    axes.plot([step for step, _ in shown], [value for _, value in shown], markersize=3.5, **series_looks(index))


def telemetry_caption(results: Sequence[Result]) -> str:
    """What the figure shows."""
    facts: list[Facts] = distinct(result.facts for result, _ in logged(results))
    seeds = len(distinct(of.seed for of in facts))
    repeated = f" {seeds} lines a set: one a seed." if seeds > 1 else ""
    return f"Share of training triples whose clicked passage scored higher, and by how much on average, since the point before.{repeated}"
