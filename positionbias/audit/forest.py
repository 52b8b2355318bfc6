"""Forest plots of an audit: effects of the manipulations with their intervals, for one system or
several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from positionbias.audit.plots import BESIDE
from positionbias.audit.select import Series, System, series_of, system_of
from positionbias.audit.verdict_words import (
    CONTRASTS,
    SUBSET_NAMES,
    bounds_of_effect,
    compared_effects,
    deciding_subset,
    in_words,
    margin_in,
    margins,
    shown_effects,
    verdicts_of,
)
from positionbias.core.formatting import MINUS, NBSP
from positionbias.report.drawing import (
    band_handle,
    characters,
    legend_above,
    line_handle,
    new_figure,
    required,
    wrap,
)
from positionbias.report.figure import BAND, INK, MUTED, WIDE, styled
from positionbias.results.audit import DEVIATIONS, WORTH
from positionbias.results.payloads import Contrast, Effect, Verdict
from positionbias.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CARD", "compare_figure", "effects_figure", "has_effects"]

CARD = 4.4  # inches: a forest plot beside a verdict's words
# panels side by side: the grid's columns that one, two or three panels share
MOST_ACROSS, COLUMNS = 3, 6
EM_SPACE = "\u2003"  # several ordinary spaces would be drawn as one
ROW = 0.4  # inches: a row of a system's own forest plot


def has_effects(results: Sequence[Result]) -> bool:
    """Return True if any manipulation's effect can be drawn."""
    return bool(compared_effects(results))


def compare_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw every system's effects with their intervals: a panel per contrast, a row per system.

    The grey band is the margin, where it is in the panel's unit. Panels in one unit share their
    scale.

    Raises:
        InputError: no effect among the results.
    """
    panels = list(compared_effects(results).items())
    required(panels, "an effect of moved evidence")
    series, columns = series_of(results), MOST_ACROSS if width > BESIDE else 1
    of_scores = [panel for panel in panels if panel[0][1] in (WORTH, DEVIATIONS)]
    others = [panel for panel in panels if panel not in of_scores]
    lines = [
        part[at : at + columns]
        for part in (of_scores, others)
        for at in range(0, len(part), columns)
    ]
    shown = [
        [system for system in series if any(system in found for _, found in line)] for line in lines
    ]
    room = max(10, int(characters(width) * (0.3 if columns > 1 else 0.4)))
    names = [[wrap(series[system].label, room) for system in rows] for rows in shown]
    # inches
    row = max(0.27, 0.16 * max(name.count("\n") + 1 for line in names for name in line) + 0.06)
    same: dict[str, Axes] = {}
    with styled():
        figure = new_figure(width, 0.8 + sum(0.95 + row * len(rows) for rows in shown))
        grid = figure.add_gridspec(
            len(lines), COLUMNS, height_ratios=[0.1 + row * len(rows) for rows in shown]
        )
        for down, (line, rows, labels) in enumerate(zip(lines, shown, names, strict=True)):
            span, first = COLUMNS // len(line), None
            for across, ((contrast, unit), found) in enumerate(line):
                place = grid[down, across * span : (across + 1) * span]
                axes = figure.add_subplot(place, sharex=same.get(unit), sharey=first)
                same.setdefault(unit, axes)
                _band(axes, [_margin(results, system, contrast, unit) for system in rows])
                axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
                for at, system in enumerate(rows):
                    if system in found:
                        _effect(axes, found[system], at, series[system])
                words, panel = CONTRASTS[contrast], width / len(line)
                title = words.name.replace(f" {MINUS} ", f"{NBSP}{MINUS}{NBSP}")
                axes.set_title(wrap(title[:1].upper() + title[1:], characters(panel + 0.4)))
                axes.set_xlabel(
                    f"← {words.below}{EM_SPACE}{words.above} →\n"
                    f"{wrap(in_words(unit), characters(panel + 0.8))}"
                )
                _plain(axes, unit, (width - 0.088 * room) / len(line))
                if first is None:
                    first = axes
                    axes.set_yticks(range(len(rows)), labels)
                    axes.set_ylim(len(rows) - 0.4, -0.6)
                axes.tick_params(axis="y", labelleft=first is axes)
        handles = [line_handle(MUTED.light, "-", marker="o", markersize=5)]
        texts = ["effect with its 95 % interval"]
        if found_margins := margins(verdict for _, verdict in verdicts_of(results)):
            handles.append(band_handle())
            texts.append(f"margin: ±{' or ±'.join(found_margins)}")
        legend_above(figure, handles, texts, width)
    return figure


def effects_figure(
    results: Sequence[Result], *, system: System | None = None, width: float = CARD
) -> Figure:
    """Draw one system's effects with their intervals, a row per contrast; by default those of the
    first system that has any.

    If a system does not read all texts to the end, a hollow point is the effect over all of them.
    The scale has room for all systems' effects.

    Raises:
        InputError: no effect of this system among the results.
    """
    systems = [system_of(result) for result, verdict in verdicts_of(results) if verdict.effects]
    system = system or next(iter(systems), None)
    own = [
        (result, verdict) for result, verdict in verdicts_of(results) if system_of(result) == system
    ]
    rows = required(
        [row for _, verdict in own for row in _rows(verdict)], "an effect of moved evidence"
    )
    panels = [(unit, list(group)) for unit, group in groupby(rows, key=lambda row: row[0].unit)]
    assert system is not None
    series = series_of(results)[system]
    with styled():
        figure = new_figure(width, 0.15 + sum(0.6 + ROW * len(shown) for _, shown in panels))
        heights = [len(shown) + 0.3 for _, shown in panels]
        grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (unit, shown) in zip(grid, panels, strict=True):
            _band(axes, [margin for _, margin, _ in shown])
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for row, (effect, _, beside) in enumerate(shown):
                _effect(axes, effect, row, series, hollow=beside)
                words = CONTRASTS[effect.contrast]
                title = words.name + (f", {SUBSET_NAMES[effect.subset]}" if beside else "")
                axes.text(
                    0.01,
                    row - 0.32,
                    title,
                    transform=axes.get_yaxis_transform(),
                    fontsize=9,
                    color=MUTED.light,
                )
                axes.text(
                    1.02,
                    row,
                    f"{words.above} →",
                    transform=axes.get_yaxis_transform(),
                    fontsize=9.5,
                    va="center",
                )
            axes.set_yticks(
                range(len(shown)),
                [f"← {CONTRASTS[effect.contrast].below}" for effect, _, _ in shown],
            )
            axes.set_ylim(len(shown) - 0.6, -0.75)
            axes.set_xlim(*_limits(unit, results))
            of_candidates = "deviations of a query's candidate scores"
            axes.set_xlabel(
                wrap(of_candidates if unit == DEVIATIONS else in_words(unit), characters(width))
            )
            _plain(axes, unit, width - 1.4)
    return figure


def _margin(
    results: Sequence[Result], system: System, contrast: Contrast, unit: str
) -> float | None:
    """Return the margin in this unit of this contrast's verdict."""
    own = [verdict for result, verdict in verdicts_of(results) if system_of(result) == system]
    found = [
        margin_in(verdict, unit)
        for verdict in own
        if any(effect.contrast == contrast for effect in verdict.effects)
    ]
    return next((margin for margin in found if margin is not None), None)


