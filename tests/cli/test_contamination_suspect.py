"""``posbias contamination suspect``: what it prints is what evaluate measures; what it reads; one
clear line where it cannot.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.cli.main import main
from positionbias.contamination.shown import LIMITS, SUSPICIONS
from positionbias.contamination.suspect import Suspected
from positionbias.core.rows import frame, load, load_values
from positionbias.planted.generator import PlantedSettings

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


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


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


def test_text_results_and_page(
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    out = tmp_path / "made" / "results"
    base = ("contamination", "suspect", place / "p", *given(place, "m1", "m2", "m3", "m4"))
    code, text, err = posbias(capsys, *base, *FRESH, "--out", out)
    assert code == 0, err
    rows = load(out)
    assert set(load_values(out, rows)["row"]) == set(rows[rows["statistic"] == "mean"]["row"])
    own = SUSPICIONS.own(rows)
    said = [*SUSPICIONS.headline(own), *(finding.text for finding in SUSPICIONS.findings(own))]
    assert "Simulated error rates of this call (3 controls; spread among trainings" in said[1]
    page = tmp_path / "made" / "report.html"
    assert posbias(capsys, "report", out, "--out", page)[0] == 0
    shown = unescape(re.sub("<[^>]+>", "", page.read_text()))
    for told in (" ".join(text.split()), shown.replace("\u00a0", " ")):
        for sentence in (*said, *LIMITS):
            assert sentence.replace("\u00a0", " ") in told
    heads = next(line for line in text.splitlines() if line.startswith("System"))
    assert heads.split() == ["System", "test", "fresh", "Difference"]


def test_without_controls_it_cannot_tell(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suspected(capsys, place, *given(place, "m1"), *FRESH)
    assert excess_of(found).answer == Suspected.UNKNOWN
    assert excess_of(found).reason.startswith("fewer than two controls")


def test_an_output_is_none_of_what_settings_name(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*given(place, "m1"), *FRESH, "--out", place / "m1.ckpt", "--overwrite")
    code, _, err = posbias(capsys, "contamination", "suspect", place / "p", *options)
    assert code == 2
    assert err.startswith("posbias: --out: wanted a place apart from what is read")


M1 = ["--model", "m1.ckpt", "--candidates", "test.run", "--candidates", "fresh.run"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fresh", "fresh"], "--model: wanted at least one, each once; found none"),
        (["--model", "m1.ckpt", "--fresh", "fresh"], "--candidates: wanted runs for models to re-"),
        (
            ["--model", "test.run", "--fresh", "fresh"],
            "wanted rankings of the judged queries of 'fresh'; found none",
        ),
        (
            [*M1, "--fresh", "fresh", "--control", "m1.ckpt"],
            "--model, --control: wanted a name for each; found m1, m1",
        ),
        ([*M1, "--fresh", "test"], "--split, --fresh: wanted two splits; found"),
        ([*M1, "--fresh", "nosuch"], "nosuch"),
        (
            [*M1[:4], "--fresh", "fresh"],
            "wanted rankings of the judged queries of 'fresh'; found none",
        ),
        (
            [*M1, "--fresh", "fresh", "--control", "m2.ckpt", "--control", "m2.ckpt"],
            "--control: wanted at least one, each once",
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
