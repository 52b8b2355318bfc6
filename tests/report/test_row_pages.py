"""Pages, texts and frames of folders of rows, alone and beside a folder of results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import positionbias
from positionbias.core.manifest import Manifest
from positionbias.core.rows import frame, save
from positionbias.report.html import write_report
from positionbias.report.presentation import presentations
from tests.pooling.simulated_files import measured_pool

from . import invented
from .test_html import check


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return measured_pool(tmp_path_factory.mktemp("rows"))


def test_a_folder_of_rows_is_loaded_shown_and_saved_as_it_was(
    pools: list[Path], tmp_path: Path
) -> None:
    loaded = positionbias.load(pools[0])
    assert repr(loaded) == f"Measurements('Pools of qrels', {len(loaded.rows)} rows)"
    assert len(loaded.plot("pool-coverage").axes) == 2
    assert {"pool-coverage"} <= set(loaded.to_frames())
    assert str(loaded).startswith("Relevant documents in pools of depth 10: ")
    assert loaded.verdict.startswith("Relevant documents in pools of depth 10: ")
    again = positionbias.load(loaded.save(tmp_path / "again"))
    assert again.to_frame().equals(loaded.rows)
    assert again.values.equals(loaded.values)


def test_rows_stand_on_one_page_with_results_of_another_study(
    pools: list[Path], tmp_path: Path
) -> None:
    study = invented.save_study(tmp_path / "study")
    folders = [study, pools[0], pools[2]]
    page = check(write_report(folders, tmp_path / "page.html").read_text("utf-8"))
    ids = {str(element.attributes.get("id")) for element in page.root.every()}
    assert "figure-pool-coverage-2" in ids
    assert "Can qrels judge new by P@10?" in page.root.text


def test_each_section_of_a_page_has_its_own_anchor() -> None:
    sections = [section for shown in presentations().values() for section in shown.sections]
    assert max(Counter(section.anchor for section in sections).values()) == 1


def test_rows_of_a_collection_without_an_answer_are_measured_only(tmp_path: Path) -> None:
    row = {"study": "pooling", "collection": "c", "measure": "collection", "statistic": "systems"}
    rows = frame([{**row, "kind": "all", "value": 3.0}], ["pool", "kind", "run"])
    save(tmp_path / "r", rows, Manifest("results", "r", "pool coverage"))
    page = write_report([tmp_path / "r"], tmp_path / "p.html").read_text("utf-8")
    assert "Measured only" in page
