"""Figures of an audit by position: quality by answer place, within lengths, and by movement; thirds
of a passage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from positionbias.audit.select import (
    SCALE_NAMES,
    Series,
    bucket_labels,
    described_group,
    main_quality,
    of_audit,
    query_buckets,
    series_of,
    system_of,
)
from positionbias.core.formatting import count
from positionbias.report.drawing import (
    characters,
    legend_above,
    line_handle,
    new_figure,
    required,
    under_all,
    wrap,
)
from positionbias.report.figure import INK, MUTED, WIDE, styled
from positionbias.results.buckets import (
    GAIN,
    MOVEMENT,
    PSI,
    SEGMENTS,
    PositionBuckets,
    SegmentBuckets,
)
from positionbias.results.result import Result
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "gain_figure",
    "grid_of",
    "length_figure",
    "line_with_band",
    "movement_figure",
    "quality_figure",
    "segment_figure",
    "series_legend",
]

TOGETHER = 3  # systems whose bands are distinguishable in one panel; more get a panel each
BESIDE = 4.5  # minimum width in inches for two panels side by side
PANEL = 2.1  # inches: the height of one of several panels, with its title
BAND_ALPHA = 0.16

Found = Sequence[tuple[Result, PositionBuckets]]


def quality_figure(
    results: Sequence[Result],
    *,
    scale: str = "relative",
    quality: str | None = None,
    width: float = WIDE,
) -> Figure:
    """Draw quality by where the answer starts, with its interval, a line per system; the first
    stage in grey.

    More than three systems get a panel each, so that bands do not overlap; the first stage appears
    in every panel. ``scale`` is "relative" (share of the passage) or "characters". ``quality``
    defaults to nDCG@10.

    Raises:
        InputError: no such buckets among the results.
    """
    quality = quality or main_quality(results)
    group = described_group(results)
    found = required(
        query_buckets(results, PSI, scale=scale, quality=quality, group=group),
        f"{quality} by bucket ({scale})",
    )
    series = series_of(results)
    models = [(r, p) for r, p in found if not series[system_of(r)].first_stage]
    first = [(r, p) for r, p in found if series[system_of(r)].first_stage]
    panels = (
        [[one, *_of_same_test(first, one[0])] for one in models]
        if len(models) > TOGETHER
        else [found]
    )
    with styled():
        figure, grid = grid_of(len(panels), width, PANEL if len(panels) > 1 else 2.6)
        for axes, shown in zip(grid, panels, strict=True):
            for result, payload in shown:
                line_with_band(
                    axes,
                    _places(payload),
                    payload.means,
                    payload.lows,
                    payload.highs,
                    series[system_of(result)],
                )
            if len(panels) > 1:
                axes.set_title(
                    wrap(
                        series[system_of(shown[0][0])].label,
                        characters(width / (2 if width > BESIDE else 1)),
                    )
                )
        _mark_buckets(figure, grid, found[0][1], width)
        for axes in grid:
            first_column = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
            axes.set_ylabel(quality if first_column else "")
        titled = first if len(panels) > 1 else found  # a panel's title is its system's name
        series_legend(figure, [series[system_of(r)] for r, _ in titled], width)
    return figure


def _of_same_test(first: Found, result: Result) -> Found:
    """Return the first stage on the test set of ``result``; one figure may hold several
    collections.
    """
    return [(r, p) for r, p in first if system_of(r)[1:] == system_of(result)[1:]]


def length_figure(
    results: Sequence[Result],
    *,
    scale: str = "relative",
    quality: str | None = None,
    width: float = WIDE,
) -> Figure:
    """Draw quality by where the answer starts, a panel per group of similar length, to separate
    length from position.

    Raises:
        InputError: no buckets of a length group among the results.
    """
    quality = quality or main_quality(results)
    found = [
        (r, p) for r, p in query_buckets(results, PSI, scale=scale, quality=quality) if p.group
    ]
    # a panel without values is left out
    filled = [p.group for _, p in found if any(mean is not None for mean in p.means)]
    found = [(r, p) for r, p in found if p.group in filled]
    found = required(found, f"{quality} by bucket ({scale}) within length groups")
    series, groups = series_of(results), distinct(p.group for _, p in found)
    with styled():
        figure, grid = grid_of(len(groups), width, PANEL)
        for axes, group in zip(grid, groups, strict=True):
            shown = [(r, p) for r, p in found if p.group == group]
            for result, payload in shown:
                values = payload.means, payload.lows, payload.highs
                line_with_band(
                    axes,
                    _places(payload),
                    *values,
                    series[system_of(result)],
                    band=len(shown) <= TOGETHER + 1,
                )
            axes.set_title(wrap(group, characters(width / (2 if width > BESIDE else 1))))
        _mark_buckets(figure, grid, found[0][1], width)
        for axes in grid:
            first_column = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
            axes.set_ylabel(quality if first_column else "")
        series_legend(figure, [series[system_of(r)] for r, _ in found], width)
    return figure


def movement_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw the change under rotation by how far it moved the answer: left of 0 to the front, right
    of 0 to the back.

    Raises:
        InputError: no rotation gap by movement among the results.
    """
    found = required(query_buckets(results, MOVEMENT), f"a {MOVEMENT}")
    figure, grid = _change_figure(
        results, found, "Movement of the answer: below 0 to the front, above 0 to the back", width
    )
    for axes in grid:
        axes.axvline(0, color=MUTED.light, linewidth=0.8, zorder=1)
        axes.set_xlim(-1, 1)
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "+0.5", "+1"])
    return figure


