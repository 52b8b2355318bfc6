"""An audit's verdicts: they come first, in words, tables, cards and figures, and undefined numbers
are dashes.
"""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.audit.forest import compare_figure, effects_figure
from positionbias.audit.text import DESCRIPTION, audit_text
from positionbias.audit.verdict_cards import verdict_cards
from positionbias.audit.verdict_tables import compared_table, effects_table, verdict_tables
from positionbias.audit.verdict_words import verdict_lines
from positionbias.cli.generate import print_outcome
from positionbias.core.errors import InputError
from positionbias.core.screen import lines_of, shown_width
from positionbias.ops.outcome import Written
from positionbias.report.figure import NARROW, WIDE, svg_text
from positionbias.report.html import write_report
from positionbias.report.table import Table, as_csv
from positionbias.report.text import text_of
from positionbias.results.payloads import Contrast, Effect, Preference, Question, Verdict
from positionbias.results.result import Facts, Result, load_results, save_results

from . import invented_audit
from .test_html import HOSTILE, check

ONE = invented_audit.audit()
FOUR = invented_audit.audit(invented_audit.FOUR)
RUN, ROTATED = invented_audit.of_runs("bm25.run"), invented_audit.of_runs("splade.run", value=-0.03)


def shown(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def heads(table: Table) -> list[str]:
    return [column.full_name.replace("\u00a0", " ") for column in table.columns]


def verdict(*effects: Effect, system: str = "m", **more: object) -> Result:
    settings = {
        "preference": Preference.FRONT,
        "sentences": ["m prefers the front."],
        "margin": 0.1,
        "queries": 9,
        **more,
    }
    payload = Verdict(Question.PASSAGE, effects=effects, **settings)  # type: ignore[arg-type]
    return Result("verdict", "c", "test", system, 1, None, None, 9, payload, Facts(model="tk"))


def test_the_terminal_begins_with_the_verdicts_and_ends_with_what_is_only_described() -> None:
    lines = audit_text(ONE).split("\n")
    assert lines[0].startswith("minilm prefers the front: ")
    assert lines[1].startswith("  A relevant passage whose evidence stands last falls 2.0 places")
    assert lines[2] == "  minilm scores each passage alone: the order of the list changes nothing."
    assert lines[3:5] == ["", "Verdicts: position in the passage"]
    titles = [
        "Verdicts: position in the passage",
        DESCRIPTION,
        "Sensitivity to position: nDCG@10",
        "What rotation changes",
    ]
    places = [lines.index(title) for title in titles]
    assert places == sorted(places)
    assert not any(line.startswith("PSI") for line in lines[: lines.index(DESCRIPTION)])


def test_a_system_has_three_lines_at_most_and_its_name_in_front() -> None:
    lines = verdict_lines([*FOUR, RUN])
    starts = [at for at, line in enumerate(lines) if not line.startswith("  ")]
    assert [b - a for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)] == [
        3,
        2,
        3,
        3,
        1,
    ]
    assert (
        lines[-1] == "bm25.run: cannot tell from one run: rotate the collection and rank it again."
    )
    five = verdict(sentences=["no preference.", "b.", "c.", "d.\ne.", ""])
    assert verdict_lines([five]) == ["m: no preference.", "  b.", "  c. d. e."]
    assert verdict_lines([verdict(sentences=())]) == []


def test_without_verdicts_the_terminal_has_the_description_alone() -> None:
    described = [result for result in ONE if result.kind != "verdict"]
    assert audit_text(described).startswith(DESCRIPTION)
    assert audit_text([]) == ""


