"""Figures declared over rows: lines along an axis, shares of bins, points of two statistics, and
marks with their intervals, in panels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Any

from pandas import DataFrame

from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.report.drawing import (
    DASHES,
    band_handle,
    characters,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    percent_marks,
    series_looks,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import BAND, INK, MUTED, WIDE, styled
from positionbias.report.record import Record, records_of, rows_with, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Bars", "Forest", "Histogram", "Lines", "Mark", "RowFigure", "Scatter"]

BESIDE = 4.5  # minimum width in inches for two panels side by side
ACROSS = 3  # most panels side by side
MARKED = 20  # points of a line that need no markers
Panels = Sequence[tuple[Record, DataFrame]]
APART = 0.8  # bars between single places and several together
LABEL = 0.22  # width of a label of two digits, in inches


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigure:
    """A figure over the rows that ``where`` chooses, a panel for each combination of ``panel``.

    ``series`` is the key whose values have a colour, a dash and a marker each, in the order of all
    rows; ``caption`` is a function of the rows. ``heading`` is the template of a panel's title,
    ``entry`` that of the legend's lines.
    ``same`` names the axes ("x", "y") that figures of several studies share; ``most`` panels stand
    side by side.
    """

    name: str
    where: str
    caption: Callable[[DataFrame], str]
    panel: Sequence[str] = ("measure",)
    heading: str = "{measure}"
    series: str = "kind"
    entry: str = "{}"
    below: str = ""
    side: str = ""
    same: str = ""
    tall: float = 2.3
    most: int = ACROSS

    def there(self, rows: DataFrame) -> bool:
        """Return whether the rows have what is drawn."""
        return not rows.query(self.where)["value"].isna().all()

    def draw(self, rows: DataFrame, width: float = WIDE) -> Figure:
        """Draw the figure, ``width`` inches wide.

        Raises:
            InputError: the rows have nothing of it.
        """
        if not self.there(rows):
            raise InputError(f"figure {self.name}: wanted rows with its values; found none")
        chosen, looks = rows.query(self.where), self._looks(rows)
        panels = list(self._panels(chosen))
        across = min(len(panels), self.most if width > BESIDE else 1)
        across = 2 if len(panels) == 4 and across > 2 else across
        down = -(-len(panels) // across)
        with styled():
            figure = new_figure(width, 0.85 + self._height(chosen, looks, width / across) * down)
            grid = figure.subplots(down, across, squeeze=False, sharey=self._one_scale(panels))
            for axes, (record, own) in zip(grid.flat, panels, strict=False):
                self._panel(axes, own, looks, width / across)
                room = self._title_room(width / across)
                lines = said(self.heading, record).split("\n")
                axes.set_title("\n".join(wrap(line, room) for line in lines))
            for place, axes in enumerate(grid.flat):
                if place >= len(panels):
                    axes.set_axis_off()
                elif self._from_zero():  # when all panels of one scale are drawn
                    axes.set_ylim(bottom=0)
            for axes in grid[:, 0]:
                axes.set_ylabel(self.side)
            under_all(figure, self.below, width)
            handles, texts = self._legend(chosen, looks)
            if handles:
                legend_above(figure, handles, texts, width)
        return figure

    def _looks(self, rows: DataFrame) -> Mapping[str, int]:
        names = [name for name in rows[self.series].unique() if name not in ("", "all")]
        return {name: place for place, name in enumerate(names)}

    def _panels(self, chosen: DataFrame) -> Iterator[tuple[Record, DataFrame]]:
        for record in records_of(chosen, self.panel):
            yield record, rows_with(chosen, record.keys)

    def _height(self, chosen: DataFrame, looks: Mapping[str, int], width: float) -> float:
        return self.tall

    def _title_room(self, width: float) -> int:
        return characters(width + 0.3)

    def _one_scale(self, panels: Panels) -> bool:
        return False

    def _from_zero(self) -> bool:
        return False

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        raise NotImplementedError

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> tuple[list[Any], list[str]]:
        shown = [name for name in looks if name in set(chosen[self.series])]
        return [self._handle(looks[name]) for name in shown], [
            self.entry.format(name) for name in shown
        ]

    def _handle(self, place: int) -> Any:
        looks = series_looks(place)
        return line_handle(looks["color"], looks["linestyle"], marker=looks["marker"], markersize=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(RowFigure):
    """A value along the rows' axis, a line for each of the series, seed and rotation draw, with its
    interval as a band. ``zero`` draws the line of no effect, ``marked`` a thin line at a place on
    the axis; ``log``: the axis is logarithmic; ``whole``: its places are whole numbers; ``free``:
    values need not begin at 0, and places begin at ``left``.
    """

    zero: bool = False
    marked: Callable[[DataFrame], float | None] = lambda rows: None
    places: int = 1
    log: bool = False
    whole: bool = True
    free: bool = False
    left: float = 0.0

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        from matplotlib.ticker import MaxNLocator

        if self.zero:
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
        by = [self.series, "seed", "rotation"]
        for (name, *_), drawn in own[own["value"].notna()].groupby(by):
            if name not in looks:
                continue
            place, line = looks[name], drawn.sort_values("at")
            own_looks = series_looks(place)
            if len(line) >= MARKED:
                own_looks["marker"] = ""
            axes.plot(line["at"], line["value"], markersize=3.6, **own_looks)  # type: ignore[arg-type]
            band = line[line["low"].notna()]
            ends = (band["low"], band["high"])
            axes.fill_between(band["at"], *ends, color=colour_of(place), alpha=0.16, linewidth=0)
        if (at := self.marked(own)) is not None:
            axes.axvline(at, color=MUTED.light, linewidth=0.8, zorder=1)
        if self.log:
            axes.set_xscale("log")
            kept = _apart(sorted(own["at"].unique()), width)
            axes.set_xticks(kept, [f"{depth:,.0f}" for depth in kept])
            axes.set_xticks([], minor=True)
        else:
            axes.set_xlim(left=self.left)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=self.whole))
        axes.yaxis.set_major_formatter(
            lambda value, _: f"{value:,.{self.places}f}".replace("-", "−")
        )

    def _one_scale(self, panels: Panels) -> bool:
        return self.zero or self.log

    def _from_zero(self) -> bool:
        return not (self.zero or self.free)


def _apart(places: Sequence[float], width: float) -> list[float]:
    """Return the places on a logarithmic axis that have room for a label: the last, and those
    before it that are far enough apart.
    """
    room = 0.42 / max(0.5, width - 0.7) * max(0.1, log10(places[-1] / places[0]))
    kept = [places[-1]]
    for place in reversed(places[:-1]):
        if log10(kept[-1] / place) >= room:
            kept.append(place)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(RowFigure):
    """Two statistics of every ``point``, with the line of equal values."""

    across: str
    up: str
    point: Sequence[str] = ("run",)

    def _height(self, chosen: DataFrame, looks: Mapping[str, int], width: float) -> float:
        return min(3.1, width - 0.2) + 0.15

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        for name, place in looks.items():
            points = records_of(own[own[self.series] == name], self.point)
            pairs = [(one.value(self.across), one.value(self.up)) for one in points]
            known = [(x, y) for x, y in pairs if x is not None and y is not None]
            axes.plot(
                [x for x, _ in known],
                [y for _, y in known],
                color=colour_of(place),
                marker=series_looks(place)["marker"],
                markersize=4.6,
                linestyle="none",
                fillstyle="none",
                markeredgewidth=1.2,
            )
        drawn = own[own["statistic"].isin([self.across, self.up])]["value"].dropna()
        values = drawn.tolist() or [0.0, 1.0]
        room = 0.04 * (max(values) - min(values)) or 0.05
        ends = (min(values) - room, max(values) + room)
        axes.plot(ends, ends, color=INK.light, linewidth=0.9, zorder=1)
        axes.set_xlim(ends)
        axes.set_ylim(ends)
        axes.set_aspect("equal")
        axes.grid(True, axis="both")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(tick_places(4.5))

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> tuple[list[Any], list[str]]:
        shown = [name for name in looks if name in set(chosen[self.series])]
        handles = [
            _dot(colour_of(looks[name]), series_looks(looks[name])["marker"]) for name in shown
        ]
        equal = line_handle(INK.light, "-", linewidth=0.9)
        return [*handles, equal], [*map(self.entry.format, shown), "equal scores"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(RowFigure):
    """Shares along the rows' axis, a bar each; the bar of several places together, whose label is
    no number, stands apart.
    """

    series: str = "measure"
    tall: float = 1.75

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        labels = own["label"].tolist()
        together = [not label.isdecimal() for label in labels]
        at = [place + APART * far for place, far in zip(own["at"], together, strict=True)]
        axes.bar(at, own["value"], width=0.8, color=colour_of(0), linewidth=0)
        # with few bars, keep them from filling the page's width
        low, high = 0.4, max(at[-1] + 0.6, 5.6)
        axes.set_xlim(low, high)
        inches = (width - 0.9) / (high - low)
        marks = _marks(labels, at, inches)
        axes.set_xticks([at[place] for place in marks], [labels[place] for place in marks])
        axes.tick_params(axis="x", length=0)
        axes.set_ylim(0, 1.08 * own["value"].max())
        percent_marks(axes.yaxis)

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> tuple[list[Any], list[str]]:
        return [], []


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(RowFigure):
    """Shares of bins along the rows' axis with their intervals, and what is ``expected`` of each
    without an effect, which the legend names so.
    """

    expected: str
    series: str = "measure"

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        at, wide = own["at"].to_numpy(), 1 / len(own)
        edges = [*(at - wide / 2), at[-1] + wide / 2]
        axes.stairs(own["value"], edges, fill=True, color=colour_of(0), alpha=0.3, linewidth=0)
        axes.stairs(own["value"], edges, color=colour_of(0), linewidth=1.4)
        plain = {"color": INK.light, "linewidth": 1.3, "linestyle": DASHES[1]}
        axes.stairs(own["expected"], edges, baseline=None, **plain)
        axes.vlines(at, own["low"], own["high"], color=colour_of(0), linewidth=1.1)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        percent_marks(axes.yaxis)

    def _one_scale(self, panels: Panels) -> bool:
        return True

    def _from_zero(self) -> bool:
        return True

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> tuple[list[Any], list[str]]:
        interval = line_handle(MUTED.light, "none", marker="|", markersize=11)
        return [line_handle(INK.light, DASHES[1]), interval], [self.expected, "95 % interval"]


def _marks(labels: Sequence[str], at: Sequence[float], inches: float) -> list[int]:
    """Return the bars with room for a label, ``inches`` each: all, or the first, every fifth or
    tenth, and the one of several places.
    """
    step = next((step for step in (1, 5, 10) if step * inches >= LABEL), 20)
    marks = [
        place
        for place, label in enumerate(labels)
        if not label.isdecimal() or label == "1" or int(label) % step == 0
    ]
    last = not labels[-1].isdecimal()
    if last and len(marks) > 1 and (at[-1] - at[marks[-2]]) * inches < LABEL:
        del marks[-2]
    return marks


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of a forest: the rows that ``where`` chooses, explained by ``label``. ``lower`` is its
    place below the line's middle; ``ends`` are the statistics that its bar runs between, by
    default the interval.
    """

    where: str
    label: str
    marker: str = ""
    full: bool = True
    lower: float = 0.0
    ends: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest(RowFigure):
    """A line for each combination of ``line`` (named by ``name_of``) with its marks; ``chosen``
    picks and sorts the lines of a panel. ``zero`` draws the line of no effect; rows with a margin
    have it as a band around that.
    """

    line: Sequence[str]
    name_of: str
    marks: Sequence[Mark]
    chosen: Callable[[list[Record], DataFrame], list[Record]] = lambda records, rows: records
    zero: bool = True

    def _lines(self, own: DataFrame) -> list[Record]:
        return self.chosen(records_of(own, self.line), own)

    def _height(self, chosen: DataFrame, looks: Mapping[str, int], width: float) -> float:
        longest = max((self._lines(own) for _, own in self._panels(chosen)), key=len)
        names = [wrap(said(self.name_of, one), self._room(width)) for one in longest]
        most = max((name.count("\n") for name in names), default=0)
        around = 0.55 if width > BESIDE else 1.05  # a narrow figure's legend and label have lines
        return around + len(names) * (0.12 + 0.1 * len(self.marks) + 0.16 * most)

    def _room(self, width: float) -> int:
        return int(characters(width) * 0.45)

    def _title_room(self, width: float) -> int:
        return int(characters(width) * 0.6)  # beside the names of lines

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        lines = self._lines(own)
        if self.zero:
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
        margin = own["margin"].max()
        if margin == margin:
            axes.axvspan(-margin, margin, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
        for mark in self.marks:
            marked = own.query(mark.where)
            for at, record in enumerate(lines):
                for row in rows_with(marked, record.keys).itertuples(index=False):
                    place = looks.get(getattr(row, self.series), 0)
                    _mark(axes, row, record, mark, at + mark.lower, place)
        axes.set_yticks(
            range(len(lines)),
            [wrap(said(self.name_of, one), self._room(width)) for one in lines],
        )
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.xaxis.set_major_locator(tick_places(1.3 * width))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.2f}".replace("-", "−"))
        if (own["unit"] == "share").all():
            percent_marks(axes.xaxis, width, sign=True)
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0, labelcolor=INK.light)

    def _one_scale(self, panels: Panels) -> bool:
        lines = [[line.keys for line in self._lines(own)] for _, own in panels]
        return self.zero and all(own == lines[0] for own in lines)

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> tuple[list[Any], list[str]]:
        shown = [mark for mark in self.marks if len(chosen.query(mark.where))]
        handles = [_dot(MUTED.light, mark.marker or "o", full=mark.full) for mark in shown]
        texts = [mark.label for mark in shown]
        margins = chosen[chosen["margin"].notna()].drop_duplicates(["margin", "unit"])
        sizes = [
            percent(row.margin, 0) if row.unit in ("", "share") else f"{row.margin:g} {row.unit}"
            for row in margins.itertuples()
        ]
        if sizes:
            handles, texts = [*handles, band_handle()], [*texts, f"within ±{' or ±'.join(sizes)}"]
        return handles, texts


def _dot(colour: str, marker: str, *, full: bool = False) -> Any:
    fill = "full" if full else "none"
    return line_handle(
        colour, "none", marker=marker, markersize=5.5, fillstyle=fill, markeredgewidth=1.2
    )


def _mark(axes: Axes, row: Any, record: Record, mark: Mark, at: float, place: int) -> None:
    if row.value != row.value:
        return
    colour = colour_of(place)
    low, high = (record.value(end) for end in mark.ends) if mark.ends else (row.low, row.high)
    if low is not None and high is not None and low == low:
        thick = 1.8 if mark.full else 1.2
        axes.plot([low, high], [at, at], color=colour, linewidth=thick, solid_capstyle="butt")
    axes.plot(
        [row.value],
        [at],
        marker=mark.marker or series_looks(place)["marker"],
        markersize=5.5,
        linestyle="none",
        color=colour,
        markerfacecolor=colour if mark.full else "none",
        markeredgewidth=1.2,
        zorder=3,
    )
