"""An audit as it is shown: sentences first, tables, figures, and the page of one or several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.audit.answers import (
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.settings import Audited
from positionbias.audit.shown import SHOWN
from positionbias.audit.systems import RERANKER, Measurement
from positionbias.core.screen import lines_of, shown_width
from positionbias.ops.audit import audit_systems
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.report.figure import WIDE, RowFigure
from positionbias.report.html import write_page
from positionbias.report.page import load_study
from positionbias.report.table import Table, as_csv
from tests.audit.scorers import front_lover
from tests.documentation.blocks import PAGES, codes
from tests.report import invented_audit
from tests.report.test_html import HOSTILE, check

SMALL = PlantedSettings(queries=60, passages=240, test_share=0.3, validation_share=0.2)
TABLES = {
    table.name: table for section in SHOWN.sections for table in (*section.tables, *section.folded)
}
FIGURES = {figure.name: figure for section in SHOWN.sections for figure in section.figures}
ALONE = Verdict(
    Question.PASSAGE,
    Preference.UNKNOWN,
    reason="from one run; harder questions may have their answers elsewhere",
)


def prepared(*found: Measurement) -> DataFrame:
    """The rows of these measurements, as tables and figures take them."""
    return SHOWN.own(invented_audit.collected(found).rows)


ONE = prepared(*invented_audit.audit())
FOUR = prepared(*invented_audit.audit(invented_audit.FOUR))


def of_model(verdict: Verdict, system: str = "m") -> Measurement:
    return Measurement(system, RERANKER, verdict)


def cells(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\u00a0", " ") for cell in row] for row in table.rows]


def heads(table: Table) -> list[str]:
    return [column.full_name for column in table.columns]


def drawn(figure: RowFigure, rows: DataFrame, width: float = WIDE) -> list[str]:
    """The titles of a figure's panels, each on one line."""
    panels = [axes for axes in figure.draw(rows, width).axes if axes.axison]
    return [" ".join(axes.get_title(loc="left").split()) for axes in panels]


def test_the_terminal_begins_with_the_answers() -> None:
    with lines_of(None):
        lines = SHOWN.as_text(ONE).replace("\u00a0", " ").split("\n")
    assert lines[0] == (
        "minilm prefers the front, within what it reads: end − front −40.5 % [−45.5, −35.5] of the "
        "evidence's worth (1,944 queries), beyond the margin of 10 %."
    )
    assert "minilm scores each passage by itself" in lines[lines.index("Verdicts") - 2]


@pytest.mark.parametrize("width", [80, 100])
def test_an_audit_fits_a_terminal(width: int) -> None:
    with lines_of(width):
        text = SHOWN.as_text(FOUR)  # a name of 32 letters
    assert max(map(shown_width, text.split("\n"))) <= width
    assert "−72.0 ± 5.0 %" in text.replace("\u00a0", " ")


def test_the_table_of_verdicts() -> None:
    passage = TABLES["verdicts"].table(FOUR)
    assert heads(passage) == [
        *("System", "Place in", "Prefers", "Effect", "Margin"),
        *("Worth", "Ranks", "nDCG@10"),
    ]
    # −45 % of the worth, 5 ranks and 0.2 nDCG@10 for all of it, at a lean of 1.6
    by_name = {(row[0], row[1]): row[2:] for row in cells(passage)}
    question = "passage"
    assert by_name["bert_cat-original", question] == [
        *("the front", "end − front", "beyond ±10 %"),
        *("−72.0 % [−77.0, −67.0]", "−3.6 [−4.1, −3.1]", "−0.144 [−0.156, −0.132]"),
    ]
    assert by_name["tk trained on rotated passages", question][:4] == [
        *("no preference", "end − front", "±10 %", "−2.3 % [−7.3, +2.8]"),
    ]
    # only where a list's order was measured
    assert [name for name, asked in by_name if asked == "list"] == ["bert_cat-original"]


def test_verdicts_on_runs_stand_beside_those_on_models() -> None:
    runs = [invented_audit.of_run(), invented_audit.of_run("bm25.run", ALONE)]
    table = TABLES["verdicts"].table(prepared(*runs, *invented_audit.verdicts(invented_audit.ONE)))
    lines = {row[0]: dict(zip(heads(table), row, strict=True)) for row in cells(table)}
    assert lines["splade.run"]["Effect"] == Contrast.RUNS
    assert lines["splade.run"]["nDCG@10"] == "−0.030 [−0.040, −0.020]"
    assert lines["splade.run"]["Worth"] == "–"
    assert lines["bm25.run"]["Prefers"] == "cannot tell"
    assert "below 0 the front is preferred" in table.notes[0]


