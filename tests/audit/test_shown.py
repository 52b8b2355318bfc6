"""An audit as it is shown: sentences first, tables, figures, and the page of one or several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.audit.answers import WORTH, Contrast, Preference
from positionbias.audit.settings import Audited
from positionbias.audit.shown import SHOWN
from positionbias.core.terminal import lines_of, shown_width
from positionbias.ops.audit import audit_systems
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.report.table import as_text
from tests.audit.figures import Figures
from tests.audit.scorers import front_lover
from tests.documentation.blocks import PAGES, codes
from tests.report import invented_audit

SMALL = PlantedSettings(queries=60, passages=240, test_share=0.3, validation_share=0.2)
FIGURES = {figure.name: figure for section in SHOWN.sections for figure in section.figures}


def prepared(*found: Figures) -> DataFrame:
    """The rows of these measurements, as tables and figures take them."""
    return SHOWN.own(invented_audit.collected(found).rows)


ONE = prepared(*invented_audit.audit())
FOUR = prepared(*invented_audit.audit(invented_audit.FOUR))


def test_the_terminal_begins_with_the_answers() -> None:
    with lines_of(None):
        lines = SHOWN.as_text(ONE).replace("\u00a0", " ").split("\n")
    assert lines[0] == (
        "minilm prefers the front, within what it reads: end − front −40.5 % [−45.5, −35.5] of the "
        "evidence's worth (1,944 queries), beyond the margin of 10 %."
    )
    assert "minilm scores each passage by itself" in lines[-1]


def test_an_audit_fits_a_terminal() -> None:
    with lines_of(80):
        text = SHOWN.as_text(FOUR)  # a name of 32 letters
        (effects,) = (as_text(table.table(FOUR)) for table in SHOWN.sections[0].tables)
    assert max(map(shown_width, f"{text}\n{effects}".split("\n"))) <= 80
    assert "−72.0 ± 5.0 %" in effects.replace("\u00a0", " ")


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
