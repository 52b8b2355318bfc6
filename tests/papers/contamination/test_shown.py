"""The tables and the figure of a contamination study: the paper's lines, inflation."""

from __future__ import annotations

from pathlib import Path

import pytest
from pandas import DataFrame

from positionbias.core import rows as core_rows
from positionbias.core.manifest import Manifest
from positionbias.papers.contamination.measured import measure_contamination
from positionbias.papers.contamination.shown import (
    SHOWN,
)
from positionbias.report.page import load_study, tables_of, write_page
from positionbias.report.table import Table

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
    return tables_of(load_study(saved))


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


def test_the_page(saved: Path, tmp_path: Path) -> None:
    page = write_page(load_study(saved), tmp_path / "page.html").read_text()
    assert "Teachers that saw the test, and their students" in page
    assert "Does contamination with dl19 lift nDCG@10?" in page
    assert "Judgements that the teacher saw lift" in page
