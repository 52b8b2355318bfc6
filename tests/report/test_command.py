"""``posbias report``."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.cli.main import main

from . import invented


def posbias(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def test_it_writes_the_page_and_the_tables_and_prints_short_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    invented.save_measured(tmp_path / "rows", "histogram")
    out, tables = tmp_path / "report.html", tmp_path / "tables"
    given = ("--out", out, "--title", "Mine", "--tables", tables)
    assert posbias("report", tmp_path / "rows", *given) == 0
    printed, said = capsys.readouterr()
    assert printed.startswith("Where answers start in their passages\n")
    assert f"written to {out}" in said
    assert "<h1>Mine</h1>" in out.read_text("utf-8")
    assert {path.name for path in tables.iterdir()} >= {
        "answers.csv",
        "answers.tex",
        "positions.csv",
    }


def test_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert posbias("report", tmp_path / "none", "--out", tmp_path / "r.html") == 2
    assert posbias("report", "--out", tmp_path / "r.html") == 2
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "rows.parquet").write_text("no table")
    assert posbias("report", tmp_path / "study", "--out", tmp_path / "r.html") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("posbias: ") for line in lines)
    assert not (tmp_path / "r.html").exists()
