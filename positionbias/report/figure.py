"""Look, parts and saving of every figure: the same bytes for the same results, legible on white
and on dark.

A figure is drawn in the light colours on a transparent ground. Its SVG carries a few rules that
turn each of these colours into its dark partner where the reader's screen is dark; a viewer that
knows no such rules shows the light colours. Text stays text: it can be searched, and takes the
page's font.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.formatting import percent
from positionbias.core.publish import atomic_file

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "BAND",
    "DASHES",
    "FRAME",
    "INK",
    "MUTED",
    "NARROW",
    "SERIES",
    "WIDE",
    "Colour",
    "characters",
    "colour_of",
    "dark_rules",
    "inline_svg",
    "legend_above",
    "percent_marks",
    "same_scale",
    "save_figure",
    "series_looks",
    "styled",
    "svg_text",
    "wrap",
]

WIDE, NARROW = 6.3, 3.5  # inches: a page's column; a paper's
CSS_PIXELS_PER_POINT = 4 / 3
FORMATS = ("svg", "png", "pdf")


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

_STYLE: dict[str, object] = {
    "axes.edgecolor": FRAME.light,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.labelcolor": INK.light,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK.light,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.unicode_minus": True,
    "figure.dpi": 96,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 10,
    "grid.color": BAND.light,
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.borderaxespad": 0.0,
    "legend.labelcolor": INK.light,
    "lines.linewidth": 1.8,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "positionbias",
    "text.color": INK.light,
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": FRAME.light,
    "xtick.labelcolor": MUTED.light,
    "xtick.labelsize": 9.5,
    "ytick.color": FRAME.light,
    "ytick.labelcolor": MUTED.light,
    "ytick.labelsize": 9.5,
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply our style, whatever the reader's own matplotlib settings."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


def dark_rules() -> str:
    """Return CSS that turns each light colour into its dark counterpart.

    The selectors name no ancestor: what ``<use>`` draws is a separate tree, in which ancestors are
    not found.
    """
    colours = dict.fromkeys((INK, MUTED, FRAME, BAND, *SERIES))
    rules = (
        f'[style*="{part}: {colour.light}"]{{{part}:{colour.dark} !important}}'
        for colour in colours
        for part in ("fill", "stroke")
    )
    return "@media screen and (prefers-color-scheme: dark){" + "".join(rules) + "}"


# --- parts of figures -----------------------------------------------------------------------------

DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
MARKERS = ("o", "D", "s", "^")


def colour_of(index: int) -> str:
    """Return the light colour of a series; colours repeat after six."""
    return SERIES[index % len(SERIES)].light


def series_looks(index: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a series, distinguishable without the colour."""
    return {
        "color": colour_of(index),
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def characters(width: float) -> int:
    """Return about how many characters fit into so many inches."""
    return max(8, int((width - 0.8) / 0.088))


def wrap(text: str, room: int) -> str:
    """Break text into lines of at most ``room`` characters."""
    return textwrap.fill(text, max(8, room)) or text


def percent_marks(axis: Axis, *, sign: bool = False) -> None:
    """Label an axis of fractions in per cent, with decimals where a tick is no whole per cent."""

    def label(value: float, _: float) -> str:
        return percent(value, 0 if abs(100 * value - round(100 * value)) < 1e-9 else 1, sign=sign)

    axis.set_major_formatter(label)


def legend_above(figure: Figure, handles: list[Any], texts: Sequence[str], width: float) -> None:
    """Draw a legend above the panels, never over the data, in as many columns as its longest entry
    allows.
    """
    wrapped = [wrap(text, characters(width)) for text in texts]
    longest = max(len(line) for text in wrapped for line in text.split("\n"))
    columns = max(1, min(len(texts), int(width / (0.088 * longest + 0.55))))
    # matplotlib omits labels that begin with "_"; a zero-width character in front keeps them
    shown = [f"\u200b{text}" if text.startswith("_") else text for text in wrapped]
    lines = -(-sum(text.count("\n") + 1 for text in wrapped) // columns)
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, lines - 3))
    figure.legend(handles, shown, loc="outside upper left", ncols=columns, handlelength=2.4)


