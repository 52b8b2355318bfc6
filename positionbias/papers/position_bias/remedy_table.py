"""Compare remedies: quality on original passages against two measures of bias, and the price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.core.formatting import decimal
from positionbias.models.remedies import read_remedy
from positionbias.papers.position_bias import (
    AT_INFERENCE,
    CALIBRATE,
    CONSISTENCY,
    CONSISTENT,
    MOVED,
    NO_REMEDY,
    REMEDIES,
    TAUGHT,
    TEACHER,
    place_of,
)
from positionbias.papers.position_bias.findings import difference_of, that_re_rank, together
from positionbias.papers.position_bias.trainings import TrainingRow, row_notes, training_rows
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.drawing import MARKERS, colour_of, legend_above, new_figure, required
from positionbias.report.figure import INK, WIDE, styled
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result
from positionbias.results.select import distinct, model_name, of_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "price_of",
    "remedied",
    "remedy_caption",
    "remedy_figure",
    "remedy_table",
    "shows_remedies",
]


def remedied(results: Sequence[Result]) -> dict[str, str]:
    """Return the measures by which remedies were compared with none, by variant, of each the first
    but moved sentences.
    """
    found: dict[str, str] = {}
    for result, comparison in of_type(results, Comparison):
        if comparison.noted.axis == REMEDIES and result.measure != MOVED:
            found.setdefault(result.facts.variant, result.measure)
    return found


def _rows(results: Sequence[Result]) -> list[TrainingRow]:
    """Return the rows of models with and without remedies, those without first: of trainings that
    re-rank, where a row has one, as in comparisons.
    """
    variants = {NO_REMEDY, *remedied(results)}
    if len(variants) == 1:
        return []
    every, re_ranking = (
        training_rows(of, lambda row: row.facts.variant in variants)
        for of in (results, that_re_rank(results))
    )
    better = {row.facts: row for row in re_ranking}
    models = distinct(model_name(row.facts) for row in every)
    rows = [better.get(row.facts, row) for row in every]
    return sorted(
        rows, key=lambda row: (models.index(model_name(row.facts)), place_of(row.facts.variant))
    )


def _measure(results: Sequence[Result]) -> str:
    return next(iter(remedied(results).values()))


_PRICES = {
    CONSISTENT: f"trains {len(CONSISTENCY)} times, reading twice",
    TAUGHT: f"trains twice; the teacher reads {TEACHER.times} times",
}


def price_of(variant: str) -> str:
    """Return what a remedy costs beside a training, and readings, without it.

    >>> (
    ...     price_of("rotated once"),
    ...     price_of("rotate:4 at inference"),
    ...     price_of("segments-max:3 at inference"),
    ... )
    ('none', 'reads 4 times', 'reads once, in parts')
    """
    name = variant.removesuffix(AT_INFERENCE)
    if name == variant:
        return _PRICES.get(variant, "none")
    if name == CALIBRATE:
        return "reads once, slower"
    times = read_remedy(name).times
    return f"reads {times} times" if times > 1 else "reads once, in parts"


def _difference_cell(comparison: Comparison | None) -> Cell:
    """Return a difference with its interval; a dash where there is none."""
    change = None if comparison is None else difference_of(comparison)
    return decimal_cell(change.value if change else None, change.interval if change else None)


def remedy_table(results: Sequence[Result]) -> Table:
    """Return a row per model and remedy: quality, its difference to no remedy, both measures of
    bias, and the price in readings.
    """
    rows, cells = _rows(results), []
    measure = _measure(results) if rows else ""
    compared = {
        of: together(
            results,
            of,
            REMEDIES,
            lambda result, comparison: (result.facts.model, result.facts.variant),
        )
        for of in (measure, MOVED)
    }
    for row in rows:
        key = (row.facts.model, row.facts.variant)
        known = {
            of: found[key][1]
            for of, found in compared.items()
            if key in found and not row.facts.unfinished
        }
        cells.append(
            [
                text_cell(model_name(row.facts)),
                text_cell(row.facts.variant),
                decimal_cell(*row.mean(measure, "original")),
                _difference_cell(known.get(measure)),
                percent_cell(*row.change(measure, "relative")),
                decimal_cell(*row.mean(MOVED, "original")),
                _difference_cell(known.get(MOVED)),
                text_cell("" if row.facts.variant == NO_REMEDY else price_of(row.facts.variant)),
                count_cell(len(row.repeats)),
            ]
        )
    columns = [
        Column("Model", numeric=False),
        Column("Remedy", numeric=False),
        Column("original test", measure),
        Column(f"against {NO_REMEDY}", measure),
        Column("Change by rotation"),
        Column("mean", MOVED),
        Column(f"size against {NO_REMEDY}", MOVED),
        Column("Price", numeric=False),
        Column("Repeats", wide=True),
    ]
    notes = (
        "Change by rotation = (rotated − original) / original test. Moved sentence: the answering "
        "sentence at the end less at the front, as a share of the evidence's worth; below 0: the "
        "front is preferred. Price: beside one training that reads each passage once, and beside "
        "reading it once at inference.",
        "Judge a remedy by rotation (rotate:K, rotated, consistent) by the moved sentence, one by "
        "shuffling or moving sentences by rotation. Effects are over all texts, also those that a "
        "model does not read to the end: a model without positions shows how much of them that is.",
        *row_notes(rows, lettered=False),
    )
    return Table("remedies", "Remedies: quality and bias", columns, cells, notes, stub=2)


def shows_remedies(results: Sequence[Result]) -> bool:
    """Return True if ``remedy_figure`` has a point besides that without a remedy."""
    return len(_points(results)) > 1


def _points(results: Sequence[Result]) -> list[TrainingRow]:
    """Return the rows with both figures."""
    return [row for row in _rows(results) if row.mean(MOVED, "original")[0] is not None]


def remedy_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw quality on original passages against the effect of a moved sentence, a point a remedy
    with both intervals, a panel a model.

    Raises:
        InputError: no remedy with both figures.
    """
    rows = required(_points(results), "effects of moved sentences")
    measure, models = _measure(results), distinct(model_name(row.facts) for row in rows)
    variants = distinct(row.facts.variant for row in rows)
    with styled():
        figure = new_figure(width, 0.4 + 3.2 * len(models))
        for axes, model in zip(
            figure.subplots(len(models), 1, squeeze=False).flat, models, strict=True
        ):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for row in rows:
                if model_name(row.facts) == model:
                    _point(axes, row, measure, variants.index(row.facts.variant))
            axes.set_title(model)
            axes.set_ylabel(f"{measure}, original passages")
            axes.set_xlabel("Moved sentence: end − front, share of the evidence's worth")
        handles = {
            name: handle
            for one in figure.axes
            for handle, name in zip(*one.get_legend_handles_labels(), strict=True)
        }
        named = [variant for variant in variants if variant in handles]
        legend_above(figure, [handles[name] for name in named], named, width)
    return figure


