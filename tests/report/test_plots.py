"""The figures: what is drawn is what was measured; the same bytes each time; legible on a dark
screen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from msgspec import structs

from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.report import curves, plots
from positionbias.report.drawing import same_scale
from positionbias.report.embed import inline_svg
from positionbias.report.figure import (
    BAND,
    FRAME,
    INK,
    MUTED,
    NARROW,
    SERIES,
    WIDE,
    dark_rules,
    save_figure,
    svg_text,
)
from positionbias.results.curves import AtsFigures, BinIntervals
from positionbias.results.result import Facts

from . import invented

RESULTS = invented.study()
FIGURES: dict[str, Callable[..., Figure]] = {
    "answer_positions": lambda **how: plots.answer_positions(RESULTS, **how),
    "ats_curves": lambda **how: curves.ats_curves(RESULTS, **how),
    "training_curves": lambda **how: curves.training_curves(RESULTS, **how),
}
every_figure = pytest.mark.parametrize("name", FIGURES)


@cache
def svg_of(name: str) -> str:
    """The figure as it is drawn by default."""
    return svg_text(FIGURES[name]())


HOSTILE = "_<script>alert('x')</script> & $\\frac{1}{$ \"q\" 日本"


def test_histogram_shows_shares_and_the_unbiased_curve() -> None:
    payload = next(r.payload for r in RESULTS if r.kind == "histogram")
    axes = plots.answer_positions(RESULTS).axes[0]
    filled, outline, unbiased = (patch.get_data() for patch in axes.patches)
    total = sum(payload.counts)  # type: ignore[union-attr]
    shares = [number / total for number in payload.counts]  # type: ignore[union-attr]
    assert list(filled.values) == list(outline.values) == pytest.approx(shares)
    assert list(unbiased.values) == pytest.approx(payload.expected)  # type: ignore[union-attr]
    assert axes.get_title(loc="left").strip() == "planted"
    assert sum(filled.values) == pytest.approx(1)


def test_histogram_bars_carry_their_intervals_where_there_are_some() -> None:
    result = next(r for r in RESULTS if r.kind == "histogram")
    assert not plots.answer_positions([result]).axes[0].collections[0].get_segments()
    low, high = [0.01] * 20, [0.5] * 20
    figures = structs.replace(
        result.payload.figures,
        bin_intervals=BinIntervals(low=low, high=high, level=0.95, method=""),
    )  # type: ignore[union-attr]
    figure = plots.answer_positions(
        [replace(result, payload=replace(result.payload, figures=figures))]
    )  # type: ignore[type-var]
    segments = figure.axes[0].collections[0].get_segments()
    # the first of 20 bins ends at 0.05: its line stands in the middle
    np.testing.assert_allclose(segments[0], [[0.025, 0.01], [0.025, 0.5]])
    assert figure.axes[0].get_ylim()[1] == pytest.approx(1.12 * 0.5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "what unbiased looks like",
        "95 % interval",
    ]


def test_histograms_in_a_grid_as_asked_for() -> None:
    histograms = [r for r in RESULTS if r.kind == "histogram"]
    figure = plots.answer_positions(
        [*histograms, *histograms, *histograms], columns=3, titles=list("abcdef")
    )
    assert [axes.get_title(loc="left").strip() for axes in figure.axes] == list("abcdef")
    left = [round(axes.get_subplotspec().colspan.start) for axes in figure.axes]
    assert left == [0, 1, 2, 0, 1, 2]
    outlines = [axes.patches[1].get_edgecolor() for axes in figure.axes]
    assert outlines[:3] == outlines[3:]  # a colour a column
    assert len(set(outlines[:3])) == 3


def test_panels_of_one_figure_share_their_scale() -> None:
    before, after = plots.answer_positions(RESULTS).axes
    assert before.get_ylim() == after.get_ylim()


def test_ats_curve_and_its_band() -> None:
    curve = next(r.payload for r in RESULTS if r.kind == "ats")
    axes = curves.ats_curves(RESULTS).axes[0]
    line, end = axes.lines[:2]
    np.testing.assert_allclose(line.get_ydata(), curve.ats)  # type: ignore[union-attr]
    # the curve was cut at Δ = 141 for lack of terms: a bar stands at its last point
    assert (list(end.get_xdata()), end.get_marker()) == ([140.0], "|")
    band = axes.collections[0].get_paths()[0].vertices
    low, high = curve.ats[0] - curve.std_pairs[0], curve.ats[0] + curve.std_pairs[0]  # type: ignore
    at_zero = band[band[:, 0] == 0][:, 1]
    assert (at_zero.min(), at_zero.max()) == pytest.approx((low, high))


def test_a_missing_delta_breaks_the_line() -> None:
    result = next(r for r in RESULTS if r.kind == "ats")
    payload = replace(
        result.payload,
        deltas=[0, 1, 3],
        ats=[1.0, 0.9, 0.8],
        std_pairs=[None, 0.1, 0.1],
        figures=AtsFigures(),
    )  # type: ignore[type-var]
    drawn = curves.ats_curves([replace(result, payload=payload)]).axes[0].lines
    np.testing.assert_array_equal(drawn[0].get_ydata(), [1.0, 0.9, np.nan, 0.8])
    assert len(drawn) == 1  # no bar: the curve was not cut


def test_training_curves_mark_the_weights_that_were_kept() -> None:
    figure = curves.training_curves(RESULTS)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Loss",
        "Validation nDCG@10",
        "MATS",
    ]
    curve = next(r.payload for r in RESULTS if r.kind == "training")
    line, kept = figure.axes[1].lines[:2]
    assert list(line.get_xdata()) == curve.steps  # type: ignore[union-attr]
    assert kept.get_xdata()[0] == curve.notes.best_step  # type: ignore[union-attr]
    assert kept.get_ydata()[0] == max(line.get_ydata())  # type: ignore[index, type-var]
    # no loss before the first step
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[0])  # type: ignore[index]


def test_training_curves_of_chosen_series() -> None:
    assert [
        axes.get_title(loc="left") for axes in curves.training_curves(RESULTS, series=["loss"]).axes
    ] == ["Loss"]


def test_figures_side_by_side_get_one_scale() -> None:
    other = [*invented.study("flat")[:-2], invented.training("x", "flat", 0.3)]
    figures = [curves.training_curves(RESULTS), curves.training_curves(other)]
    same_scale(figures, "y")
    for left, right in zip(*(figure.axes for figure in figures), strict=True):
        assert left.get_ylim() == right.get_ylim()
    # loss and MATS keep a scale of their own
    assert figures[0].axes[0].get_ylim() != figures[0].axes[2].get_ylim()


@every_figure
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_cut_off_and_the_legend_lies_over_no_panel(name: str, width: float) -> None:
    figure = FIGURES[name](width=width)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    drawn = figure.get_tightbbox(renderer)  # inches, of everything that is drawn
    wide, high = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= wide + 0.01
    assert drawn.y1 <= high + 0.01
    legend = figure.legends[0].get_window_extent(renderer)
    for axes in figure.axes:
        assert not legend.overlaps(axes.get_window_extent(renderer))


@every_figure
def test_every_colour_has_a_dark_partner(name: str) -> None:
    svg = svg_of(name)
    body = svg.split("</style>", 1)[1]
    used = set(re.findall(r"#[0-9a-f]{6}\b", body)) | set(
        re.findall(r"(?:fill|stroke): (?!none|#|inherit)([a-z]+)", body)
    )
    known = {colour.light for colour in (INK, MUTED, FRAME, BAND, *SERIES)}
    assert used <= known
    assert all(f": {colour}" in dark_rules() for colour in used)


@every_figure
def test_svg_is_one_image_that_loads_nothing(name: str) -> None:
    root = ElementTree.fromstring(svg_of(name))
    for element in root.iter():
        for key, value in element.attrib.items():
            if key.endswith("href"):
                assert value.startswith("#")
    assert not [
        element
        for element in root.iter()
        if element.tag.endswith(("}image", "}script", "}foreignObject"))
    ]


def test_inline_svg_has_ids_of_its_own_and_only_those_in_use() -> None:
    figure = curves.ats_curves(RESULTS)
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


@pytest.mark.parametrize("form", ["pdf", "png"])
def test_the_same_results_give_the_same_bytes(form: str, tmp_path: Path) -> None:
    places = [tmp_path / f"{number}.{form}" for number in (1, 2)]
    for place in places:
        save_figure(curves.ats_curves(invented.study()), place)
    assert places[0].read_bytes() == places[1].read_bytes()


def test_the_same_bytes_in_another_process_with_other_settings(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "axes.facecolor: red\nsvg.fonttype: path\nlines.linewidth: 9\nfont.size: 30\n"
    )
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.report import invented\n"
        "from positionbias.report import plots\nfrom positionbias.report.figure import "
        "save_figure\n"
        "save_figure(plots.answer_positions(invented.study()), sys.argv[2])\n"
    )
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
    }
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-c", program, str(root), str(tmp_path / "there.svg")],
        check=True,
        env=environment,
    )
    save_figure(plots.answer_positions(RESULTS), tmp_path / "here.svg")
    assert (tmp_path / "there.svg").read_bytes() == (tmp_path / "here.svg").read_bytes()


@pytest.mark.parametrize("name", ["answer_positions", "ats_curves"])
def test_names_are_taken_as_they_are(name: str) -> None:
    renamed = invented.renamed(RESULTS, HOSTILE)
    draw = {
        "answer_positions": plots.answer_positions,
        "ats_curves": curves.ats_curves,
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = svg_text(draw(renamed))  # type: ignore[operator]
    text = re.sub(r"\s+", "", "".join(ElementTree.fromstring(svg).itertext()))
    assert re.sub(r"\s+", "", HOSTILE).lstrip("_") in text
    assert "<script>" not in svg


def test_a_name_that_begins_with_an_underscore_stays_in_the_legend() -> None:
    found = [
        replace(result, system=f"_{result.system}") for result in RESULTS if result.kind == "ats"
    ]
    legend = curves.ats_curves(found).legends[0]
    assert [text.get_text().lstrip("\u200b") for text in legend.get_texts()][:2] == [
        "_tk-original",
        "_tk-rotated",
    ]


def test_a_model_is_one_line_on_whatever_passages_it_is_probed() -> None:
    probed = next(result for result in RESULTS if result.kind == "ats")
    found = [
        replace(
            probed,
            collection=name,
            facts=Facts(model="tk", training="original", test=test, seed=1, rotation=draw),
        )
        for name, test, draw in (("a", "original", None), ("a-rotated", "rotated", 1))
    ]
    figure = curves.ats_curves(found)
    assert (
        len([text for text in figure.legends[0].get_texts() if "too few" not in text.get_text()])
        == 1
    )
    first, second = (axes.lines[0].get_color() for axes in figure.axes)
    assert first == second


@pytest.mark.parametrize(
    "draw", [plots.answer_positions, curves.ats_curves, curves.training_curves]
)
def test_nothing_to_draw_is_one_clear_line(draw: Callable[..., Figure]) -> None:
    with pytest.raises(InputError, match="wanted a.* among the results; found none; give"):
        draw([])


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"wanted a figure's name ending in \.svg, \.png, \.pdf; found '\.gif'"
    ):
        save_figure(curves.ats_curves(RESULTS), tmp_path / "figure.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_not_written_over(tmp_path: Path) -> None:
    save_figure(curves.ats_curves(RESULTS), tmp_path / "figure.svg")
    with pytest.raises(OutputExistsError):
        save_figure(curves.ats_curves(RESULTS), tmp_path / "figure.svg")
    save_figure(curves.ats_curves(RESULTS), tmp_path / "figure.svg", overwrite=True)
