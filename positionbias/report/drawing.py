"""Drawing tools of figures: handles, wrapped labels, a legend that never covers the data."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.report.figure import BAND, SERIES, WIDE

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "DASHES",
    "MARKERS",
    "band_handle",
    "colour_of",
    "legend_above",
    "characters",
    "line_handle",
    "new_figure",
    "percent_marks",
    "required",
    "same_scale",
    "series_looks",
    "tick_places",
    "under_all",
    "wrap",
]

DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
MARKERS = ("o", "D", "s", "^")


def required(found: list[Any], what: str) -> list[Any]:
    """Return what was found.

    Raises:
        InputError: nothing was.
    """
    if not found:
        raise InputError(
            f"figure: wanted {what} among the results; found none; give the folder of a command "
            "that measures it"
        )
    return found


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with automatic spacing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    pads = {"w_pad": 0.06, "h_pad": 0.06, "wspace": 0.03, "hspace": 0.03}
    figure.get_layout_engine().set(**pads)  # type: ignore[call-arg, union-attr]
    return figure


def colour_of(index: int) -> str:
    """Return the light colour of a series; colours repeat after six."""
    return SERIES[index % len(SERIES)].light


def series_looks(index: int) -> dict[str, str]:
    """Return colour, dashes and marker of a series, distinguishable without the colour."""
    return {
        "color": colour_of(index),
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def line_handle(colour: str, style: Any, **more: Any) -> Any:
    """Return a legend entry for a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linestyle=style, **more)


def band_handle() -> Any:
    """Return a legend entry for the grey band."""
    from matplotlib.patches import Patch

    return Patch(facecolor=BAND.light, alpha=0.45, linewidth=0)


def tick_places(width: float) -> Any:
    """Return a locator of as many ticks as have room for labels of about six characters."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=max(3, int(width * 1.2)), steps=[1, 2, 5, 10])


def percent_marks(axis: Axis, width: float = WIDE, *, sign: bool = False) -> None:
    """Label an axis of fractions in per cent, with decimals where a tick is no whole per cent."""

    def label(value: float, _: float) -> str:
        return percent(value, 0 if abs(100 * value - round(100 * value)) < 1e-9 else 1, sign=sign)

    axis.set_major_locator(tick_places(width))
    axis.set_major_formatter(label)


def same_scale(figures: Sequence[Figure], axes_names: str) -> None:
    """Give figures shown side by side one scale, panel by panel; by panel title where titles
    repeat.

    ``axes_names`` holds "x", "y" or both. Panels that share an axis within a figure follow each
    other anyway.
    """
    for name in axes_names:
        panels: dict[str, list[Any]] = {}
        for figure in figures:
            shown = [axes for axes in figure.axes if axes.axison]
            linked = all(
                getattr(shown[0], f"get_shared_{name}_axes")().joined(shown[0], axes)
                for axes in shown
            )
            for axes in shown:
                panels.setdefault("" if linked else axes.get_title(loc="left"), []).append(axes)
        for group in panels.values():
            limits = [getattr(axes, f"get_{name}lim")() for axes in group]
            for axes in group:
                getattr(axes, f"set_{name}lim")(min(map(min, limits)), max(map(max, limits)))


def under_all(figure: Figure, text: str, width: float) -> None:
    """Draw one label below all panels: it has the figure's whole width, where a panel may be too
    narrow.
    """
    figure.supxlabel(wrap(text, characters(width + 0.5)), fontsize=10)


def characters(width: float) -> int:
    """Return about how many characters fit into so many inches."""
    return int((width - 0.8) / 0.088)


def wrap(text: str, room: int) -> str:
    """Break text into lines of at most ``room`` characters."""
    return "\n".join(textwrap.wrap(text, max(8, room))) or text


def legend_above(figure: Figure, handles: list[Any], texts: Sequence[str], width: float) -> None:
    """Draw a legend above the panels, never over the data, in as many columns as the longest entry
    allows.

    Figures have room for three lines of it; for more, the figure grows, so that the panels keep
    their height.
    """
    wrapped = [wrap(text, characters(width)) for text in texts]
    longest = max(max(map(len, text.split("\n"))) for text in wrapped)
    columns = max(1, min(len(texts), int((width - 0.1) / (0.088 * longest + 0.55))))
    rows = -(-len(texts) // columns)
    lines = sum(max(text.count("\n") + 1 for text in wrapped[row::rows]) for row in range(rows))
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, lines - 3))
    # matplotlib omits labels that begin with "_"; a zero-width character in front keeps them
    shown = [f"\u200b{text}" if text.startswith("_") else text for text in wrapped]
    figure.legend(
        handles, shown, loc="outside upper left", ncols=columns, handlelength=2.4, columnspacing=1.6
    )
