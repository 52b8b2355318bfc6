"""Figures declared over rows: lines along an axis, shares of bins, points of two statistics, and
marks with their intervals, in panels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pandas import DataFrame, isna

from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.report.figure import (
    BAND,
    DASHES,
    INK,
    MUTED,
    WIDE,
    characters,
    colour_of,
    legend_above,
    percent_marks,
    series_looks,
    styled,
    wrap,
)
from positionbias.report.record import Record, records_of, rows_with, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Forest", "Histogram", "Lines", "Mark", "RowFigure", "Scatter"]

ACROSS, BESIDE = 3, 4.5  # most panels side by side, and the least inches for two
MARKED = 20  # points of a line that need no markers
Legend = tuple[list[Any], list[str]]


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
        from matplotlib.figure import Figure

        if not self.there(rows):
            raise InputError(f"figure {self.name}: wanted rows with its values; found none")
        chosen, looks = rows.query(self.where), self._looks(rows)
        panels = [(one, rows_with(chosen, one.keys)) for one in records_of(chosen, self.panel)]
        across = min(len(panels), self.most if width > BESIDE else 1)
        across = 2 if len(panels) == 4 and across > 2 else across
        down, room = -(-len(panels) // across), width / across
        tall = max(self._height(own, room) for _, own in panels)
        with styled():
            figure = Figure(figsize=(width, 0.85 + tall * down), layout="constrained")
            grid = figure.subplots(down, across, squeeze=False, sharey=self._one_scale(chosen))
            for axes, (record, own) in zip(grid.flat, panels, strict=False):
                self._panel(axes, own, looks, room)
                lines = said(self.heading, record).split("\n")
                axes.set_title("\n".join(wrap(line, self._title_room(room)) for line in lines))
            for place, axes in enumerate(grid.flat):
                if place >= len(panels):
                    axes.set_axis_off()
                elif self._from_zero():  # when all panels of one scale are drawn
                    axes.set_ylim(bottom=0)
            for axes in grid[:, 0]:
                axes.set_ylabel(self.side)
            figure.supxlabel(wrap(self.below, characters(width + 0.5)), fontsize=10)
            handles, texts = self._legend(chosen, looks)
            if handles:
                legend_above(figure, handles, texts, width)
        return figure

    def _looks(self, rows: DataFrame) -> Mapping[str, int]:
        names = [name for name in rows[self.series].unique() if name not in ("", "all")]
        return {name: place for place, name in enumerate(names)}

    def _height(self, own: DataFrame, width: float) -> float:
        return self.tall

    def _title_room(self, width: float) -> int:
        return characters(width + 0.3)

    def _one_scale(self, chosen: DataFrame) -> bool:
        return False

    def _from_zero(self) -> bool:
        return False

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        raise NotImplementedError

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> Legend:
        shown = [name for name in looks if name in set(chosen[self.series])]
        return [_handle(**series_looks(looks[name])) for name in shown], [
            self.entry.format(name) for name in shown
        ]


def _handle(**looks: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"markersize": 4, **looks})


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
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        if self.zero:
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
        drawn = own[own["value"].notna() & own[self.series].isin(list(looks))]
        for (name, *_), line in drawn.groupby([self.series, "seed", "rotation"]):
            line, own_looks = line.sort_values("at"), series_looks(looks[name])
            if len(line) >= MARKED:
                own_looks["marker"] = ""
            axes.plot(line["at"], line["value"], markersize=3.6, **own_looks)
            band, colour = line[line["low"].notna()], own_looks["color"]
            axes.fill_between(
                band["at"], band["low"], band["high"], color=colour, alpha=0.16, linewidth=0
            )
        if (at := self.marked(own)) is not None:
            axes.axvline(at, color=MUTED.light, linewidth=0.8, zorder=1)
        if self.log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.set_xticks([], minor=True)
        else:
            axes.set_xlim(left=self.left)
            axes.xaxis.set_major_locator(MaxNLocator(max(3, int(2 * width)), integer=self.whole))
        axes.yaxis.set_major_formatter(lambda value, _: _number(value, self.places))

    def _one_scale(self, chosen: DataFrame) -> bool:
        return self.zero or self.log

    def _from_zero(self) -> bool:
        return not (self.zero or self.free)


def _number(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "−")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(RowFigure):
    """Two statistics of every ``point``, with the line of equal values."""

    across: str
    up: str
    point: Sequence[str] = ("run",)

    def _height(self, own: DataFrame, width: float) -> float:
        return min(3.1, width - 0.2) + 0.15

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        for name, place in looks.items():
            points = records_of(own[own[self.series] == name], self.point)
            pairs = [(one.value(self.across), one.value(self.up)) for one in points]
            known = [(x, y) for x, y in pairs if x is not None and y is not None]
            axes.plot([x for x, _ in known], [y for _, y in known], **_open(place))
        drawn = own[own["statistic"].isin([self.across, self.up])]["value"]
        room = 0.04 * (drawn.max() - drawn.min()) or 0.05
        ends = (drawn.min() - room, drawn.max() + room)
        axes.plot(ends, ends, color=INK.light, linewidth=0.9, zorder=1)
        axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.grid(True, axis="both")

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> Legend:
        shown = [name for name in looks if name in set(chosen[self.series])]
        equal = _handle(color=INK.light, linewidth=0.9)
        handles = [_handle(**_open(looks[name])) for name in shown]
        return [*handles, equal], [*map(self.entry.format, shown), "equal scores"]


def _open(place: int) -> dict[str, Any]:
    """Return the looks of open markers without a line."""
    return {**series_looks(place), "linestyle": "none", "fillstyle": "none", "markersize": 4.6}


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
        axes.stairs(own["expected"], edges, baseline=None, color=INK.light, linestyle=DASHES[1])
        axes.vlines(at, own["low"], own["high"], color=colour_of(0), linewidth=1.1)
        axes.set_xlim(edges[0], edges[-1])
        percent_marks(axes.yaxis)

    def _one_scale(self, chosen: DataFrame) -> bool:
        return True

    def _from_zero(self) -> bool:
        return True

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> Legend:
        interval = _handle(color=MUTED.light, linestyle="none", marker="|", markersize=11)
        expected = _handle(color=INK.light, linestyle=DASHES[1])
        return [expected, interval], [self.expected, "95 % interval"]


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

    def _named(self, own: DataFrame, width: float) -> list[tuple[Record, str]]:
        lines = self.chosen(records_of(own, self.line), own)
        room = int(characters(width) * 0.45)
        return [(line, wrap(said(self.name_of, line), room)) for line in lines]

    def _height(self, own: DataFrame, width: float) -> float:
        names = [name for _, name in self._named(own, width)]
        most = max((name.count("\n") for name in names), default=0)
        around = 0.55 if width > BESIDE else 1.05  # for the lines of a narrow figure's legend
        return around + len(names) * (0.12 + 0.1 * len(self.marks) + 0.16 * most)

    def _title_room(self, width: float) -> int:
        return int(characters(width) * 0.6)  # beside the names of lines

    def _panel(self, axes: Axes, own: DataFrame, looks: Mapping[str, int], width: float) -> None:
        lines = self._named(own, width)
        if self.zero:
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
        margin = own["margin"].max()
        if margin == margin:
            axes.axvspan(-margin, margin, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
        for mark, at, record, row in self._marked(own, [line for line, _ in lines]):
            place = looks.get(getattr(row, self.series), 0)
            looked = {**series_looks(place), "linestyle": "none"}
            if mark.marker:
                looked["marker"] = mark.marker
            low, high = row.low, row.high
            if mark.ends:
                low, high = map(record.value, mark.ends)
            if not isna(low):
                thick = 1.8 if mark.full else 1.2
                axes.plot([low, high], [at, at], color=looked["color"], linewidth=thick)
            axes.plot([row.value], [at], **looked, **_fill(mark), zorder=3)
        axes.set_yticks(range(len(lines)), [name for _, name in lines])
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.locator_params(axis="x", nbins=max(3, int(1.5 * width)))
        if (own["unit"] == "share").all():
            percent_marks(axes.xaxis, sign=True)
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0, labelcolor=INK.light)

    def _marked(
        self, own: DataFrame, lines: Sequence[Record]
    ) -> Iterator[tuple[Mark, float, Record, Any]]:
        """Yield each mark with its place, line and row."""
        for mark in self.marks:
            marked = own.query(mark.where)
            for at, record in enumerate(lines):
                for row in rows_with(marked, record.keys).itertuples(index=False):
                    if row.value == row.value:
                        yield mark, at + mark.lower, record, row

    def _one_scale(self, chosen: DataFrame) -> bool:
        panels = [rows_with(chosen, one.keys) for one in records_of(chosen, self.panel)]
        lines = [[line.keys for line, _ in self._named(own, WIDE)] for own in panels]
        return self.zero and all(own == lines[0] for own in lines)

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> Legend:
        from matplotlib.patches import Patch

        shown = [mark for mark in self.marks if len(chosen.query(mark.where))]
        handles = [
            _handle(color=MUTED.light, linestyle="none", marker=mark.marker or "o", **_fill(mark))
            for mark in shown
        ]
        texts = [mark.label for mark in shown]
        margins = chosen[chosen["margin"].notna()].drop_duplicates(["margin", "unit"])
        sizes = [
            percent(row.margin, 0) if row.unit in ("", "share") else f"{row.margin:g} {row.unit}"
            for row in margins.itertuples()
        ]
        if sizes:
            handles.append(Patch(facecolor=BAND.light, alpha=0.45, linewidth=0))
            texts.append(f"within ±{' or ±'.join(sizes)}")
        return handles, texts


def _fill(mark: Mark) -> dict[str, Any]:
    return {
        "markersize": 5.5,
        "fillstyle": "full" if mark.full else "none",
        "markeredgewidth": 1.2,
    }
