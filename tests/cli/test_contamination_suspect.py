"""``posbias contamination suspect``: what it prints is what evaluate measures; what it reads; one
clear line where it cannot.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.contamination.suspect import Suspected
from positionbias.core.rows import frame
from positionbias.planted.settings import PlantedSettings
from tests.commands import posbias

from ..tiny import candidates, planted, saved_tk

SETTINGS = PlantedSettings(
    queries=40,
    passages=240,
    test_share=0.3,
    validation_share=0.2,
    fresh_queries=10,
    sentences=(2, 2),
)  # 12 test queries


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection p, a run for each split, four checkpoints, and pairs."""
    folder = tmp_path_factory.mktemp("suspect")
    collection = planted(folder / "p", SETTINGS)
    candidates(collection, folder)
    for seed in (1, 2, 3, 4):
        saved_tk(folder / f"m{seed}.ckpt", collection, seed=seed)
    return folder


def suspected(capsys: pytest.CaptureFixture[str], place: Path, *arguments: object) -> DataFrame:
    """The rows that the command prints as JSON."""
    base = ("contamination", "suspect", place / "p")
    code, out, err = posbias(capsys, *base, *arguments, "--json")
    assert code == 0, err
    return frame(json.loads(out)["rows"], ("seen", "other"))


def excess_of(rows: DataFrame) -> Any:
    (row,) = rows[rows["statistic"] == "excess"].itertuples()
    return row


def given(place: Path, *names: str) -> list[object]:
    """The options for the first checkpoint as the model, the others as controls."""
    model, *controls = (place / f"{name}.ckpt" for name in names)
    runs = [part for name in ("test", "fresh") for part in ("--candidates", place / f"{name}.run")]
    return ["--model", model, *(part for one in controls for part in ("--control", one)), *runs]


FRESH = ("--fresh", "fresh")


def test_means_are_those_that_rerank_and_evaluate_give(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = suspected(capsys, place, *given(place, "m1", "m2", "m3"), *FRESH)
    means = found[found["statistic"] == "mean"].set_index(["model", "subset"])["value"]
    runs: dict[str, list[object]] = {}
    for name in ("m1", "m2", "m3"):
        for split in ("test", "fresh"):
            out = tmp_path / f"{name}-{split}.run"
            options = ("--split", split, "--candidates", place / f"{split}.run", "--out", out)
            model = ("--model", place / f"{name}.ckpt")
            assert posbias(capsys, "rerank", place / "p", *model, *options)[0] == 0
            of = ("--collection", place / "p", "--split", split, "-m", "nDCG@10", "--json")
            code, printed, _ = posbias(capsys, "evaluate", out, *of)
            assert code == 0
            assert means[name, split] == pytest.approx(json.loads(printed)["rows"][0]["value"])
            runs.setdefault(name, []).append(out)
    own, one, other = (means[name, "test"] - means[name, "fresh"] for name in runs)
    assert excess_of(found).value == pytest.approx(own - (one + other) / 2)
    # the same by rankings: those of one tag are joined
    flags = {"m1": "--model", "m2": "--control", "m3": "--control"}
    ranked = [part for name, paths in runs.items() for run in paths for part in (flags[name], run)]
    by_runs = suspected(capsys, place, *ranked, *FRESH)
    assert by_runs.drop(columns="row").equals(found.drop(columns="row"))


def test_without_controls_it_cannot_tell(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suspected(capsys, place, *given(place, "m1"), *FRESH)
    assert excess_of(found).answer == Suspected.UNKNOWN
    assert excess_of(found).reason.startswith("fewer than two controls")


M1 = ["--model", "m1.ckpt", "--candidates", "test.run", "--candidates", "fresh.run"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "m1.ckpt", "--fresh", "fresh"], "--candidates: wanted runs for models to re-"),
        (
            [*M1, "--fresh", "fresh", "--control", "m1.ckpt"],
            "--model, --control: wanted a name for each; found m1, m1",
        ),
        ([*M1, "--fresh", "test"], "--split, --fresh: wanted two splits; found"),
        (
            [*M1[:4], "--fresh", "fresh"],
            "wanted rankings of the judged queries of 'fresh'; found none",
        ),
        ([*M1, "--fresh", "fresh", "-m", "nothing@3"], "-m: wanted a measure; found 'nothing@3'"),
    ],
)
def test_one_line_where_it_cannot(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(place)
    code, out, err = posbias(capsys, "contamination", "suspect", "./p", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