def test_the_table_of_verdicts() -> None:
    passage, in_list = verdict_tables(FOUR)
    assert passage.title == "Verdicts: position in the passage"
    assert heads(passage) == [
        "System", "Prefers", "Worth [95 %]", "Ranks [95 %]", "nDCG@10 [95 %]", "Beyond 10 %",
        "Detectable", "Queries",
    ]  # fmt: skip
    # −45 % of the worth, 5 ranks and 0.2 nDCG@10 for all of it, at a lean of 1.6
    assert shown(passage)[2] == [
        "bert_cat-original", "front", "−72.0 % [−77.0, −67.0]", "−3.6 [−4.1, −3.1]",
        "−0.144 [−0.156, −0.132]", "yes", "7.0 %", "1,944",
    ]  # fmt: skip
    assert shown(passage)[1][1:3] == ["none", "−2.3 % [−7.3, +2.8]"]
    assert shown(passage)[1][5] == "–"
    assert [row[1] for row in shown(in_list)] == ["none", "none", "first places", "none"]
    assert heads(in_list)[2] == "Ranks [95 %]"


def test_verdicts_on_runs_stand_beside_those_on_models() -> None:
    (passage,) = verdict_tables([ROTATED, RUN, *ONE])  # no list: minilm scores each passage alone
    rows = {row[0]: dict(zip(heads(passage), row, strict=True)) for row in shown(passage)}
    assert rows["splade.run"]["Effect"] == "two runs"
    assert rows["splade.run"]["nDCG@10 [95 %]"] == "−0.030 [−0.040, −0.020]"
    assert rows["splade.run"]["Worth [95 %]"] == "–"
    assert (rows["bm25.run"]["Prefers"], rows["bm25.run"]["Wanted"]) == ("cannot tell", "4,000")
    assert "Beyond margin" in heads(passage)  # the margins differ
    assert passage.notes[0].startswith(
        "Two runs: evidence moved to the end less moved to the front; below 0 the front"
    )


@pytest.mark.parametrize("width", [80, 100])
def test_an_audit_fits_a_terminal(width: int) -> None:
    with lines_of(width):
        text = text_of(FOUR)  # a name of 32 letters
    assert max(map(shown_width, text.split("\n"))) <= width
    assert "−72.0 ± 5.0 %" in text.replace("\u00a0", " ")
    with lines_of(None):
        assert "−72.0 % [−77.0, −67.0]" in text_of(FOUR).replace("\u00a0", " ")


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_undefined_numbers_are_dashes(nothing: float | None, tmp_path: Path) -> None:
    effect = Effect(Contrast.ENDS, "deviations", nothing, nothing, nothing, nothing)
    half = Effect(Contrast.MIDDLE, "deviations", -0.2, nothing, 0.1)
    results = [
        verdict(effect, half, margin=nothing, reads=nothing, unread=nothing),
        verdict(system="n", queries=0),
    ]
    (passage,) = verdict_tables(results)
    assert shown(passage) == [["m", "front"], ["n", "front"]]
    assert "nan" not in as_csv(passage) + as_csv(effects_table(results)) + audit_text(results)
    assert shown(effects_table(results)) == [
        ["m", "end − front", "–", "–"],
        ["m", "middle − ends", "–", "−0.20"],
    ]
    (axes,) = compare_figure(results).axes
    assert axes.get_title(loc="left") == "Middle\u00a0−\u00a0ends"
    save_results(tmp_path / "a", results, invented_audit.manifest())
    page = check(write_report([tmp_path / "a"], tmp_path / "r.html").read_text("utf-8"))
    assert "nan" not in page.root.every("main")[0].every("section")[0].text.split()


def test_effects_over_texts_read_whole_and_over_all_have_rows_of_their_own() -> None:
    table = effects_table(ONE)
    assert heads(table)[:4] == ["System", "Effect", "Texts", "Queries"]
    assert [row[1:4] for row in shown(table)] == [
        ["end − front", "read whole", "1,944"],
        ["middle − ends", "read whole", "1,944"],
        ["rotation: end − front", "read whole", "1,204"],
        ["end − front", "all", "2,201"],
    ]
    assert shown(table)[3][4] == "−48.6 % [−53.1, −44.1]"  # 1.2 of −0.405, ± 0.045
    # what decides
    assert [row[2] for row in shown(verdict_tables(ONE)[0])] == ["−40.5 % [−45.5, −35.5]"]
    assert any(
        note.startswith(
            "If a system does not read all texts to the end, effects are over those that it reads "
            "whole."
        )
        for note in verdict_tables(ONE)[0].notes
    )


