"""An audit on a page and in figures: what is drawn is what was measured; sections, captions, and
several audits beside each other.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit import captions as audit_captions
from positionbias.audit import figure_tables as audit_data
from positionbias.audit import page as audit_page
from positionbias.audit.curves import response_figure
from positionbias.audit.plots import (
    gain_figure,
    length_figure,
    movement_figure,
    quality_figure,
    segment_figure,
)
from positionbias.audit.select import series_of
from positionbias.core.errors import InputError
from positionbias.report.figure import MUTED, NARROW, svg_text
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.results.buckets import QueryBuckets
from positionbias.results.result import Facts, Result, save_results
from tests.bucket_figures import bucket_figures

from . import invented_audit
from .test_html import check

ONE = invented_audit.audit()
FOUR = invented_audit.audit(invented_audit.FOUR)
NAMES = [
    "position-response",
    "quality-by-position",
    "quality-by-characters",
    "quality-within-lengths",
    "gain-by-position",
    "rotation-gap-by-movement",
    "segment-similarity",
]


def payload_of(
    results: list[Result], system: str, scale: str, quality: str = "nDCG@10", group: str = ""
) -> QueryBuckets:
    for result in results:
        p = result.payload
        if isinstance(p, QueryBuckets) and (result.system, p.scale, p.quality, p.group) == (
            system,
            scale,
            quality,
            group,
        ):
            return p
    raise AssertionError(f"no {scale} of {system}")


def test_every_figure_has_its_name() -> None:
    assert list(audit_page.audit_figures(ONE)) == ["effects", *NAMES]
    assert list(audit_page.audit_figures(FOUR, width=NARROW)) == ["compared", *NAMES]
    assert audit_page.audit_figures([]) == {}
    assert list(
        audit_page.audit_figures([r for r in ONE if r.measure == "segment similarity"])
    ) == ["segment-similarity"]


def test_quality_is_drawn_in_the_middle_of_each_bucket_and_breaks_where_one_is_missing() -> None:
    figure = quality_figure(ONE)
    payload = payload_of(ONE, "minilm", "relative")
    first_stage, model = sorted(figure.axes[0].lines, key=lambda line: line.get_zorder())
    assert list(model.get_xdata())[:2] == pytest.approx([0.025, 0.075])
    np.testing.assert_allclose(
        model.get_ydata(), [np.nan if m is None else m for m in payload.means]
    )
    assert np.isnan(model.get_ydata()[-1])
    assert first_stage.get_color() == MUTED.light
    assert first_stage.get_linestyle() != model.get_linestyle()
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (
        pytest.approx(min(v for v in payload.lows if v is not None)),
        pytest.approx(max(v for v in payload.highs if v is not None)),
    )


def test_a_bucket_between_two_empty_ones_keeps_its_interval() -> None:
    means, lows, highs = ([None, value, None] for value in (0.5, 0.4, 0.7))
    figures = bucket_figures()
    payload = QueryBuckets(
        "relative", "nDCG@10", [0, 0.2, 0.4, 0.6], [1, 30, 1], means, lows, highs, figures=figures
    )
    axes = quality_figure([Result("PSI", "c", "test", "m", 1, None, None, 32, payload)]).axes[0]
    upright = [list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 2]
    assert upright == [[0.4, 0.7]]


def test_more_than_three_systems_have_a_panel_each_with_the_first_stage_in_all() -> None:
    figure = quality_figure(FOUR)
    assert [
        axes.get_title(loc="left").replace("\n", " ").replace("- ", "-") for axes in figure.axes
    ] == list(invented_audit.FOUR)
    assert [len(axes.lines) for axes in figure.axes] == [2] * 4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bm25 (first stage)"]
    three = invented_audit.audit(dict(list(invented_audit.FOUR.items())[:3]))
    assert len(quality_figure(three).axes) == 1
    assert len(movement_figure(FOUR).axes) == 4


def test_systems_keep_their_looks_in_all_figures() -> None:
    looks = [(s.colour, str(s.dash), s.marker) for s in series_of(FOUR).values()]
    assert len(set(looks)) == 5
    colours = {line.get_color() for line in response_figure(FOUR).axes[1].lines}
    assert colours == {colour for colour, _, _ in looks[:-1]}
    many = invented_audit.audit({f"m{number}": 0.5 for number in range(12)}, first_stage=False)
    assert len({(s.colour, str(s.dash)) for s in series_of(many).values()}) == 12


def test_a_panel_a_group_of_lengths() -> None:
    figure = length_figure(ONE)
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(invented_audit.GROUPS[1:])
    payload = payload_of(ONE, "minilm", "relative", group="159 to 653 words")
    drawn = max(figure.axes[3].lines, key=lambda line: line.get_zorder()).get_ydata()
    np.testing.assert_allclose(drawn, [np.nan if m is None else m for m in payload.means])


def test_a_group_without_a_value_has_no_panel() -> None:
    def empty(result: Result) -> Result:
        p = result.payload
        if isinstance(p, QueryBuckets) and p.group and p.group != invented_audit.GROUPS[2]:
            none = [None] * len(p.means)
            return replace(result, payload=replace(p, means=none, lows=none, highs=none))
        return result

    one = [empty(result) for result in ONE]
    assert [axes.get_title(loc="left") for axes in length_figure(one).axes] == [
        invented_audit.GROUPS[2]
    ]
    nothing = [
        r
        for r in one
        if not isinstance(r.payload, QueryBuckets) or r.payload.group != invented_audit.GROUPS[2]
    ]
    assert "quality-within-lengths" not in audit_page.audit_figures(nothing)


def test_the_first_stage_comes_last_wherever_it_stands() -> None:
    first = sorted(ONE, key=lambda result: result.system != "bm25")
    assert first[0].system == "bm25"
    assert [text.get_text() for text in quality_figure(first).legends[0].get_texts()] == [
        "minilm",
        "bm25 (first stage)",
    ]


def test_the_gap_by_movement() -> None:
    axes = movement_figure(ONE).axes[0]
    payload = payload_of(ONE, "minilm", "moved", "change of nDCG@10")
    line = next(line for line in axes.lines if len(list(line.get_xdata())) == len(payload.means))
    assert list(line.get_xdata()) == pytest.approx(
        [(a + b) / 2 for a, b in pairwise(payload.edges)]
    )
    assert list(line.get_ydata()) == payload.means
    assert axes.get_xlim() == (-1, 1)


def test_the_gain_over_the_first_stage() -> None:
    axes = gain_figure(ONE).axes[0]
    payload = payload_of(ONE, "minilm", "relative", "gain in nDCG@10 over bm25")
    line = next(line for line in axes.lines if len(list(line.get_xdata())) == len(payload.means))
    assert list(line.get_ydata()) == payload.means
    assert axes.get_ylabel() == "Gain in nDCG@10 over bm25"
    assert (
        "Slope over the whole passage: minilm −0.072 [−0.082, −0.062]."
        in audit_captions.gain_caption(ONE).replace("\N{NO-BREAK SPACE}", " ")
    )
    (table,) = [t for t in [audit_data.gain_table(ONE)] if t.rows]
    assert len(table.rows) == 20


def test_the_response_shows_score_and_rank() -> None:
    score, rank = response_figure(ONE).axes
    assert list(rank.lines[0].get_ydata()) == pytest.approx(
        [0.78 - 0.054 * i / 10 for i in range(11)]
    )
    assert len(score.collections) == 1
    unranked = [
        replace(r, payload=replace(r.payload, ranks=[None] * 11))  # type: ignore[type-var]
        for r in ONE
        if r.measure == "position response"
    ]
    assert len(response_figure(unranked).axes) == 1


def test_thirds() -> None:
    axes = segment_figure(FOUR).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "first third",
        "middle third",
        "last third",
    ]
    assert next(
        list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 3
    ) == pytest.approx([0.852, 0.762, 0.725])


def test_what_is_missing_is_one_clear_line() -> None:
    for draw, what in (
        (quality_figure, "nDCG@10 by bucket"),
        (length_figure, "within length groups"),
        (movement_figure, "a rotation gap by movement"),
        (response_figure, "a position response"),
        (segment_figure, "segment similarity"),
    ):
        with pytest.raises(InputError, match=what):
            draw([])


def test_figures_without_any_value_can_be_drawn() -> None:
    none = [None, None]
    empty = QueryBuckets(
        "relative", "nDCG@10", [0, 0.5, 1], [0, 0], none, none, none, figures=bucket_figures()
    )
    results = [Result("PSI", "c", "test", "m", 1, None, None, 0, empty, Facts(model="tk"))]
    figures = audit_page.audit_figures(results)
    assert list(figures) == ["quality-by-position"]
    ElementTree.fromstring(svg_text(figures["quality-by-position"]))
    assert "m: PSI –." in audit_captions.quality_caption(results, "relative")


def test_captions_have_the_numbers() -> None:
    caption = audit_captions.movement_caption(ONE).replace("\u00a0", " ")
    assert "Mean change in nDCG@10: minilm −0.036 [−0.042, −0.030]." in caption
    assert "Bands are 95 % intervals" in caption
    psi = payload_of(ONE, "minilm", "relative").figures.psi
    assert (
        f"minilm: PSI {psi.value:.3f}, debiased {psi.debiased:.3f}"
        in audit_captions.quality_caption(ONE, "relative")
    )
    assert "p <0.001; bm25" in audit_captions.quality_caption(ONE, "relative")
    slope = audit_captions.response_caption(ONE).replace("\u00a0", " ")
    assert "Slope, last place less first: minilm −0.289 [−0.339, −0.239]." in slope
    # 0.9 · (0.08 + 0.05) between first and last third, and 0.01 before
    assert "minilm: first 0.852, last 0.725, difference +0.127" in audit_captions.segment_caption(
        ONE
    )


def test_many_systems_do_not_crowd_a_caption() -> None:
    many = invented_audit.audit({f"m{number}": 0.5 for number in range(12)})
    assert "m3" not in audit_captions.quality_caption(many, "relative")


def test_tables_that_describe_are_not_empty() -> None:
    assert [table.name for table in audit_page.description_tables(FOUR)] == [
        "psi-ndcg-10", "direction-ndcg-10", "blind", "rotation-gap", "position-response",
        "segments",
    ]  # fmt: skip
    assert audit_page.description_tables([]) == []


def test_the_page_of_one_model(tmp_path: Path) -> None:
    page = check(
        write_report([invented_audit.save_audit(tmp_path / "a")], tmp_path / "r.html").read_text(
            "utf-8"
        )
    )
    assert [e.text for e in page.root.every("h2")] == [
        "In short",
        "What was found",
        "What was run",
        "The same evidence at another place",
        "Description: quality by answer position",
        "Description: rotating the whole collection",
        "Description: parts of a passage in its vector",
        "Definitions",
        "Provenance",
    ]
    card = page.root.every("article")[0]
    assert card.every("h3")[0].text == "minilm"
    assert card.every("p")[0].text == "Prefers the front"
    folded = [e for e in page.root.every("details") if e.attributes.get("class") == "folded"]
    assert all(len(e.every("table")) + len(e.every("dl")) == 1 for e in folded)
    cells = [cell for body in page.root.every("tbody") for cell in body.every("td")]
    assert sum("data-value" in cell.attributes for cell in cells) > 300
    assert "–" in [cell.text for cell in cells]
    assert all("data-value" not in cell.attributes for cell in cells if cell.text == "–")


def test_audits_in_several_folders_are_compared(tmp_path: Path) -> None:
    systems = {"minilm": 0.9}, {"tk": 0.2}, {"minilm": 0.1}
    few = ("rotation gap", "verdict")
    places = []
    for number, one in enumerate(systems):
        results = [result for result in invented_audit.audit(one) if result.measure in few]
        save_results(
            tmp_path / f"a{number}",
            invented_audit.without_lengths(results),
            invented_audit.manifest(f"Audit {number}"),
        )
        places.append(tmp_path / f"a{number}")
    studies = load_studies(places)
    table = report_tables(studies)["audit-compared"]
    # the first stage has no effect; of two audits of one name the second gets its title
    assert [row[0].text for row in table.rows] == ["minilm", "tk", "minilm (Audit 2)"]
    assert "audit-compared" not in report_tables(studies[:1])
