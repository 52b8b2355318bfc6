"""Figures of curves: ATS by distance, and training logs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from positionbias.report.drawing import (
    DASHES,
    characters,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    required,
    wrap,
)
from positionbias.report.figure import MUTED, WIDE, styled
from positionbias.results.payloads import AtsCurve
from positionbias.results.result import Result
from positionbias.results.select import distinct, labels, of_kind, repeat_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ats_curves"]


def ats_curves(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw average term similarity by distance Δ, a line per model, a panel per set of passages
    (Figure 2).

    Bands are the deviation over pairs. A line breaks at missing Δ, and ends in a bar where Δ were
    left out for too few terms.

    Raises:
        InputError: no ATS curve among the results.
    """
    found = required(of_kind(results, "ats"), "an ATS curve")
    collections, systems = (
        distinct(r.collection for r in found),
        distinct(_series_key(r) for r in found),
    )
    names = dict(zip(map(_series_key, found), _series_labels(found), strict=True))
    with styled():
        figure = new_figure(width, 0.9 + 2.5 * len(collections))
        column = figure.subplots(len(collections), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        cut = False
        for axes, collection in zip(column, collections, strict=True):
            for result in (r for r in found if r.collection == collection):
                cut |= _ats_line(axes, result.payload, systems.index(_series_key(result)))
            axes.set_ylabel("ATS(Δ)")
            if len(collections) > 1:
                axes.set_title(f"Probed on {wrap(collection, characters(width) - 10)}")
        column[-1].set_xlabel("Distance in position Δ (words)")
        column[0].set_xlim(left=0)
        handles = [
            line_handle(colour_of(index), DASHES[index % len(DASHES)])
            for index in range(len(systems))
        ]
        texts = [names[key] for key in systems]
        if cut:
            handles.append(
                line_handle(MUTED.light, "none", marker="|", markersize=10, markeredgewidth=1.6)
            )
            texts.append("too few terms beyond")
        legend_above(figure, handles, texts, width)
    return figure


def _as_trained(result: Result) -> Result:
    """Drop the rotation draw of the probed passages from a model trained on original ones: it is
    the same model.
    """
    return (
        replace(result, facts=replace(result.facts, rotation=None))
        if result.facts.training == "original"
        else result
    )


def _series_key(result: Result) -> tuple[str, str, int | None, int | None]:
    return result.system, result.split, *repeat_of(_as_trained(result))


def _series_labels(found: Sequence[Result]) -> list[str]:
    """Return labels without the collection: each has its panel."""
    return labels([replace(_as_trained(result), collection="") for result in found])


def _ats_line(axes: Axes, curve: Any, index: int) -> bool:
    """Draw one curve and its band; return whether it was cut off for lack of terms."""
    assert isinstance(curve, AtsCurve)
    xs: list[float] = []
    ys: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for position, delta in enumerate(curve.deltas):
        if position and delta > curve.deltas[position - 1] + 1:
            for values in (xs, ys, low, high):
                values.append(math.nan)
        deviation = curve.std_pairs[position] if position < len(curve.std_pairs) else None
        value = curve.ats[position]
        xs.append(float(delta))
        ys.append(value)
        low.append(math.nan if deviation is None else value - deviation)
        high.append(math.nan if deviation is None else value + deviation)
    colour = colour_of(index)
    axes.fill_between(xs, low, high, color=colour, alpha=0.16, linewidth=0)
    axes.plot(xs, ys, color=colour, linestyle=DASHES[index % len(DASHES)])
    cut = curve.figures.cut_at is not None and bool(xs)
    if cut:
        axes.plot(
            xs[-1:],
            ys[-1:],
            color=colour,
            linestyle="none",
            marker="|",
            markersize=12,
            markeredgewidth=1.8,
        )
    return cut