def test_systems_are_compared_by_the_effects_of_moved_evidence() -> None:
    figure = compare_figure([ROTATED, *FOUR])
    names = [
        axes.get_title(loc="left").replace("\u00a0", " ").replace("\n", " ") for axes in figure.axes
    ]
    assert names == [
        "End − front", "Middle − ends", "Rotation: end − front", "Two runs: end − front",
        "List: first to last place",
    ]  # fmt: skip
    assert [axes.get_xlabel().replace("\u2003", " ").split("\n") for axes in figure.axes[2:]] == [
        ["← front end →", "of the evidence's worth"],
        ["← front end →", "nDCG@10"],
        ["← last first →", "ranks"],
    ]
    points = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
    assert [float(line.get_xdata()[0]) for line in points] == pytest.approx(
        [-0.405, -0.0225, -0.72, -0.18]
    )
    assert len({line.get_marker() for line in points}) == 4  # distinguished without colours
    edges = [
        vertex[0] for part in figure.axes[0].collections for vertex in part.get_paths()[0].vertices
    ]
    assert (min(edges), max(edges)) == (pytest.approx(-0.1), pytest.approx(0.1))
    # panels in one unit share their scale
    assert figure.axes[0].get_xlim() == figure.axes[2].get_xlim()
    assert "margin: ±0.02 nDCG@10 or ±10\u00a0% of the evidence's worth or ±0.5 ranks" in " ".join(
        figure.legends[0].get_texts()[1].get_text().split("\n")
    )
    table = compared_table([ROTATED, *FOUR])
    assert [row[0] for row in shown(table)] == ["splade.run", *invented_audit.FOUR]
    assert shown(table)[0][1:5] == ["–", "–", "–", "−0.030 [−0.040, −0.020]"]
    with pytest.raises(InputError, match="an effect of moved evidence"):
        compare_figure([RUN])
    with pytest.raises(InputError, match="an effect of moved evidence"):
        effects_figure([RUN])


def test_a_system_has_its_own_forest_plot() -> None:
    figure = effects_figure(FOUR, system=("bert_cat-original", "squad", "test"))
    assert [axes.get_xlabel() for axes in figure.axes] == ["of the evidence's worth", "ranks"]
    faces = [
        line.get_markerfacecolor()
        for line in figure.axes[0].lines
        if line.get_marker() not in ("None", "", None)
    ]
    assert faces[1] == "none"  # over all texts, beside those that are read whole
    assert [text.get_text() for text in figure.axes[0].texts[::2]][:2] == [
        "end − front",
        "end − front, all texts",
    ]
    assert "none" not in (faces[0], *faces[2:])
    # all cards have one scale
    assert effects_figure(FOUR).axes[0].get_xlim() == figure.axes[0].get_xlim()


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_no_word_leaves_the_figure_at_any_width(width: float) -> None:
    many = [ROTATED, *invented_audit.renamed(FOUR, HOSTILE)]
    for figure in (
        compare_figure([ROTATED, *FOUR], width=width),
        effects_figure(many, width=min(width, 4.4)),
    ):
        ElementTree.fromstring(svg_text(figure))
        figure.draw_without_rendering()
        edge = figure.get_window_extent()
        for axes in figure.axes:
            for text in [axes.title, axes.xaxis.label, *axes.get_yticklabels(), *axes.texts]:
                if text.get_visible() and text.get_text():
                    box = text.get_window_extent()
                    assert box.x0 >= edge.x0 - 1, text.get_text()
                    assert box.x1 <= edge.x1 + 1, text.get_text()


