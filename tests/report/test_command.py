"""``posbias report``."""

from __future__ import annotations

import json
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


def test_names_under_home_are_read(
    tmp_path: Path, posbias_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    invented.save_study(posbias_home / "sub" / "mystudy.v1")
    assert posbias("report", "sub/mystudy.v1", "--out", "page") == 0
    assert Path("page").is_file()


def test_json_holds_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invented.save_study(tmp_path / "study")
    assert (
        posbias("--quiet", "report", tmp_path / "study", "--out", tmp_path / "r.html", "--json")
        == 0
    )
    out, err = capsys.readouterr()
    assert len(json.loads(out)["rows"]) == len(invented.study())
    assert err == ""


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