def test_undefined_numbers_are_dashes() -> None:
    nothing = Effect(Contrast.ENDS, WORTH, None, queries=9)
    half = Effect(Contrast.MIDDLE, WORTH, -0.2, None, 0.1, queries=9)
    rows = prepared(
        of_model(Verdict(Question.PASSAGE, Preference.FRONT, [nothing, half], queries=9))
    )
    table = TABLES["verdicts"].table(rows)
    assert "nan" not in as_csv(table) + SHOWN.as_text(rows)
    assert not FIGURES["effects"].there(rows)  # without a margin


@pytest.mark.parametrize("rows", [ONE, FOUR], ids=["one", "four"])
def test_no_word_leaves_a_figure(rows: DataFrame) -> None:
    for figure in (figure for figure in FIGURES.values() if figure.there(rows)):
        picture = figure.draw(rows)
        picture.draw_without_rendering()
        edge = picture.get_window_extent()
        for axes in picture.axes:
            for text in [axes.title, axes.xaxis.label, *axes.get_yticklabels(), *axes.texts]:
                if text.get_visible() and text.get_text():
                    box = text.get_window_extent()
                    assert box.x0 >= edge.x0 - 1, (figure.name, text.get_text())
                    assert box.x1 <= edge.x1 + 1, (figure.name, text.get_text())


def test_effects_are_in_one_figure_a_panel_each_unit() -> None:
    (axes,) = FIGURES["effects"].draw(ONE).axes
    assert axes.get_title(loc="left") == "of the evidence's worth"
    faces = [
        line.get_markerfacecolor() for line in axes.lines if line.get_marker() not in ("None", "")
    ]
    assert faces.count("none") == 1  # over all texts, beside those that are read whole
    rows = prepared(invented_audit.of_run(), *invented_audit.audit(invented_audit.FOUR))
    assert drawn(FIGURES["effects"], rows) == ["nDCG@10", "of the evidence's worth", "ranks"]
    names = [text.get_text() for text in FIGURES["effects"].draw(rows).axes[1].get_yticklabels()]
    assert "minilm: end − front" in names


def test_the_page_of_one_model(tmp_path: Path) -> None:
    page = check(
        write_page(
            load_study(invented_audit.save_audit(tmp_path / "a")), tmp_path / "r.html"
        ).read_text("utf-8")
    )
    assert [heading.text for heading in page.root.every("h2")] == [
        "In short",
        "What was found",
        "What was run",
        "The same evidence at another place",
        "Definitions",
        "Provenance",
    ]
    numbers = [cell for body in page.root.every("tbody") for cell in body.every("td")]
    assert sum("data-value" in cell.attributes for cell in numbers) > 3
    assert all("data-value" not in cell.attributes for cell in numbers if cell.text == "–")


def test_names_of_any_kind_stay_as_they_are() -> None:
    rows = prepared(*invented_audit.verdicts({f"minilm{HOSTILE}": 0.9}))
    assert f"minilm{HOSTILE} prefers the front" in " ".join(SHOWN.headline(rows))
    assert cells(TABLES["verdicts"].table(rows))[0][0] == f"minilm{HOSTILE}"


def test_a_verdict_is_computed_again_from_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the code that docs/audit.md has, which needs pandas alone."""
    collection = write_planted(tmp_path / "planted", SMALL, name="planted")
    audited = Audited(models=[front_lover])
    found = audit_systems(collection, audited=audited, out=tmp_path / "squad-minilm")
    (page,) = (page for page in PAGES if page.name == "audit.md")
    blocks = [block for block in codes(page) if block.python]
    section = next(block.section for block in blocks if "rows.parquet" in block.text)
    code = "\n".join(block.text for block in blocks if block.section == section)
    monkeypatch.chdir(tmp_path)
    computed: dict[str, Any] = {}
    exec(code, computed)
    assert capsys.readouterr().out.strip() == found.verdicts[0].preference == Preference.FRONT
    for contrast in (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION):
        effect = found.verdicts[0].effect(contrast, WORTH)
        assert effect is not None
        assert computed["share"][contrast] == pytest.approx(effect.value, abs=1e-9)
        assert computed["low"][contrast] == pytest.approx(effect.low, abs=0.005)
        assert computed["high"][contrast] == pytest.approx(effect.high, abs=0.005)
