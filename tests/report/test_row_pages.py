"""Pages, texts and frames of folders of rows, alone and beside a folder of results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import positionbias
from positionbias.report.presentation import presentations
from tests.pooling.simulated_files import measured_pool


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


def test_each_section_of_a_page_has_its_own_anchor() -> None:
    sections = [section for shown in presentations().values() for section in shown.sections]
    assert max(Counter(section.anchor for section in sections).values()) == 1
