"""Figures of rows: nothing is cut off; the same bytes each time; legible on a dark screen."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from functools import cache

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from positionbias.experiments import endings
from positionbias.probe import shown as similarity
from positionbias.report import answer_positions
from positionbias.report.figure import (
    RowFigure,
    inline_svg,
)
from positionbias.report.presentation import Presentation

from . import invented

SHOWN: dict[str, tuple[Presentation, RowFigure]] = {
    "answers": (answer_positions.SHOWN, answer_positions.FIGURE),
    "ats": (similarity.CURVES, similarity.FIGURE),
    "training": (endings.SHOWN, endings.SHOWN.sections[0].figures[0]),
}


def drawn(figure_name: str, **names: str) -> Figure:
    shown, figure = SHOWN[figure_name]
    return figure.draw(shown.own(invented.measured(**names)))


every_figure = pytest.mark.parametrize("name", SHOWN)


@cache
def svg_of(name: str) -> str:
    """The figure as it is drawn by default."""
    return inline_svg(drawn(name), name, "a figure")


def parsed(svg: str) -> ElementTree.Element:
    """The element outside of a page, which knows the prefix of links."""
    return ElementTree.fromstring(svg.replace("<svg ", "<svg xmlns:xlink='xlink' ", 1))


HOSTILE = "_<script>alert('x')</script> & $\\frac{1}{$ \"q\" 日本"


def test_panels_of_one_histogram_share_a_scale() -> None:
    first, second = drawn("answers").axes
    assert first.get_ylim() == second.get_ylim()
    loss, _, mats, *_ = drawn("training").axes  # have a scale each
    assert loss.get_ylim() != mats.get_ylim()


@every_figure
def test_nothing_is_cut_off_and_the_legend_lies_over_no_panel(name: str) -> None:
    figure = drawn(name)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    box = figure.get_tightbbox(renderer)  # inches, of everything that is drawn
    wide, high = figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.01
    assert box.x1 <= wide + 0.01
    assert box.y1 <= high + 0.01
    legend = figure.legends[0].get_window_extent(renderer)
    for axes in figure.axes:
        assert not legend.overlaps(axes.get_window_extent(renderer))


def test_inline_svg_has_ids_of_its_own_and_only_those_in_use() -> None:
    figure = drawn("ats")
    one, other = (inline_svg(figure, prefix, "a <description> & more") for prefix in ("a", "b"))
    ids = [re.findall(r' id="([^"]+)"', text) for text in (one, other)]
    assert not set(ids[0]) & set(ids[1])
    used = (
        set(re.findall(r'href="#([^"]+)"', one))
        | set(re.findall(r"url\(#([^)]+)\)", one))
        | {"a-title"}
    )
    assert set(ids[0]) == used
    assert (
        'role="img" aria-labelledby="a-title"><title id="a-title">a &lt;description&gt; &amp; '
        "more</title>"
    ) in one
    assert "<style" not in one
    assert "font-family" not in one
    assert "http" not in one


def test_the_same_bytes_whatever_the_readers_own_settings() -> None:
    theirs = {
        "axes.facecolor": "red",
        "svg.fonttype": "path",
        "lines.linewidth": 9,
        "font.size": 30,
    }
    with matplotlib.rc_context(theirs):
        assert inline_svg(drawn("ats"), "ats", "a figure") == svg_of("ats")


@pytest.mark.parametrize("name", ["answers", "ats"])
def test_names_are_taken_as_they_are(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = inline_svg(drawn(name, name=HOSTILE, model=HOSTILE), name, HOSTILE)
    text = re.sub(r"\s+", "", "".join(parsed(svg).itertext()))
    assert re.sub(r"\s+", "", HOSTILE).lstrip("_") in text
    assert "<script>" not in svg
