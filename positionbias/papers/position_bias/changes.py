"""Draw the changes by rotation of the test passages: by model, and over studies by their
collection's front-loading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from positionbias.core.formatting import interval, percent, with_interval
from positionbias.core.json_text import JsonObject
from positionbias.papers.position_bias.doses import (
    LIMIT,
    Point,
    change_lines,
    line_handles,
    no_change,
)
from positionbias.report.captions import MOST_NAMED
from positionbias.report.drawing import (
    DASHES,
    MARKERS,
    band_handle,
    characters,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    percent_marks,
    required,
    under_all,
    wrap,
)
from positionbias.report.figure import BAND, INK, MUTED, WIDE, styled
from positionbias.report.load import Study
from positionbias.results.collections import PassageFigures
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result
from positionbias.results.select import (
    ALL_QUERIES,
    BASELINES,
    comparisons,
    distinct,
    labels,
    of_type,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "change_caption",
    "changes_of_models",
    "front_loading_caption",
    "front_loading_figure",
    "front_loading_of",
    "relative_change",
]


def changes_of_models(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return the comparisons of the two test sets, without those of baselines."""
    return [
        (result, payload)
        for result, payload in comparisons(results, "test sets")
        if result.system not in BASELINES
    ]


def relative_change(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw plain relative change from original to rotated test passages with intervals: a panel per
    measure, a row per model.

    Lines mark 0 and ± ``LIMIT``; a marker's shape shows the set of queries. Baselines are left out,
    as a position-only scorer loses so much that the models' changes would not be visible.

    Raises:
        InputError: no comparison of test sets among the results.
    """
    changed = [
        (result, payload)
        for result, payload in changes_of_models(results)
        if payload.relative is not None
    ]
    found = required(changed, "a comparison of test sets with a relative change of a model")
    measures, subsets = distinct(r.measure for r, _ in found), distinct(p.subset for _, p in found)
    names = labels([result for result, _ in found])
    rows = distinct(names)
    room = max(10, int(characters(width) * 0.4))
    # inches a row
    each = max(
        0.16 + 0.17 * len(subsets),
        0.15 * max(wrap(name, room).count("\n") + 1 for name in rows) + 0.05,
    )
    with styled():
        figure = new_figure(width, 1.0 + len(measures) * (0.42 + each * len(rows)))
        column = figure.subplots(len(measures), 1, sharex=True, squeeze=False)[:, 0]
        for axes, measure in zip(column, measures, strict=True):
            shown = [(n, p) for n, (r, p) in zip(names, found, strict=True) if r.measure == measure]
            for name, payload in shown:
                shape = subsets.index(payload.subset)
                offset = 0.32 * (shape - (len(subsets) - 1) / 2)
                _forest_point(
                    axes,
                    payload,
                    rows.index(name) + offset,
                    colour_of(rows.index(name)),
                    MARKERS[shape % len(MARKERS)],
                )
            axes.axvspan(-LIMIT, LIMIT, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for edge in (-LIMIT, LIMIT):
                axes.axvline(edge, color=MUTED.light, linewidth=0.8, linestyle=DASHES[2], zorder=1)
            axes.set_yticks(range(len(rows)), [wrap(name, room) for name in rows])
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(False)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
            axes.set_title(measure)
        percent_marks(column[-1].xaxis, width, sign=True)
        under_all(figure, "Change from original to rotated test passages", width)
        handles = [
            line_handle(MUTED.light, "none", marker=MARKERS[i % len(MARKERS)])
            for i in range(len(subsets))
        ]
        legend_above(
            figure, [*handles, band_handle()], [*subsets, f"within ±{percent(LIMIT, 0)}"], width
        )
    return figure


def _forest_point(axes: Axes, payload: Comparison, at: float, colour: str, marker: str) -> None:
    bounds = payload.relative_interval
    if bounds is not None:
        axes.plot(
            [bounds.low, bounds.high], [at, at], color=colour, linewidth=1.8, solid_capstyle="butt"
        )
    axes.plot(
        [payload.relative or 0.0],
        [at],
        color=colour,
        marker=marker,
        markersize=5.5,
        linestyle="none",
    )


def front_loading_figure(
    by_dose: Mapping[float, Sequence[Result]],
    *,
    measure: str = "nDCG@10",
    subset: str = ALL_QUERIES,
    width: float = WIDE,
) -> Figure:
    """Draw plain relative change on rotated test passages against the collection's front-loading, a
    line per model.

    ``by_dose`` has each level's Results. Several seeds at a level are points side by side; the line
    joins their means.

    Raises:
        InputError: no comparison of test sets with this measure and subset.
    """
    points: dict[str, dict[float, list[Point]]] = {}
    for dose, results in sorted(by_dose.items()):
        for result, payload in comparisons(results, "test sets", subset=subset, measures=[measure]):
            if payload.relative is not None and result.system not in BASELINES:
                found = points.setdefault(result.system, {}).setdefault(dose, [])
                found.append(Point(payload.relative, payload.relative_interval))
    names = required(list(points), f"a comparison of test sets in {measure} over {subset}")
    doses = sorted(by_dose)
    gap = min((after - before for before, after in pairwise(doses)), default=1.0)
    with styled():
        figure = new_figure(width, 3.4)
        axes = figure.subplots()
        no_change(axes)
        change_lines(axes, points, gap, names)
        axes.set_xticks(doses)
        axes.set_xlabel("Front-loading of the collection")
        axes.set_ylabel(f"Change in {measure}")
        percent_marks(axes.yaxis, sign=True)
        legend_above(
            figure,
            [*line_handles(names), band_handle()],
            [*names, f"within ±{percent(LIMIT, 0)}"],
            width,
        )
    return figure


def change_caption(results: Sequence[Result]) -> str:
    """Give each model's plain relative change in the first measure, unless there are too many
    models.
    """
    found = changes_of_models(results)
    first = next((result.measure for result, _ in found), None)
    parts = []
    for subset in distinct(payload.subset for _, payload in found):
        shown = [(r, p) for r, p in found if r.measure == first and p.subset == subset]
        if len(shown) > MOST_NAMED:
            continue
        values = (
            label
            + " "
            + with_interval(
                percent(p.relative, sign=True),
                interval(p.relative_interval, as_percent=True, sign=True),
            )
            for (_, p), label in zip(shown, labels([r for r, _ in shown]), strict=True)
        )
        parts.append(f"{first} over {subset}: {'; '.join(values)}.")
    if len(found) < len(comparisons(results, "test sets")):
        parts.append("Baselines are only in the tables.")
    return " ".join(
        ["Change in effectiveness when the test passages are rotated, with its interval.", *parts]
    )


def front_loading_caption(doses: Sequence[float], measure: str) -> str:
    """Name the front-loading levels in the figure."""
    listed = ", ".join(f"{dose:g}" for dose in doses)
    return (
        f"Change in {measure} on rotated test passages against the front-loading that was set "
        f"({listed})."
    )


def front_loading_of(study: Study) -> float | None:
    """Return the front-loading of the study's collection, from its manifest or the collection's
    own.
    """
    origins = [figures.manifest.settings for _, figures in of_type(study.results, PassageFigures)]
    return next(
        (dose for dose in map(_search, (study.manifest.settings, *origins)) if dose is not None),
        None,
    )


def _search(settings: JsonObject) -> float | None:
    for key, value in settings.items():
        if (
            key.replace("-", "_") == "front_loading"
            and isinstance(value, int | float)
            and not isinstance(value, bool)
        ):
            return float(value)
        if isinstance(value, Mapping) and (found := _search(value)) is not None:
            return found
    return None
