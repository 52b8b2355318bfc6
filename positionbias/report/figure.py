"""Look and saving of every figure: the same bytes for the same results, legible on white and on
dark.

A figure is drawn in the light colours on a transparent ground. Its SVG carries a few rules that
turn each of these colours into its dark partner where the reader's screen is dark; a viewer that
knows no such rules shows the light colours. Text stays text: it can be searched, and takes the
page's font.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.publish import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BAND",
    "FRAME",
    "INK",
    "MUTED",
    "NARROW",
    "SERIES",
    "WIDE",
    "Colour",
    "dark_rules",
    "save_figure",
    "styled",
    "svg_text",
]

WIDE, NARROW = 6.3, 3.5  # inches: a page's column; a phone's or a paper's
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
        if form == "svg":
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
        with _laid_out(figure) if form == "svg" else nullcontext():
            figure.savefig(out, format=form, metadata=empty, transparent=form != "png")
    return out.getvalue()


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Place a figure's parts for SVG; else saving draws all of it once more to do so."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine, canvas, dpi = figure.get_layout_engine(), figure.canvas, figure.dpi
    if engine is None:
        yield
        return
    FigureCanvasSVG(figure)  # text is measured as it will be drawn
    figure.dpi = 72
    engine.execute(figure)
    figure.set_layout_engine("none")
    figure.canvas, figure.dpi = canvas, dpi
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def svg_text(figure: Figure) -> str:
    """Return the figure as an SVG document that follows the reader's light or dark screen."""
    text = _drawn(figure, "svg").decode("utf-8")
    rules = f'<style type="text/css">{dark_rules()}</style>'
    return re.sub(r"(<svg\b[^>]*>)", lambda opening: f"{opening[1]}\n {rules}", text, count=1)


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
