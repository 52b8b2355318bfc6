"""Exports, reports and verification from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.errors import InputError, SettingError


def test_an_export_counts_what_it_writes(
    small_collection: positionbias.Collection, tmp_path: Path
) -> None:
    done = positionbias.export(small_collection, to="beir", out=tmp_path / "beir")
    assert done.rows.set_index("measure")["value"]["passages"] == 7
    assert (done.path / "corpus.jsonl").read_text("utf-8").count("\n") == 7
    with pytest.raises(SettingError, match="--squad-version: wanted --to squad beside it"):
        positionbias.export(small_collection, to="trec", squad_version="2.0", out=tmp_path / "trec")


def test_a_report_is_a_page_and_its_tables(
    small_collection: positionbias.Collection, tmp_path: Path
) -> None:
    positionbias.histogram([small_collection], splits=["train"], out=tmp_path / "kept")
    page = positionbias.make_report(tmp_path / "kept", out=tmp_path / "page.html")
    assert page.path.is_file()
    assert "positions" in page.tables
    assert str(page).startswith("Where answers start")


def test_damage_is_found_and_refused(small_collection: positionbias.Collection) -> None:
    whole = positionbias.verify([small_collection.path])
    whole.check()
    assert {found.fault for found in whole.artefacts} == {""}
    (small_collection.path / "queries" / "test.parquet").write_bytes(b"")
    damaged = positionbias.verify([small_collection.path])
    with pytest.raises(InputError, match="found 1 damaged"):
        damaged.check()