def test_a_page_shows_a_card_for_each_system_first(tmp_path: Path) -> None:
    few = invented_audit.few(FOUR, "position response", "PSI")
    save_results(tmp_path / "a", [ROTATED, RUN, *few], invented_audit.manifest())
    page = check(write_report([tmp_path / "a"], tmp_path / "r.html").read_text("utf-8"))
    section = next(e for e in page.root.every("section") if e.attributes["id"] == "found")
    cards = section.every("article")
    assert [card.every("h3")[0].text for card in cards] == [
        "splade.run",
        "bm25.run",
        *invented_audit.FOUR,
    ]
    words = [
        p.text for card in cards for p in card.every("p") if p.attributes.get("class") == "words"
    ]
    assert words[:4] == ["Prefers the front", "Cannot tell", "Prefers the front", "No preference"]
    assert "Prefers the first places" in words
    assert [len(card.every("figure")) for card in cards] == [1, 0, 1, 1, 1, 1]
    said = [p.text for p in cards[2].every("p")]
    assert said[1].startswith(
        "Position in the passage; 1,944 queries; beyond the margin of 10\u00a0% of the evidence's "
        "worth; reads 180 words"
    )
    assert said[2:5] == [s.replace(" %", "\u00a0%") for s in FOUR[0].payload.sentences]
    order = [e.tag for e in section.every() if e.tag in ("article", "table")]
    # the verdicts of two questions, and all answers
    assert order == ["article"] * 6 + ["table"] * 3
    titles = [e.text for e in page.root.every("h2")]
    described = [title for title in titles if title.startswith("Description: ")]
    assert titles.index("The same evidence at another place") < titles.index(described[0])
    assert "mixes a system's preference with the questions' difficulty" in page.root.text


def test_names_of_any_kind_stay_as_they_are() -> None:
    results = invented_audit.renamed(ONE, HOSTILE)
    (card,) = verdict_cards(results)
    assert card.heading == f"minilm{HOSTILE}"
    assert f"minilm{HOSTILE}" in audit_text(results)


def test_an_effect_over_other_queries_than_the_verdict_s_is_hollow_and_named() -> None:
    read = replace(
        invented_audit.effect(Contrast.ENDS, "deviations", -0.3, 0.1, queries=4), subset="read"
    )
    middle = invented_audit.effect(Contrast.MIDDLE, "deviations", 0.0, 0.1)  # over all texts alone
    result = verdict(read, middle)
    axes = effects_figure([result]).axes[0]
    assert [text.get_text() for text in axes.texts[::2]] == [
        "end − front",
        "middle − ends, all texts",
    ]
    assert [answer.facts for answer in verdict_cards([result])[0].answers] == [
        "Position in the passage; 4 of 9 queries"
    ]
    assert [row[-1] for row in shown(verdict_tables([result])[0])] == ["4"]


def test_edges_of_answers_differ_by_more_than_their_words() -> None:
    sure = [verdict(preference=Preference.FRONT, exceeds=exceeds) for exceeds in (True, False)]
    sure += [verdict(preference=preference) for preference in (Preference.NONE, Preference.UNKNOWN)]
    found = [verdict_cards([one])[0].answers[0].sure for one in sure]
    assert found == ["beyond", "found", "none", "unknown"]


def test_json_begins_with_the_verdicts_and_they_come_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    print_outcome(Written(Path(), FOUR), as_json=True)
    records = json.loads(capsys.readouterr().out)["results"]
    kinds = [record["kind"] for record in records]
    assert kinds[:8] == ["verdict"] * 8
    assert "verdict" not in kinds[8:]
    assert records[0]["payload"]["preference"] == "prefers the front"
    assert records[0]["payload"]["effects"][0]["contrast"] == "end − front"
    assert Result.from_json(records[0]) == replace(FOUR[0])
    save_results(tmp_path / "a", FOUR, invented_audit.manifest())
    assert audit_text(load_results(tmp_path / "a")) == audit_text(FOUR)