def _point(axes: Axes, row: TrainingRow, measure: str, index: int) -> None:
    (x, across), (y, along) = row.mean(MOVED, "original"), row.mean(measure, "original")
    if x is None or y is None:
        return
    colour = colour_of(index)
    if across is not None:
        axes.plot([across.low, across.high], [y, y], color=colour, linewidth=1.2)
    if along is not None:
        axes.plot([x, x], [along.low, along.high], color=colour, linewidth=1.2)
    # colours and markers together would repeat after twelve
    marker = MARKERS[(index + index // 12) % len(MARKERS)]
    axes.plot(
        [x],
        [y],
        color=colour,
        marker=marker,
        markersize=6,
        linestyle="none",
        label=row.facts.variant,
    )


def remedy_caption(results: Sequence[Result]) -> str:
    """Describe the figure in numbers."""
    measure = _measure(results)
    points = "; ".join(
        (
            f"{model_name(row.facts)}, {row.facts.variant}: "
            f"{decimal(row.mean(MOVED, 'original')[0])} and "
            f"{decimal(row.mean(measure, 'original')[0])}"
        )
        for row in _points(results)
    )
    return (
        "Effect of moving the answering sentence from the front to the end (0: none), and "
        f"{measure} on original passages, by remedy, with 95 % intervals where they exist: "
        f"{points}."
    )
