"""Show levels of front-loading: the change under rotation, and MATS, by the places of the training
answers.

Each training has a ``facts.variant`` ("answers in 0:0.2"), and there is a histogram of the training
answers with the same variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.formatting import decimal, percent
from positionbias.core.interval import Interval
from positionbias.evaluation.trainings import figures_over
from positionbias.papers.position_bias.trainings import TrainingRow, row_notes, training_rows
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.drawing import (
    DASHES,
    MARKERS,
    band_handle,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    percent_marks,
    required,
    under_all,
)
from positionbias.report.figure import BAND, INK, MUTED, WIDE, styled
from positionbias.report.table import Column, Table
from positionbias.results.payloads import PositionHistogram
from positionbias.results.result import Result
from positionbias.results.select import comparisons, model_name, of_kind, repeat_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Dose",
    "Point",
    "change_lines",
    "dose_caption",
    "dose_figure",
    "dose_table",
    "doses_of",
    "line_handles",
    "no_change",
    "shows_doses",
    "similarity_of",
]

LIMIT = 0.03  # a change within ± 3 % counts as none (ours)
# if levels' shares in the first fifth are closer than this, mean position distinguishes them
APART = 0.02
BESIDE = 5.0  # minimum width in inches for two panels side by side


class Dose(NamedTuple):
    """The training answers of a variant: their number, share in the first fifth, and mean relative
    position.
    """

    variant: str
    answers: int
    first_fifth: float
    mean: float


class Point(NamedTuple):
    """One measurement with its interval, if any."""

    value: float
    interval: Interval | None = None


Lines = Mapping[str, Mapping[float, Sequence[Point]]]  # name → place on the axis → repeats


def doses_of(results: Sequence[Result]) -> list[Dose]:
    """Return the levels of a study, the least front-loaded first; none if there are fewer than
    two.
    """
    found = []
    for result in of_kind(results, "histogram"):
        if result.facts.variant and isinstance(result.payload, PositionHistogram):
            figures = result.payload.figures
            values = [
                of.value
                for of in (figures.first_fifth, figures.mean)
                if of is not None and of.value is not None
            ]
            if values:  # none where the places are too coarse to tell
                found.append(Dose(result.facts.variant, result.count, *values))
    return sorted(found, key=lambda dose: (dose.first_fifth, -dose.mean)) if len(found) > 1 else []


def _measure(results: Sequence[Result]) -> str:
    """Return the first measure of the levels, or "" without a comparison of test sets."""
    return next(
        (result.measure for result, _ in comparisons(results, "test sets") if result.facts.variant),
        "",
    )


class _Axis(NamedTuple):
    """The property that distinguishes the levels, the place of each, and the format of a place."""

    label: str
    places: dict[str, float]
    shown: Callable[[float], str]


def _axis(doses: Sequence[Dose]) -> _Axis:
    shares = sorted(dose.first_fifth for dose in doses)
    if all(after - before >= APART for before, after in pairwise(shares)):
        places = {dose.variant: dose.first_fifth for dose in doses}
        return _Axis("Training answers in the first fifth", places, lambda place: percent(place, 0))
    places = {dose.variant: dose.mean for dose in doses}
    return _Axis("Mean position of the training answers", places, lambda place: decimal(place, 2))


def _rows(results: Sequence[Result], doses: Sequence[Dose]) -> list[TrainingRow]:
    variants = [dose.variant for dose in doses]
    rows = training_rows(results, lambda row: row.facts.variant in variants and bool(row.changes))
    return sorted(rows, key=lambda row: variants.index(row.facts.variant))


def _name(row: TrainingRow) -> str:
    return f"{model_name(row.facts)} trained on {row.facts.training} passages"


def similarity_of(
    results: Sequence[Result], row: TrainingRow
) -> dict[tuple[int | None, int | None], float]:
    """Return MATS of a training on the original passages, by repeat."""
    wanted = replace(row.facts, pretrained="", test="original")
    return {
        repeat_of(result): result.value
        for result in of_kind(results, "ats")
        if result.value is not None
        and replace(result.facts, seed=None, rotation=None, pretrained="") == wanted
    }


def re_ranks(results: Sequence[Result], row: TrainingRow) -> bool:
    """Return True if the trained model changes the first stage's order; one of depth 1 does not,
    and has no change to show.
    """
    wanted = replace(row.facts, pretrained="")
    curves = [
        r
        for r in of_kind(results, "training")
        if replace(r.facts, test="", seed=None, rotation=None, pretrained="") == wanted
    ]
    endings = [r.payload.ending for r in curves]  # type: ignore[union-attr]
    return not endings or any(ending.depth != 1 for ending in endings)


def change_lines(axes: Axes, lines: Lines, gap: float, names: Sequence[str]) -> None:
    """Draw a line per name through the means of its repeats; repeats appear side by side, with
    their intervals.

    ``names`` are all names of the figure, which fix the colours across panels; ``gap`` is the
    smallest step of the axis.
    """
    for name, at in lines.items():
        index = names.index(name)
        colour, marker = colour_of(index), MARKERS[index % len(MARKERS)]
        shift = gap * 0.07 * (index - (len(names) - 1) / 2)
        means = [sum(point.value for point in points) / len(points) for points in at.values()]
        axes.plot(
            [place + shift for place in at],
            means,
            color=colour,
            linestyle=DASHES[index % len(DASHES)],
            linewidth=1.4,
        )
        for place, points in at.items():
            for number, (value, bounds) in enumerate(points):
                x = place + shift + gap * 0.02 * (number - (len(points) - 1) / 2)
                if bounds is not None:
                    axes.plot(
                        [x, x],
                        [bounds.low, bounds.high],
                        color=colour,
                        linewidth=1.4,
                        solid_capstyle="butt",
                    )
                axes.plot([x], [value], color=colour, marker=marker, markersize=5, linestyle="none")


def no_change(axes: Axes) -> None:
    """Draw the line at 0, and the band around it that counts as no change."""
    axes.axhspan(-LIMIT, LIMIT, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
    axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
    for edge in (-LIMIT, LIMIT):
        axes.axhline(edge, color=MUTED.light, linewidth=0.8, linestyle=DASHES[2], zorder=1)


def line_handles(names: Sequence[str]) -> list:
    """Return the lines of ``change_lines`` for a legend."""
    return [
        line_handle(colour_of(i), DASHES[i % len(DASHES)], marker=MARKERS[i % len(MARKERS)])
        for i in range(len(names))
    ]


def dose_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw plain relative change from original to rotated test passages by level, and beside it
    MATS; a line per training.

    The level is the share of training answers in the first fifth or, if that does not distinguish
    the levels, mean position.

    Raises:
        InputError: fewer than two levels, or none of them with a comparison of test sets.
    """
    doses, measure = required(doses_of(results), "histograms of two levels"), _measure(results)
    label, places, show = _axis(doses)
    names, changes, similarity = _dose_lines(results, doses, places, measure)
    required(names, "a comparison of test sets")
    panels = [lines for lines in (changes, similarity) if lines]
    across = len(panels) if width > BESIDE else 1
    at = sorted(places.values())
    gap = min((after - before for before, after in pairwise(at)), default=1.0)
    with styled():
        figure = new_figure(width, 0.9 + 2.5 * (len(panels) // across))
        column = figure.subplots(len(panels) // across, across, squeeze=False).flat
        for axes, lines in zip(column, panels, strict=False):
            if lines is changes:
                no_change(axes)
            change_lines(
                axes,
                {name: dict(sorted(lines[name].items())) for name in names if name in lines},
                gap,
                names,
            )
            axes.set_xticks(at, [show(place) for place in at])
            axes.set_xlim(at[0] - 0.15 * gap, at[-1] + 0.15 * gap)
            axes.set_title(
                f"Change in {measure}" if lines is changes else "MATS, original passages"
            )
            if lines is changes:
                percent_marks(axes.yaxis, sign=True)
            else:
                axes.set_ylim(0, None)
        under_all(figure, label, width)
        band = ([band_handle()], [f"within ±{percent(LIMIT, 0)}"]) if changes else ([], [])
        legend_above(figure, [*line_handles(names), *band[0]], [*names, *band[1]], width)
    return figure


def shows_doses(results: Sequence[Result]) -> bool:
    """Return True if ``dose_figure`` has a line to draw."""
    doses = doses_of(results)
    return bool(doses) and bool(_dose_lines(results, doses, _axis(doses)[1], _measure(results))[0])


def _dose_lines(
    results: Sequence[Result], doses: Sequence[Dose], places: Mapping[str, float], measure: str
) -> tuple[
    list[str], Mapping[str, Mapping[float, list[Point]]], Mapping[str, Mapping[float, list[Point]]]
]:
    """Return the names of the lines, and their changes and MATS by level."""
    changes: dict[str, dict[float, list[Point]]] = {}
    similarity: dict[str, dict[float, list[Point]]] = {}
    compared = False
    for row in _rows(results, doses):
        place, found = places[row.facts.variant], row.changes.get(measure, {}).values()
        compared = compared or bool(found)
        points = [Point(c.relative, c.relative_interval) for c in found if c.relative is not None]
        if points and re_ranks(results, row):
            changes.setdefault(_name(row), {})[place] = points
        if values := similarity_of(results, row):
            similarity.setdefault(_name(row), {})[place] = [
                Point(value) for value in values.values()
            ]
    # if nothing re-ranks, only MATS is left
    return list(changes or (similarity if compared else {})), changes, similarity


def dose_caption(results: Sequence[Result]) -> str:
    """Describe the figure in numbers, by level."""
    doses, measure = doses_of(results), _measure(results)
    changes = []
    for row in _rows(results, doses):
        value, _ = row.change(measure, "relative")
        shown = (
            percent(value, sign=True)
            if re_ranks(results, row)
            else "no point, as nothing is re-ranked"
        )
        changes.append(f"{_name(row)}, {row.facts.variant}: {shown}")
    shares = ", ".join(
        f"{dose.variant} ({percent(dose.first_fifth, 0)} in the first fifth)" for dose in doses
    )
    return (
        f"Change in {measure} from original to rotated test passages, and MATS, by where the "
        f"training answers start: {shares}. {'; '.join(changes)}."
    )


def dose_table(results: Sequence[Result]) -> Table:
    """Return a row per level and training: its training answers, effectiveness on both test sets,
    the change, MATS.
    """
    doses, measure = {dose.variant: dose for dose in doses_of(results)}, _measure(results)
    rows = []
    for row in _rows(results, list(doses.values())):
        dose, similarity = doses[row.facts.variant], similarity_of(results, row)
        mats = figures_over(similarity) if similarity else None
        rows.append(
            [
                text_cell(dose.variant),
                count_cell(dose.answers),
                percent_cell(dose.first_fifth, sign=False),
                decimal_cell(dose.mean),
                text_cell(model_name(row.facts)),
                text_cell(row.facts.training),
                decimal_cell(*row.mean(measure, "original")),
                decimal_cell(*row.mean(measure, "rotated")),
                percent_cell(*row.change(measure, "relative"))
                if re_ranks(results, row)
                else percent_cell(None),
                decimal_cell(mats.value if mats else None, mats.interval if mats else None),
                count_cell(len(row.repeats)),
            ]
        )
    columns = [
        Column("Training queries", numeric=False),
        Column("Answers"),
        Column("In the first fifth"),
        Column("Mean position"),
    ]
    columns += [Column("Model", numeric=False), Column("Trained on", numeric=False)]
    columns += [
        Column("original test", measure),
        Column("rotated test", measure),
        Column("Change"),
        Column("MATS"),
        Column("Repeats", wide=True),
    ]
    notes: tuple[str, ...] = (
        (
            "Every level has the same number of training queries; validation and test queries are "
            "the same for all."
        ),
        (
            "Change = (rotated − original) / original. MATS on the original passages; its "
            "intervals are over trainings alone."
        ),
        *row_notes(_rows(results, list(doses.values())), lettered=False),
    )
    if not all(re_ranks(results, row) for row in _rows(results, list(doses.values()))):
        notes += (
            (
                "No change: the tuned depth is 1, nothing is re-ranked, and the effectiveness is "
                "the first stage's."
            ),
        )
    return Table("doses", "Levels of front-loading", columns, rows, notes, stub=6)