def gain_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw each system's gain over the first stage, by where the answer starts.

    Raises:
        InputError: no gain by position among the results.
    """
    found = required(query_buckets(results, GAIN), f"a {GAIN}")
    figure, grid = _change_figure(
        results, found, f"Start of the answer ({SCALE_NAMES[found[0][1].scale]})", width
    )
    if found[0][1].scale == "relative":
        for axes in grid:
            axes.set_xlim(0, 1)
    return figure


def _change_figure(
    results: Sequence[Result], found: Found, below: str, width: float
) -> tuple[Figure, list[Axes]]:
    """Draw differences by bucket with their bands, around a line at 0; many systems have a panel
    each.
    """
    series = series_of(results)
    panels = [[one] for one in found] if len(found) > TOGETHER else [found]
    with styled():
        figure, grid = grid_of(len(panels), width, PANEL if len(panels) > 1 else 2.6)
        for axes, shown in zip(grid, panels, strict=True):
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
            for result, payload in shown:
                line_with_band(
                    axes,
                    _places(payload),
                    payload.means,
                    payload.lows,
                    payload.highs,
                    series[system_of(result)],
                )
            if len(panels) > 1:
                axes.set_title(
                    wrap(
                        series[system_of(shown[0][0])].label,
                        characters(width / (2 if width > BESIDE else 1)),
                    )
                )
        for axes in grid:
            quality = found[0][1].quality
            first_column = axes.get_subplotspec().is_first_col()  # type: ignore[union-attr]
            axes.set_ylabel(quality[:1].upper() + quality[1:] if first_column else "")
        under_all(figure, below, width)
        series_legend(
            figure, [series[system_of(r)] for r, _ in found] if len(panels) == 1 else [], width
        )
    return figure, grid


def segment_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw the similarity of a passage's vector to those of its first, middle and last third, a
    line per model.

    Raises:
        InputError: no segment similarity among the results.
    """
    found = required(of_audit(results, SegmentBuckets), SEGMENTS)
    series = series_of(results)
    with styled():
        figure, (axes,) = grid_of(1, width, 2.4)
        for number, (result, payload) in enumerate(found):
            # side by side, so that intervals do not overlap
            shift = 0.06 * (number - (len(found) - 1) / 2)
            places = [place + shift for place in range(len(payload.means))]
            _points(axes, places, payload, series[system_of(result)])
        names = bucket_labels(found[0][1])
        axes.set_xticks(
            range(len(names)), [wrap(name, 12) if width < BESIDE else name for name in names]
        )
        axes.set_xlim(-0.4, len(names) - 0.6)
        axes.set_ylabel(
            f"{found[0][1].quality[:1].upper()}{found[0][1].quality[1:]} with the passage"
        )
        series_legend(figure, [series[system_of(r)] for r, _ in found], width)
    return figure


