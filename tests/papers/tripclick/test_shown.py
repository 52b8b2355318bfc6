"""The tables and figures of a TripClick study: ours and the paper's lines, curves, logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pandas import DataFrame

from positionbias.core import rows as core_rows
from positionbias.core.manifest import Manifest
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import system_cells
from positionbias.papers.tripclick.measured import measure_tripclick
from positionbias.papers.tripclick.shown import SHOWN
from positionbias.report.page import load_study, tables_of, write_page
from positionbias.report.table import Table

from .made_up import CAT, ORIGINAL, TK, TOGETHER, made_up


def rank(facts: Facts, seed: int, split: str, query: int) -> int:
    """As good as can be, but for TK, which has 2, and BERT_CAT on original negatives, which has 3
    or 4.
    """
    return {TK: 2, ORIGINAL: 4 if query < 3 else 3, CAT: 2 if query == 0 else 1, TOGETHER: 1}.get(
        facts, 4
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tripclick")
    study = made_up(folder / "study", rank, tests=("head_test:dctr", "own"), seeds=(1,))
    made = measure_tripclick(study)
    for facts, accuracy in ((CAT, (0.7, 0.9)), (ORIGINAL, (0.6, 0.65))):
        own = {**system_cells(facts), "seed": 1}
        for step, share in zip((100, 200), accuracy, strict=True):
            place = {"axis": "step", "at": float(step), "label": str(step)}
            made.add("pair accuracy", "log", share, **own, **place)
            made.add("score margin", "log", 10 * share, **own, **place)
        made.add("training", "pair accuracy", sum(accuracy) / 2, **own)
        made.add("training", "step kept", 200, **own)
        made.add("training", "end", None, **own, answer="finished", reason="all steps")
    manifest = Manifest("results", "TripClick", "study tripclick")
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
    table = tables["tripclick-reranking"]
    assert [column.full_name for column in table.columns] == [
        "Model", "Negatives", "Figures",
        "head_test.dctr nDCG@10", "head_test.dctr RR@10", "own nDCG@10", "own RR@10",
    ]  # fmt: skip
    lines = texts(table)
    # what is relevant stands at BM25's rank 5: 1 / log2 6
    assert lines[0] == ["BM25", "", "ours", "0.387", "0.200", "0.387", "0.200"]
    assert lines[1] == ["BM25", "", "published", "0.140", "0.276", "–", "–"]
    assert ["ConvKNRM", "original baselines", "published", "0.198", "0.420", "–", "–"] in lines
    assert [line[1:3] for line in lines if line[0] == "TK"] == [
        ["regenerated", "ours"],
        ["", "published"],
        ["original baselines", "published"],
    ]
    cat = [line for line in lines if line[0] == "BERT_CAT, scibert"]
    assert [line[1:4] for line in cat] == [
        ["regenerated", "ours", "0.982‡"],
        ["original", "ours", "0.490‡"],
    ]
    assert ["BERT_CAT, SciBERT", "", "published", "0.294", "0.595", "–", "–"] in lines
    assert sum(line[2] == "published" for line in lines) == 12  # every line that is on head
    assert any("Establishing Strong Baselines" in note for note in table.notes)


def test_the_page(saved: Path, tmp_path: Path) -> None:
    page = write_page(load_study(saved), tmp_path / "page.html").read_text()
    assert "Re-ranking and retrieval on clicks" in page
    assert "What models were trained on" in page
    assert "Does it beat BM25 on head_test.dctr?" in page
