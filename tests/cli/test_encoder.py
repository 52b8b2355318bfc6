"""``posbias encoder``: as a user runs it, and a training that begins with what it made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
from tests.tiny import candidates, planted

GIVEN = ("--layers", 1, "--width", 8, "--heads", 2, "--pieces", 90)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_an_encoder_that_is_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    collection = planted(tmp_path / "planted")
    runs = candidates(collection, tmp_path)
    code, out, err = call(capsys, "encoder", collection.path, *GIVEN, "--out", "small")
    assert code == 0, err
    assert out.startswith("small: ")
    assert "1 layers, 8 wide; written to small; next: posbias train bert_cat COLLECTION --encoder small …" in err
    trained = ("train", "bert_dot", collection.path, "--candidates", runs["train"], "--encoder", "small")
    code, _, err = call(capsys, *trained, "--epochs", 1, "--threads", 1, "--out", tmp_path / "model", "--seed", 1)
    assert code == 0, err
    assert (tmp_path / "model" / "posbias.json").is_file()


def test_as_json_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = planted(tmp_path / "planted")
    code, out, _ = call(capsys, "encoder", collection.path, *GIVEN, "--out", tmp_path / "small", "--json")
    assert code == 0
    (result,) = json.loads(out)["results"]
    assert (result["measure"], result["system"], result["kind"]) == ("encoder", "small", "statistics")
    assert result["value"] == result["payload"]["rows"]["weights"]
    for more, line in (
        (("--out", tmp_path / "x", "--width", 9), "--width: wanted a multiple of the 2 heads; found 9"),
        (("--out", tmp_path / "small", "--width", 32), "wanted a new path to write to; found something there"),
    ):
        code, out, err = call(capsys, "encoder", collection.path, *GIVEN, *more)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert line in err
