"""Figures declared over rows: lines along an axis, shares of bins, points of two statistics, and
marks with their intervals, in panels.

A figure is drawn in the light colours on a transparent ground; on the page they become variables,
which have another value on a dark screen. Text stays text: it can be searched, and takes the page's
font. The same results give the same bytes.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pandas import DataFrame

from positionbias.core.errors import InputError
from positionbias.report.record import Record, records_of, rows_with, said
from positionbias.text.formatting import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDE = 6.3  # inches: a page's column
MARKED = 20  # points of a line that need no markers
MOST_TICKS = 8  # places of a logarithmic axis that all have a tick
CSS_PIXELS_PER_POINT = 4 / 3
STYLE = Path(__file__).parent / "templates" / "figure.mplstyle"


class Colour(NamedTuple):
    """A colour and its counterpart on a dark ground."""

    light: str
    dark: str


INK = Colour("#1f2328", "#e4e7eb")
MUTED = Colour("#5a626b", "#a6aeb8")
FRAME = Colour("#868e96", "#7d8590")
BAND = Colour("#c9ced4", "#4a5058")
# The first two are the blue and vermilion of Okabe and Ito, distinguishable with any colour vision;
# the others join them.
SERIES = (
    Colour("#0072b2", "#5cb8f0"),
    Colour("#c94f00", "#ff9a57"),
    Colour("#00805c", "#3fd0a4"),
    Colour("#a03d80", "#e79ac9"),
    Colour("#7a6200", "#d8bd55"),
    Colour("#5b5fc7", "#a9acff"),
)
COLOURS: Mapping[str, Colour] = {  # by the name of their variable on the page
    "ink": INK,
    "muted": MUTED,
    "frame": FRAME,
    "band": BAND,
    **{f"series-{number}": colour for number, colour in enumerate(SERIES, 1)},
}
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
MARKERS = ("o", "D", "s", "^")


def _matplotlib() -> Any:
    """Return matplotlib, which takes a second to load."""
    import matplotlib.figure

    return matplotlib


def _styled() -> AbstractContextManager[None]:
    """Apply our style meanwhile, whatever the reader's own matplotlib settings."""
    return _matplotlib().rc_context(fname=STYLE)


