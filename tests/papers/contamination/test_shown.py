"""The tables and the figure of a contamination study: the paper's lines, inflation."""

from __future__ import annotations

from pathlib import Path

import pytest
from pandas import DataFrame

from positionbias.core import rows as core_rows
from positionbias.core.manifest import Manifest
from positionbias.papers.contamination.measured import measure_contamination
from positionbias.papers.contamination.shown import (
    INFLATION_FIGURE,
    SHOWN,
)
from positionbias.report.html import report_tables, write_page
from positionbias.report.page import load_study
from positionbias.report.table import Table, as_csv, as_latex, as_text

from .contaminating import TEACHER, contaminated_study
from .test_measured import rank


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contamination")
    systems = (TEACHER, ("student", "bert_cat", "kl"))
    study = contaminated_study(folder / "study", rank, systems=systems, seeds=(1,))
    made = measure_contamination(study)
    manifest = Manifest("results", "Contamination", "study contamination")
    core_rows.save(folder / "saved", made.rows, manifest, made.values)
    return folder / "saved"


@pytest.fixture(scope="module")
def rows(saved: Path) -> DataFrame:
    return SHOWN.own(core_rows.load(saved))


@pytest.fixture(scope="module")
def tables(saved: Path) -> dict[str, Table]:
    return report_tables(load_study(saved))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_table_1(tables: dict[str, Table]) -> None:
    table = tables["contamination"]
    heads = [column.full_name for column in table.columns]
    assert heads[:6] == ["Role", "Model", "Loss", "Contaminated", "Figures", "dl19 nDCG@10"]
    lines = texts(table)
    assert lines[0][:6] == ["first stage", "BM25", "", "", "ours", "0.333"]
    teacher = [line for line in lines if line[:3] == ["teacher", "BERT_CAT", "LCE"]]
    # p of 7 of 8 signs is 2 / 128; six comparisons with the clean teacher and its two students
    assert [line[3:6] for line in teacher] == [
        ["no", "ours", "0.500"],
        ["yes", "ours", "0.938†"],
        ["no", "published", "0.701"],
        ["yes", "published", "0.740"],
    ]
    student = [line for line in lines if line[:3] == ["student", "BERT_CAT", "KL\u00a0div."]]
    assert [line[3:6] for line in student][1:] == [
        ["yes", "ours", "0.417"],
        ["no", "published", "0.704"],
        ["yes", "published", "0.707"],
    ]
    assert any("began with ELECTRA" in note for note in table.notes)


def test_table_2(tables: dict[str, Table]) -> None:
    table = tables["contamination-sources"]
    lines = [line for line in texts(table) if line[:3] == ["student", "BERT_CAT", "KL\u00a0div."]]
    assert [line[3:] for line in lines[3:]] == [
        ["none", "published", "0.704", "0.704"],
        ["dl19", "published", "0.707", "0.725"],
        ["dl20", "published", "0.717", "0.713"],
    ]


def test_the_other_tables(tables: dict[str, Table]) -> None:
    sets = [line[:7] for line in texts(tables["contaminated-sets"])]
    assert sets[2] == ["dl19", "dl19", "8", "8", "50.0\u00a0%", "8", "0"]
    for table in tables.values():
        for write in (as_text, as_csv, as_latex):
            assert write(table)


def test_the_inflation_figure(rows: DataFrame) -> None:
    figure = INFLATION_FIGURE.draw(rows)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["dl19", "dl20"]
    labels = [label.get_text().replace("\n", " ") for label in figure.axes[0].get_yticklabels()]
    assert labels == ["teacher BERT_CAT, LCE", "student BERT_CAT, KL\u00a0div."]
    dots = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert dots == pytest.approx([3.5 / 8, 4 * (0.5 - 1 / 3) / 8])


def test_the_page(saved: Path, tmp_path: Path) -> None:
    page = write_page(load_study(saved), tmp_path / "page.html").read_text()
    assert "Teachers that saw the test, and their students" in page
    assert "Does contamination with dl19 lift nDCG@10?" in page
    assert "Judgements that the teacher saw lift" in page