def same_scale(figures: Sequence[Figure], axes_names: str) -> None:
    """Give figures shown side by side one scale on these axes ("x", "y"), by panel title."""
    for name in axes_names:
        panels: dict[str, list[Any]] = {}
        for axes in (axes for figure in figures for axes in figure.axes if axes.axison):
            panels.setdefault(axes.get_title(loc="left"), []).append(axes)
        for group in panels.values():
            limits = [getattr(axes, f"get_{name}lim")() for axes in group]
            for axes in group:
                getattr(axes, f"set_{name}lim")(min(map(min, limits)), max(map(max, limits)))


# --- saving ---------------------------------------------------------------------------------------


def _drawn(figure: Figure, form: str) -> bytes:
    # No date and no writer's name: the same results give the same bytes. A PNG gets a white ground,
    # as it has no rules.
    empty = {
        "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }[form]
    out = io.BytesIO()
    with styled(), warnings.catch_warnings():
        # the reader's own font draws the text; glyphs missing from ours do not matter
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format=form, metadata=empty, transparent=form != "png")
    return out.getvalue()


def svg_text(figure: Figure) -> str:
    """Return the figure as an SVG document that follows the reader's light or dark screen."""
    text = _drawn(figure, "svg").decode("utf-8")
    rules = f'<style type="text/css">{dark_rules()}</style>'
    return re.sub(r"(<svg\b[^>]*>)", lambda opening: f"{opening[1]}\n {rules}", text, count=1)


_REFERENCE = re.compile(r"""((?:xlink:href="|url\()#)([^")]+)""")


def inline_svg(figure: Figure, prefix: str, description: str) -> str:
    """Return the ``<svg>`` element for a page: an image named by ``description``, no wider than it
    was drawn.

    The page supplies dark-screen rules and the font. Ids that nothing refers to are removed, the
    others begin with ``prefix``; coordinates have a hundredth of a point.
    """
    text = _drawn(figure, "svg").decode("utf-8")
    text = text[text.index("<svg") :]
    used = {name for _, name in _REFERENCE.findall(text)}
    text = re.sub(
        r' id="([^"]+)"', lambda own: f' id="{prefix}-{own[1]}"' if own[1] in used else "", text
    )
    text = _REFERENCE.sub(rf"\1{prefix}-\2", text)
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"font-family: [^;\"]*(; )?", "", text)
    text = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)
    text = re.sub(r">\s+<", "><", text)
    box = re.search(r'viewBox="0 0 ([\d.]+) [^"]*"', text)
    assert box
    opening = (
        f'<svg {box[0]} style="max-width:{float(box[1]) * CSS_PIXELS_PER_POINT:.0f}px" role="img" '
        f'aria-labelledby="{prefix}-title"><title id="{prefix}-title">{escape(description)}</title>'
    )
    return re.sub(r"<svg\b[^>]*>", lambda _: opening, text, count=1).strip()


def save_figure(figure: Figure, path: Path | str, *, overwrite: bool = False) -> None:
    """Write a figure as ``.svg``, ``.png`` or ``.pdf``, by its ending; whole or not at all.

    Raises:
        SettingError: another ending.
        OutputExistsError: the file exists and ``overwrite`` is false.
    """
    path = Path(path)
    form = path.suffix.lower().lstrip(".")
    if form not in FORMATS:
        raise SettingError(
            f"{path}: wanted a figure's name ending in "
            f"{', '.join('.' + name for name in FORMATS)}; found {path.suffix or 'no ending'!r}; "
            "give --plot such a name"
        )
    data = svg_text(figure).encode("utf-8") if form == "svg" else _drawn(figure, form)
    with atomic_file(path, overwrite=overwrite) as partial:
        partial.write_bytes(data)
