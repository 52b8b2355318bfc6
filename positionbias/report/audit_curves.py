"""Figures of an audit that compare systems: the position response, and every system's effects as points with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.payloads import Interval
from positionbias.core.result import Result
from positionbias.report.audit_plots import BESIDE, line_with_band, series_legend
from positionbias.report.audit_select import (
    GAP,
    PSI,
    RESPONSE,
    System,
    bounds_of,
    buckets,
    curve_of,
    described_group,
    gap_of,
    main_quality,
    of_measure,
    response_slope,
    series_of,
    system_of,
)
from positionbias.report.drawing import legend_above, letters, line_handle, new_figure, required, tick_places, wrap
from positionbias.report.figure import INK, MUTED, WIDE, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Effect", "compare_figure", "effects_of", "response_figure"]


def response_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """What a model makes of the same evidence at each place of its passage: the score with its interval, and the reciprocal rank.

    Raises:
        InputError: no position response among the results.
    """
    found = [(result, curve_of(result)) for result in required(of_measure(results, RESPONSE), f"a {RESPONSE}")]
    series = series_of(results)
    ranked = any(value is not None for _, curve in found for value in curve.ranks)
    panels = 2 if ranked else 1
    across = panels if width > BESIDE else 1
    with styled():
        figure = new_figure(width, 1.0 + 2.3 * (panels // across))
        grid = list(figure.subplots(panels // across, across, squeeze=False).flat)
        grid[0].axhline(0, color=INK.light, linewidth=1, zorder=1)
        for result, curve in found:
            values = curve.scores, curve.score_lows, curve.score_highs
            line_with_band(grid[0], curve.places, *values, series[system_of(result)])
            if ranked:
                none = [None] * len(curve.ranks)
                line_with_band(grid[1], curve.places, curve.ranks, none, none, series[system_of(result)], band=False)
        for axes, title in zip(grid, ("Score", "Reciprocal rank"), strict=False):
            axes.set_title(title)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["first", "", "middle", "", "last"])
            axes.set_xlim(-0.05, 1.05)
        figure.supxlabel(wrap("Place of the answering sentence", letters(width + 0.5)), fontsize=10)
        series_legend(figure, [series[system_of(result)] for result, _ in found], width)
    return figure


class Effect(NamedTuple):
    """One effect size of a system, with its interval where there is one."""

    value: float
    interval: Interval | None


def _debiased(results: Sequence[Result]) -> dict[System, Effect]:
    found = {}
    chosen = buckets(results, PSI, quality=main_quality(results), group=described_group(results))
    for scale in ("characters", "relative"):  # the relative one stands where both were measured
        for result, payload in chosen:
            value = payload.figures.get("psi_debiased")
            if payload.scale == scale and value is not None:
                found[system_of(result)] = Effect(value, bounds_of(payload.figures, "psi_debiased_low", "psi_debiased_high"))
    return found


def _gap(results: Sequence[Result]) -> dict[System, Effect]:
    quality = main_quality(results)
    return {
        system_of(result): Effect(result.value, result.interval)
        for result in of_measure(results, GAP)
        if result.value is not None and gap_of(result).rows.get("quality", quality) == quality
    }


def _slope(results: Sequence[Result]) -> dict[System, Effect]:
    found = {system_of(result): response_slope(result) for result in of_measure(results, RESPONSE)}
    return {system: Effect(value, bounds) for system, (value, bounds) in found.items() if value is not None}


EFFECTS: tuple[tuple[str, Callable[[Sequence[Result]], dict[System, Effect]]], ...] = (
    ("Debiased PSI", _debiased),
    ("Rotation gap", _gap),
    ("Response slope", _slope),
)


def effects_of(results: Sequence[Result]) -> dict[str, dict[System, Effect]]:
    """The effect sizes that systems are compared by: each one's name, and its value and interval by system; only those measured."""
    return {name: found for name, pick in EFFECTS if (found := pick(results))}


def compare_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Every system's effects as points with intervals: a panel an effect, a row a system; 0 is no preference.

    Raises:
        InputError: none of the effects among the results.
    """
    effects = effects_of(results)
    required(list(effects), "PSI, a rotation gap or a position response")
    series = series_of(results)
    rows = [system for system in series if any(system in found for found in effects.values())]
    beside = width > BESIDE
    across, down = (len(effects), 1) if beside else (1, len(effects))
    room = max(10, int(letters(width) * (0.3 if beside else 0.4)))
    names = [wrap(series[system].label, room) for system in rows]
    tall = len(names) * max(0.27, 0.16 * max(name.count("\n") + 1 for name in names) + 0.06)  # inches
    with styled():
        figure = new_figure(width, (1.1 if beside else 0.6) + down * (0.55 + tall))
        grid = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
        for axes, (name, found) in zip(grid, effects.items(), strict=True):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for row, system in enumerate(rows):
                if system in found:
                    _effect(axes, found[system], row, series[system].colour, series[system].marker or "o")
            axes.set_title(wrap(name, letters(width / across + 0.4)))
            axes.xaxis.set_major_locator(tick_places(width / across))
            axes.grid(False, axis="y")
            axes.grid(True, axis="x")
            axes.margins(x=0.08)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
        grid[0].set_yticks(range(len(rows)), names)
        grid[0].set_ylim(len(rows) - 0.4, -0.6)
        handle = line_handle(MUTED.light, "-", marker="o", markersize=5)
        legend_above(figure, [handle], ["value with its interval; the line at 0 is no preference"], width)
    return figure


def _effect(axes: Axes, effect: Effect, row: int, colour: str, marker: str) -> None:
    if effect.interval is not None and math.isfinite(effect.interval.low) and math.isfinite(effect.interval.high):
        axes.plot([effect.interval.low, effect.interval.high], [row, row], color=colour, linewidth=1.8, solid_capstyle="butt")
    axes.plot([effect.value], [row], color=colour, marker=marker, markersize=5.5, linestyle="none")