def _looks(index: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a series, distinguishable without the colour."""
    return {
        "color": SERIES[index % len(SERIES)].light,
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def _handle(**looks: Any) -> Any:
    return _matplotlib().lines.Line2D([], [], **{"markersize": 4, **looks})


def _characters(width: float) -> int:
    """Return about how many characters fit into so many inches."""
    return max(8, int((width - 0.8) / 0.088))


def _wrapped(text: str, room: int) -> str:
    """Break text into lines of at most ``room`` characters."""
    return textwrap.fill(text, max(8, room)) or text


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigure:
    """A figure over the rows that ``where`` chooses, a panel for each combination of ``panel``, at
    most so many (``most``) side by side.

    ``series`` is the key whose values have a colour, a dash and a marker each, in the order of all
    rows; ``heading`` is the template of a panel's title. With ``one_scale`` panels share theirs.
    """

    name: str
    where: str
    caption: Callable[[DataFrame], str]
    panel: Sequence[str] = ("measure",)
    heading: str = "{measure}"
    series: str = "kind"
    below: str = ""
    side: str = ""
    tall: float = 2.3
    most: int = 3
    from_zero: bool = False
    one_scale: bool = False

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
        chosen, looks = rows.query(self.where), self._series(rows)
        panels = self._panels(chosen)
        across = 2 if len(panels) == 4 and self.most > 2 else min(len(panels), self.most)
        down, room = -(-len(panels) // across), width / across
        tall = max(self._height(part, room) for _, part in panels)
        with _styled():
            figure = _matplotlib().figure.Figure(
                figsize=(width, 0.85 + tall * down), layout="constrained"
            )
            grid = figure.subplots(down, across, squeeze=False, sharey=self._shares(chosen))
            for axes, (record, part) in zip(grid.flat, panels, strict=False):
                self._panel(axes, part, looks, room)
                lines = said(self.heading, record).split("\n")
                axes.set_title("\n".join(_wrapped(line, self._title_room(room)) for line in lines))
            for place, axes in enumerate(grid.flat):
                if place >= len(panels):
                    axes.set_axis_off()
                elif self.from_zero:  # when all panels of one scale are drawn
                    axes.set_ylim(bottom=0)
            for axes in grid[:, 0]:
                axes.set_ylabel(self.side)
            figure.supxlabel(_wrapped(self.below, _characters(width + 0.5)), fontsize=10)
            if entries := self._legend(chosen, looks):
                _legend_above(figure, entries, width)
        return figure

    def _panels(self, chosen: DataFrame) -> list[tuple[Record, DataFrame]]:
        records = records_of(chosen, self.panel)
        return [(record, rows_with(chosen, record.keys)) for record in records]

    def _shares(self, chosen: DataFrame) -> bool:
        return self.one_scale

    def _series(self, rows: DataFrame) -> Mapping[str, int]:
        names = [name for name in rows[self.series].unique() if name not in ("", "all")]
        return {name: place for place, name in enumerate(names)}

    def _height(self, part: DataFrame, width: float) -> float:
        return self.tall

    def _title_room(self, width: float) -> int:
        return _characters(width + 0.3)

    def _look(self, index: int) -> dict[str, Any]:
        return _looks(index)

    def _panel(self, axes: Axes, part: DataFrame, looks: Mapping[str, int], width: float) -> None:
        raise NotImplementedError

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> dict[str, Any]:
        shown = set(chosen[self.series])
        return {name: _handle(**self._look(at)) for name, at in looks.items() if name in shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(RowFigure):
    """A value along the rows' axis, a line for each of the series, seed and rotation draw, with its
    interval as a band. ``log``: the axis is logarithmic.
    """

    log: bool = False

    def _panel(self, axes: Axes, part: DataFrame, looks: Mapping[str, int], width: float) -> None:
        drawn = part[part["value"].notna() & part[self.series].isin(list(looks))]
        for (name, *_), line in drawn.groupby([self.series, "seed", "rotation"]):
            line, line_looks = line.sort_values("at"), _looks(looks[name])
            if len(line) >= MARKED:
                line_looks["marker"] = ""
            axes.plot(line["at"], line["value"], markersize=3.6, **line_looks)
            band, colour = line[line["low"].notna()], line_looks["color"]
            axes.fill_between(
                band["at"], band["low"], band["high"], color=colour, alpha=0.16, linewidth=0
            )
        if self.log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(_matplotlib().ticker.ScalarFormatter())
            axes.set_xticks([], minor=True)
            if len(places := drawn["at"].unique()) <= MOST_TICKS:
                axes.set_xticks(places)
        else:
            axes.set_xlim(left=0)
            most = max(3, int(2 * width))
            ticks = _matplotlib().ticker.MaxNLocator(most, integer=True)
            axes.xaxis.set_major_locator(ticks)
        axes.ticklabel_format(axis="y", useOffset=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(RowFigure):
    """Two statistics of every ``point``, with the line of equal values."""

    across: str
    up: str
    point: str = "run"
    tall: float = 3.25

    def _look(self, index: int) -> dict[str, Any]:
        return {**_looks(index), "linestyle": "none", "fillstyle": "none", "markersize": 4.6}

    def _panel(self, axes: Axes, part: DataFrame, looks: Mapping[str, int], width: float) -> None:
        for name, place in looks.items():
            points = part[part[self.series] == name].pivot_table("value", self.point, "statistic")
            if not points.empty:
                axes.plot(points[self.across], points[self.up], **self._look(place))
        drawn = part[part["statistic"].isin([self.across, self.up])]["value"]
        room = 0.04 * (drawn.max() - drawn.min()) or 0.05
        ends = (drawn.min() - room, drawn.max() + room)
        axes.plot(ends, ends, color=INK.light, linewidth=0.9, zorder=1)
        axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.grid(True, axis="both")

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> dict[str, Any]:
        equal = _handle(color=INK.light, linewidth=0.9)
        return {**RowFigure._legend(self, chosen, looks), "equal scores": equal}


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(RowFigure):
    """Shares of bins with their intervals, beside what is ``expected``, as the legend names it."""

    expected: str
    series: str = "measure"
    from_zero: bool = True
    one_scale: bool = True

    def _panel(self, axes: Axes, part: DataFrame, looks: Mapping[str, int], width: float) -> None:
        at, wide, colour = part["at"].to_numpy(), 1 / len(part), SERIES[0].light
        edges = [*(at - wide / 2), at[-1] + wide / 2]
        axes.stairs(part["value"], edges, fill=True, color=colour, alpha=0.3, linewidth=0)
        axes.stairs(part["value"], edges, color=colour, linewidth=1.4)
        axes.stairs(part["expected"], edges, baseline=None, color=INK.light, linestyle=DASHES[1])
        axes.vlines(at, part["low"], part["high"], color=colour, linewidth=1.1)
        axes.set_xlim(edges[0], edges[-1])
        _percent_marks(axes.yaxis)

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> dict[str, Any]:
        bar = _handle(color=MUTED.light, linestyle="none", marker="|", markersize=11)
        expected = _handle(color=INK.light, linestyle=DASHES[1])
        return {self.expected: expected, "95 % interval": bar}


class Mark(NamedTuple):
    """A mark of a forest: its rows, its explanation, and its place below the line's middle."""

    where: str
    label: str
    marker: str = ""
    full: bool = True
    lower: float = 0.0

    @property
    def looks(self) -> dict[str, Any]:
        """The marker's size and filling, without a line."""
        filled = "full" if self.full else "none"
        return {"markersize": 5.5, "fillstyle": filled, "markeredgewidth": 1.2, "linestyle": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest(RowFigure):
    """A line for each combination of ``line`` (named by ``name_of``) with its marks and their
    intervals. ``zero`` draws the line of no effect; rows with a margin have it as a band around
    that.
    """

    line: Sequence[str]
    name_of: str
    marks: Sequence[Mark]
    zero: bool = True

    def _names(self, part: DataFrame, width: float) -> list[str]:
        room = int(_characters(width) * 0.45)
        names = (said(self.name_of, record) for record in records_of(part, self.line))
        return [_wrapped(name, room) for name in names]

    def _height(self, part: DataFrame, width: float) -> float:
        names = self._names(part, width)
        most = max((name.count("\n") for name in names), default=0)
        return 0.55 + len(names) * (0.12 + 0.1 * len(self.marks) + 0.16 * most)

    def _title_room(self, width: float) -> int:
        return int(_characters(width) * 0.6)  # beside the names of lines

    def _panel(self, axes: Axes, part: DataFrame, looks: Mapping[str, int], width: float) -> None:
        if self.zero:
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
        margin = part["margin"].max()
        if margin == margin:
            axes.axvspan(-margin, margin, color=BAND.light, alpha=0.45, linewidth=0, zorder=0)
        for at, record in enumerate(records_of(part, self.line)):
            for mark in self.marks:
                rows = rows_with(part.query(mark.where), record.keys)
                for row in rows[rows["value"].notna()].itertuples():
                    look, place = _looks(looks.get(getattr(row, self.series), 0)), at + mark.lower
                    look |= {**mark.looks, "marker": mark.marker or look["marker"]}
                    if row.low == row.low:
                        thick = 1.8 if mark.full else 1.2
                        axes.plot([row.low, row.high], [place] * 2, color=look["color"], lw=thick)
                    axes.plot([row.value], [place], **look, zorder=3)
        names = self._names(part, width)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.locator_params(axis="x", nbins=max(3, int(1.5 * width)))
        if (part["unit"] == "share").all():
            _percent_marks(axes.xaxis, sign=True)
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0, labelcolor=INK.light)

    def _shares(self, chosen: DataFrame) -> bool:
        names = {tuple(self._names(part, WIDE)) for _, part in self._panels(chosen)}
        return self.zero and len(names) == 1

    def _legend(self, chosen: DataFrame, looks: Mapping[str, int]) -> dict[str, Any]:
        entries: dict[str, Any] = {
            mark.label: _handle(**mark.looks | {"color": MUTED.light, "marker": mark.marker or "o"})
            for mark in self.marks
            if len(chosen.query(mark.where))
        }
        if chosen["margin"].notna().any():
            band = _matplotlib().patches.Patch
            entries["within the margin"] = band(facecolor=BAND.light, alpha=0.45, linewidth=0)
        return entries


def _percent_marks(axis: Axis, *, sign: bool = False) -> None:
    """Label an axis of fractions in per cent, with decimals where a tick is no whole per cent."""

    def label(value: float, _: float) -> str:
        return percent(value, 0 if abs(100 * value - round(100 * value)) < 1e-9 else 1, sign=sign)

    axis.set_major_formatter(label)


def _legend_above(figure: Figure, entries: Mapping[str, Any], width: float) -> None:
    """Draw a legend above the panels, in as many columns as its longest entry allows."""
    lines_of = [_wrapped(text, _characters(width)) for text in entries]
    longest = max(len(line) for text in lines_of for line in text.split("\n"))
    columns = max(1, min(len(entries), int(width / (0.088 * longest + 0.55))))
    # matplotlib omits labels that begin with "_"; a zero-width character in front keeps them
    shown = [f"\u200b{text}" if text.startswith("_") else text for text in lines_of]
    lines = -(-sum(text.count("\n") + 1 for text in lines_of) // columns)
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, lines - 3))
    figure.legend(
        list(entries.values()), shown, loc="outside upper left", ncols=columns, handlelength=2.4
    )


