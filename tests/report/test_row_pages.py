"""Pages, texts and frames of folders of rows, alone and beside a folder of results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import positionbias
from positionbias.core.manifest import Manifest
from positionbias.core.rows import frame, save
from positionbias.report.presentation import presentations
from tests.pooling.simulated_files import measured_pool

from .test_html import check, page_of


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


def test_each_folder_of_rows_has_a_page(pools: list[Path], tmp_path: Path) -> None:
    texts = [check(page_of(place)).root.text for place in pools]
    assert "Can qrels judge new by P@10?" in texts[2]


def test_each_section_of_a_page_has_its_own_anchor() -> None:
    sections = [section for shown in presentations().values() for section in shown.sections]
    assert max(Counter(section.anchor for section in sections).values()) == 1


def test_rows_of_a_collection_without_an_answer_are_measured_only(tmp_path: Path) -> None:
    row = {"study": "pooling", "collection": "c", "measure": "collection", "statistic": "systems"}
    rows = frame([{**row, "kind": "all", "value": 3.0}], ["pool", "kind", "run"])
    save(tmp_path / "r", rows, Manifest("results", "r", "pool coverage"))
    assert "Nothing to decide" in page_of(tmp_path / "r")