def _rows(verdict: Verdict) -> list[tuple[Effect, float | None, bool]]:
    """Return the effects in a system's own plot, each with its margin and whether the verdict uses
    other queries.
    """
    subset = deciding_subset(verdict)
    rows = [
        (effect, margin_in(verdict, effect.unit), effect.subset != subset)
        for effect in shown_effects(verdict)
    ]
    return sorted(rows, key=lambda row: row[0].unit != rows[0][0].unit)


def _limits(unit: str, results: Iterable[Result]) -> tuple[float, float]:
    """Return the limits of an axis: they include 0, the margin, and every effect in this unit with
    its interval.
    """
    ends = [0.0]
    for _, verdict in verdicts_of(results):
        for effect, margin, _ in _rows(verdict):
            if effect.unit == unit:
                bounds = bounds_of_effect(effect)
                ends += [effect.value or 0.0, *((bounds.low, bounds.high) if bounds else ())]
                ends += [margin, -margin] if margin is not None else []
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def _band(axes: Axes, by_row: Sequence[float | None]) -> None:
    """Draw the margin behind the rows; rows with the same margin share one band."""
    at = 0
    for margin, group in groupby(by_row):
        size = len(list(group))
        if margin is not None:
            ends = [at - 0.5 if at else -1.0, at + size - (0.5 if at + size < len(by_row) else 0.0)]
            axes.fill_betweenx(
                ends, -margin, margin, color=BAND.light, alpha=0.45, linewidth=0, zorder=0
            )
        at += size


def _effect(axes: Axes, effect: Effect, row: int, series: Series, *, hollow: bool = False) -> None:
    bounds, colour = bounds_of_effect(effect), series.colour
    if bounds is not None:
        axes.plot(
            [bounds.low, bounds.high],
            [row, row],
            color=colour,
            linewidth=1.8,
            solid_capstyle="butt",
        )
    face = {"markerfacecolor": "none", "markeredgewidth": 1.6} if hollow else {}
    marker, place = series.marker or "o", ([effect.value], [row])
    looks = {"color": colour, "marker": marker, "markersize": 5.5, "linestyle": "none", **face}
    axes.plot(*place, **looks)  # type: ignore[arg-type]


def _plain(axes: Axes, unit: str, width: float) -> None:
    """Draw lines and marks for the axis of numbers, ``width`` inches wide, and none for that of
    names.
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    if unit == WORTH:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=f"{NBSP}%"))

    axes.grid(False, axis="y")
    axes.grid(True, axis="x")
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=max(2, int(1.6 * width)), steps=[1, 2, 5, 10]))
    axes.tick_params(axis="y", length=0, labelcolor=INK.light)