_REFERENCE = re.compile(r"""((?:xlink:href="|url\()#)([^")]+)""")


def inline_svg(figure: Figure, prefix: str, description: str) -> str:
    """Return the ``<svg>`` element for a page: an image named by ``description``, no wider than it
    was drawn.

    The page supplies the colours and the font. Ids that nothing refers to are removed, the others
    begin with ``prefix``; coordinates have a hundredth of a point.
    """
    out = io.StringIO()
    with _styled(), warnings.catch_warnings():
        # the reader's own font draws the text; glyphs missing from ours do not matter
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="svg", transparent=True)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    used = {name for _, name in _REFERENCE.findall(text)}
    text = re.sub(
        r' id="([^"]+)"', lambda id_: f' id="{prefix}-{id_[1]}"' if id_[1] in used else "", text
    )
    text = _REFERENCE.sub(rf"\1{prefix}-\2", text)
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"font-family: [^;\"]*(; )?", "", text)
    text = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)
    text = re.sub(r">\s+<", "><", text)
    for name, colour in COLOURS.items():
        text = text.replace(f": {colour.light}", f": var(--{name})")
    box = re.search(r'viewBox="0 0 ([\d.]+) [^"]*"', text)
    assert box
    opening = (
        f'<svg {box[0]} style="max-width:{float(box[1]) * CSS_PIXELS_PER_POINT:.0f}px" role="img" '
        f'aria-labelledby="{prefix}-title"><title id="{prefix}-title">{escape(description)}</title>'
    )
    return re.sub(r"<svg\b[^>]*>", lambda _: opening, text, count=1).strip()
