"""Figures of leakage: what each command measures is read back as it was written."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.manifest import Manifest
from positionbias.leakage.find import Found
from positionbias.leakage.published_results import published_find, published_review
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.results import leakage, leakage_pairs
from positionbias.results.figures import Figures
from positionbias.results.result import Result, load_results, save_results

from ..tiny import candidates

PLANTED = PlantedSettings(
    queries=60, passages=240, test_share=0.3, validation_share=0.2, leaked_queries=20
)
KNOWN = {
    kind
    for module in (leakage, leakage_pairs)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Figures) and kind.MEASURES
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planted pair with its candidates, where commands run, and pairs that one and another person
    labelled.
    """
    candidates(write_planted(tmp_path / "pair", PLANTED), tmp_path)
    monkeypatch.chdir(tmp_path)
    rows = [("q1", "q3", 0.99), ("q1", "q4", 0.95), ("q2", "q4", 0.93), ("q9", "q3", 0.85)]
    pairs = [{"train_id": train, "test_id": test, "cosine": cosine} for train, test, cosine in rows]
    for name, labels in (
        ("found", [None] * 4),
        ("one", ["yes", "no", "identical", "no"]),
        ("two", ["yes", "yes", "no", "no"]),
    ):
        lines = [
            json.dumps({**pair, "label": label} if label else pair)
            for pair, label in zip(pairs, labels, strict=True)
        ]
        Path(f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def measured(capsys: pytest.CaptureFixture[str], *command: object) -> list[Result]:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, command), "--json"])
    out, err = capsys.readouterr()
    assert stop.value.code == 0, err
    records = json.loads(out)["results"]
    results = [Result.from_json(record) for record in records]
    assert [result.to_json() for result in results] == records
    return results


def saved(place: Path, results: Sequence[Result]) -> list[Result]:
    save_results(place, results, Manifest(kind="results", name="r", command="a test"))
    return load_results(place)


def test_every_command_is_read_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    find = (
        "leakage",
        "find",
        "./pair:train",
        "./pair:test",
        "--detector",
        "lexical",
        "--truth",
        "./pair",
        "--out",
        "./leaks",
    )
    sets = (
        "trainset",
        "leaked",
        "./pair",
        "--target",
        "test",
        "--pairs",
        "pair",
        "--candidates",
        "train.run",
        "--size",
        40,
    )
    given = (
        find,
        ("leakage", "sample", "found.jsonl", "--strata", 2, "--out", "sheet.tsv"),
        ("leakage", "review", "found.jsonl", "--filled", "one.jsonl", "--filled", "two.jsonl"),
        ("leakage", "calibrate", "one.jsonl", "--apply", 0.9),
        ("leakage", "clean", "./pair", "--pairs", "pair", "--out", "./clean"),
        (*sets, "--leaked-queries", 10, "--repeats", 1, "--out", "./sets"),
    )
    results = [result for command in given for result in measured(capsys, *command)]
    results += [
        *published_find("Robust04", Found([], {"m": 1}, {"m": 0}), ["title"], "x"),
        *published_review("Robust04", "x"),
    ]
    assert saved(folder / "saved", results) == results
    assert {type(result.payload) for result in results} >= KNOWN