def grid_of(panels: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return this many panels with shared axes, two side by side where there is room; ``height`` is
    a panel's, in inches.
    """
    across = 2 if panels > 1 and width > BESIDE else 1
    down = math.ceil(panels / across)
    figure = new_figure(width, 1.0 + height * down)
    every = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat)
    for axes in every[panels:]:
        axes.set_axis_off()
    # the lowest panel of each column has the axis label
    for axes in every[max(0, panels - across) : panels]:
        axes.xaxis.set_tick_params(labelbottom=True)
    return figure, every[:panels]


def line_with_band(
    axes: Axes,
    places: Sequence[float],
    values: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    series: Series,
    *,
    band: bool = True,
) -> None:
    """Draw one line with its interval as a band, broken where a value is missing. The first stage,
    a reference, has no band.
    """
    line, low, high = (
        [math.nan if v is None else v for v in part] for part in (values, lows, highs)
    )
    if band and not series.first_stage:
        axes.fill_between(places, low, high, color=series.colour, alpha=BAND_ALPHA, linewidth=0)
        _lone_bands(axes, places, low, high, series)
    width = 1.3 if series.first_stage else 1.6
    axes.plot(
        places,
        line,
        color=series.colour,
        linestyle=series.dash,
        linewidth=width,
        marker=series.marker or ".",
        markersize=3.5,
        zorder=2 if series.first_stage else 3,
    )


def _lone_bands(
    axes: Axes, places: Sequence[float], low: Sequence[float], high: Sequence[float], series: Series
) -> None:
    """Draw an upright line for each value without neighbours, as a band needs two."""
    for index, place in enumerate(places):
        beside = [low[i] for i in (index - 1, index + 1) if 0 <= i < len(low)]
        if not math.isnan(low[index]) and all(math.isnan(value) for value in beside):
            axes.plot(
                [place, place],
                [low[index], high[index]],
                color=series.colour,
                linewidth=1.2,
                solid_capstyle="butt",
            )


def _points(axes: Axes, places: Sequence[float], payload: PositionBuckets, series: Series) -> None:
    line = [math.nan if value is None else value for value in payload.means]
    for place, low, high in zip(places, payload.lows, payload.highs, strict=True):
        if low is not None and high is not None:
            axes.plot(
                [place, place],
                [low, high],
                color=series.colour,
                linewidth=1.6,
                solid_capstyle="butt",
            )
    axes.plot(
        places,
        line,
        color=series.colour,
        linestyle=series.dash,
        linewidth=1.2,
        marker=series.marker,
        markersize=5,
    )


def _places(payload: PositionBuckets) -> list[float]:
    """Return where each bucket's value is drawn: in its middle; buckets in characters, of unequal
    widths, are evenly spaced.
    """
    if payload.scale == "characters":
        return [float(index) for index in range(len(payload.means))]
    return [(low + high) / 2 for low, high in pairwise(payload.edges)]


def _mark_buckets(
    figure: Figure, grid: Sequence[Axes], payload: PositionBuckets, width: float
) -> None:
    """Label the axis of positions."""
    if payload.scale == "characters":
        panel = width / 2 if len(grid) > 1 and width > BESIDE else width
        names = [f"{count(low)}–{count(high)}" for low, high in pairwise(payload.edges)]
        crowded = len(names) * max(map(len, names)) * 0.085 > panel - 0.8
        shown = [name.replace("–", "–\n") for name in names] if crowded else names
        grid[0].set_xticks(range(len(names)), shown)
        grid[0].set_xlim(-0.5, len(names) - 0.5)
        under_all(figure, "Start of the answer in characters", width)
        return
    grid[0].set_xlim(payload.edges[0], payload.edges[-1])
    if (payload.edges[0], payload.edges[-1]) == (0, 1):
        grid[0].set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    under_all(figure, "Start of the answer: 0 first word, 1 last possible start", width)


def series_legend(figure: Figure, shown: Sequence[Series], width: float) -> None:
    """Draw a legend of each system, by its colour, dash and marker; captions explain the bands."""
    every = distinct(shown)
    if not every:
        return
    handles = [
        line_handle(s.colour, s.dash, marker=s.marker or ".", markersize=4.5, linewidth=1.6)
        for s in every
    ]
    legend_above(figure, handles, [s.full_label for s in every], width)
