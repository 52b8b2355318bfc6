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
from positionbias.contamination.measured import KEYS, suspicions_in
from positionbias.contamination.suspicion import LIMITS, Obstacle, Suspicion
from positionbias.contamination.words import sentences
from positionbias.core.collection import Collection
from positionbias.core.rows import frame, load, load_values
from positionbias.planted.generator import PlantedSettings

from ..tiny import candidates, planted, saved_tk

SETTINGS = PlantedSettings(
    queries=40,
    passages=240,
    test_share=0.3,
    validation_share=0.2,
    fresh_queries=10,
    paraphrased=True,
    sentences=(2, 2),
)  # 12 test queries


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection p, a run for each split, two checkpoints, and one's runs."""
    folder = tmp_path_factory.mktemp("suspect")
    collection = planted(folder / "p", SETTINGS)
    candidates(collection, folder)
    for seed in (1, 2, 3, 4):
        saved_tk(folder / f"m{seed}.ckpt", collection, seed=seed)
    for name, number in (("bank", 2), ("one", 1)):
        (folder / f"{name}.txt").write_text(
            "".join(f"{folder / f'm{seed}.ckpt'}\n" for seed in range(3, 3 + number))
        )
    (folder / "twice.txt").write_text("m3.ckpt\nm3.ckpt\n")
    (folder / "wide.txt").write_text("m3.ckpt\na\tb\tc\n")
    pairs = [
        {"train_id": "t", "test_id": query.query_id} for query in collection.queries("test")[:5]
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return folder


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


def suspected(capsys: pytest.CaptureFixture[str], place: Path, *arguments: object) -> DataFrame:
    """The rows that the command prints as JSON."""
    base = ("contamination", "suspect", place / "p", "--candidates", place / "test.run")
    code, out, err = posbias(capsys, *base, *arguments, "--json")
    assert code == 0, err
    return frame(json.loads(out)["rows"], KEYS)


def first_of(rows: DataFrame) -> Suspicion:
    return next(suspicions_in(rows)).suspicion


FRESH = ("--fresh", "fresh", "--fresh-candidates")


def controls(place: Path, *names: str) -> list[object]:
    return [part for name in names for part in ("--control", place / f"{name}.ckpt")] + [
        "--configuration",
        "tiny TKs",
    ]


def systems_of(rows: DataFrame) -> dict[str, tuple[float, ...]]:
    means = rows[rows["statistic"] == "mean"]
    return {
        str(name): tuple(own["value"].tolist()) for name, own in means.groupby("model", sort=False)
    }


def test_means_are_those_that_rerank_and_evaluate_give(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = suspected(
        capsys,
        place,
        "--model",
        place / "m1.ckpt",
        *FRESH,
        place / "fresh.run",
        *controls(place, "m2", "m3"),
    )
    systems = systems_of(found)
    assert list(systems) == ["m1", "m2", "m3", "bm25"]
    for name in ("m1", "m2", "m3"):
        for number, split in enumerate(("test", "fresh")):
            out = tmp_path / f"{name}-{split}.run"
            options = ("--split", split, "--candidates", place / f"{split}.run", "--out", out)
            assert (
                posbias(capsys, "rerank", place / "p", "--model", place / f"{name}.ckpt", *options)[
                    0
                ]
                == 0
            )
            code, printed, _ = posbias(
                capsys,
                "evaluate",
                out,
                "--collection",
                place / "p",
                "--split",
                split,
                "-m",
                "nDCG@10",
                "--json",
            )
            assert code == 0
            assert systems[name][number] == pytest.approx(json.loads(printed)["rows"][0]["value"])
    own, one, other = (
        seen - fresh for seen, fresh in (systems[name] for name in ("m1", "m2", "m3"))
    )
    suspicion = first_of(found)
    assert suspicion.excesses[0].value == pytest.approx(own - (one + other) / 2)
    assert suspicion.excesses[0].spread == pytest.approx(abs(one - other) / 2**0.5)
    assert (suspicion.paired, suspicion.controls) == (False, ["m2", "m3"])


def test_a_model_and_its_runs_are_judged_alike(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {}
    for name in ("m1", "m2", "m3"):
        for split in ("test", "fresh"):
            runs[name, split] = tmp_path / f"{name}-{split}.run"
            options = (
                "--split",
                split,
                "--candidates",
                place / f"{split}.run",
                "--out",
                runs[name, split],
            )
            assert (
                posbias(capsys, "rerank", place / "p", "--model", place / f"{name}.ckpt", *options)[
                    0
                ]
                == 0
            )
    model = suspected(
        capsys,
        place,
        "--model",
        place / "m1.ckpt",
        *FRESH,
        place / "fresh.run",
        *controls(place, "m2", "m3"),
    )
    options = [
        "--run",
        runs["m1", "test"],
        "--fresh-run",
        runs["m1", "fresh"],
        *FRESH,
        place / "fresh.run",
    ]
    for name in ("m2", "m3"):
        options += ["--control-run", runs[name, "test"], "--control-fresh-run", runs[name, "fresh"]]
    silent = suspected(capsys, place, *options)
    assert first_of(silent).obstacle is Obstacle.UNDECLARED
    told = suspected(capsys, place, *options, "--configuration", "tiny TKs")
    # margins need scores below the depth
    of_runs, of_models = (first_of(rows).excesses[0] for rows in (told, model))
    assert of_runs == of_models
    assert systems_of(told) == systems_of(model)


def test_several_models_and_a_bank(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("m3", "m4"):
        for split in ("test", "fresh"):
            options = (
                "--split",
                split,
                "--candidates",
                place / f"{split}.run",
                "--out",
                tmp_path / f"{name}-{split}.run",
            )
            assert (
                posbias(capsys, "rerank", place / "p", "--model", place / f"{name}.ckpt", *options)[
                    0
                ]
                == 0
            )
    lines = [
        f"{tmp_path / f'{name}-test.run'}\t{tmp_path / f'{name}-fresh.run'}\n"
        for name in ("m3", "m4")
    ]
    (tmp_path / "runs.txt").write_text("".join(lines))
    models = ("--model", place / "m1.ckpt", "--model", place / "m4.ckpt")
    base = (*models, *FRESH, place / "fresh.run", *controls(place, "m2", "m3"))
    found, as_runs = (
        suspected(capsys, place, *base, *(part for _ in range(3) for part in ("--bank", file)))
        for file in (place / "bank.txt", tmp_path / "runs.txt")
    )
    assert [(name, answer.tests) for name, answer in suspicions_in(found)] == [("m1", 2), ("m4", 2)]
    suspicion = first_of(found)
    assert (suspicion.bank_groups, suspicion.bank_models) == (3, 6)
    assert suspicion.excesses[0].freedom > 1
    assert first_of(as_runs).excesses[0] == suspicion.excesses[0]


def test_a_paraphrase_has_the_candidates_of_its_query(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--model", place / "m1.ckpt", "--fresh", "paraphrased")
    found = suspected(capsys, place, *options)
    assert first_of(found).paired
    assert systems_of(found)["bm25"][0] == systems_of(found)["bm25"][1]
    assert found.equals(
        suspected(capsys, place, *options, "--fresh-candidates", place / "test.run")
    )
    queries = [query.query_id for query in Collection(place / "p").queries("test")]
    (tmp_path / "same.tsv").write_text("".join(f"{query_id}\t{query_id}\n" for query_id in queries))
    assert found.equals(suspected(capsys, place, *options, "--paraphrases", tmp_path / "same.tsv"))


def test_near_duplicates_need_no_other_queries(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = first_of(
        suspected(capsys, place, "--model", place / "m1.ckpt", "--pairs", place / "pairs.jsonl")
    )
    assert (found.queries_seen, found.queries_other) == (5, 7)
    assert found.seen == "test, near-duplicate in training"
    both = ("--pairs", place / "pairs.jsonl", "--fresh", "paraphrased")
    results = suspected(capsys, place, "--model", place / "m1.ckpt", *both)
    others = [answer.other for _, answer in suspicions_in(results)]
    assert others == ["paraphrased", "test, none found"]


def test_text_results_and_page(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "results"
    base = (
        "contamination",
        "suspect",
        place / "p",
        "--candidates",
        place / "test.run",
        "--model",
        place / "m1.ckpt",
    )
    known = controls(place, "m2", "m3", "m4")
    code, text, err = posbias(
        capsys, *base, *FRESH, place / "fresh.run", *known, "--out", out, "--wide"
    )
    assert code == 0, err
    lines = " ".join(text.split())
    rows = load(out)
    assert set(load_values(out, rows)["row"]) == set(rows[rows["statistic"] == "advantage"]["row"])
    found = first_of(rows)
    said = [sentence.replace("\u00a0", " ") for sentence in sentences("m1", found)]
    assert lines.startswith(said[0])
    assert found.rates is not None
    assert "Simulated error rates of this call (3 controls; spread among trainings" in lines
    for sentence in (*said, *LIMITS):
        assert sentence in lines
    heads = next(line for line in text.splitlines() if line.startswith("Query sets"))
    assert heads.split() == ["Query", "sets", "System", "test", "fresh", "Difference"]
    page = tmp_path / "made" / "report.html"
    assert posbias(capsys, "report", out, "--out", page)[0] == 0
    shown = unescape(re.sub("<[^>]+>", "", page.read_text())).replace("\u00a0", " ")
    for sentence in (*said, *LIMITS):
        assert sentence in shown
    # it stands already
    assert posbias(capsys, *base, "--fresh", "paraphrased", "--out", out)[0] == 2


def test_without_controls_it_cannot_tell(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = posbias(
        capsys, "contamination", "suspect", place / "p", "--candidates", place / "test.run",
        "--model", place / "m1.ckpt",
        "--fresh", "paraphrased",
    )  # fmt: skip
    assert code == 0
    assert text.startswith("Cannot tell whether m1 saw test: wanted at least 2 controls")
    assert "suspicious" not in text


def test_an_output_is_none_of_what_settings_name(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = (
        "contamination",
        "suspect",
        place / "p",
        "--candidates",
        place / "test.run",
        "--model",
        place / "m1.ckpt",
    )
    options = ("--fresh", "paraphrased", "--out", place / "m1.ckpt", "--overwrite")
    code, _, err = posbias(capsys, *base, *options)
    assert (code, err.startswith("posbias: --out: wanted a place apart from what is read")) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--fresh", "paraphrased"],
            "--model, --run: wanted a model or its rankings; found neither",
        ),
        (
            ["--model", "m1.ckpt"],
            (
                "--fresh, --pairs: wanted judged queries that the model cannot have seen, or pairs "
                "of near-duplicates; found neither"
            ),
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "fresh"],
            "--fresh-candidates: wanted a run of 'fresh', whose queries are none of 'test'",
        ),
        (
            ["--run", "test.run", "--fresh", "fresh"],
            (
                "--fresh-run: wanted one for each --run if there is --fresh, in the same order; "
                "found 0 for 1"
            ),
        ),
        (
            ["--run", "test.run", "--fresh-run", "fresh.run", "--pairs", "pairs.jsonl"],
            (
                "--fresh-run: wanted one for each --run if there is --fresh, in the same order; "
                "found 1 for 0"
            ),
        ),
        (
            ["--model", "m1.ckpt", "--pairs", "pairs.jsonl", "--fresh-candidates", "fresh.run"],
            "--fresh-candidates: wanted --fresh too; found none",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--control", "m1.ckpt"],
            "wanted models other than the suspected one",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--control-run", "test.run"],
            "--control-fresh-run: wanted one for each --control-run if there is --fresh",
        ),
        (["--model", "m1.ckpt", "--fresh", "nosuch"], "nosuch"),
        (
            ["--model", "m1.ckpt", "--fresh", "fresh", "--fresh-candidates", "test.run"],
            "wanted candidates of the judged queries of 'fresh'; found none",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "bad.tsv"],
            "bad.tsv:1: wanted a query of the fresh split; found 'x'",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "wide.tsv"],
            "wide.tsv:2: wanted lines of a fresh query's id",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "empty.tsv"],
            "empty.tsv: wanted lines of a fresh query's id",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--alpha", "1.5"],
            "--alpha: wanted a number above 0 and below 0.5; found 1.5",
        ),
        (
            [
                "--model",
                "m1.ckpt",
                "--fresh",
                "paraphrased",
                "--control",
                "m2.ckpt",
                "--control",
                "m2.ckpt",
            ],
            "--control: wanted each once; found one twice",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--bank", "one.txt"],
            "one.txt: wanted a line each for two trainings or more",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--bank", "twice.txt"],
            "twice.txt:2: wanted another training; found 'm3.ckpt' again",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "--bank", "wide.txt"],
            "wide.txt:2: wanted at most 2 columns; found 3",
        ),
        (
            ["--model", "m1.ckpt", "--fresh", "paraphrased", "-m", "nothing@3"],
            "-m: wanted a measure; found 'nothing@3'",
        ),
    ],
    ids=[
        "no model",
        "no contrast",
        "no fresh candidates",
        "no fresh run",
        "fresh run alone",
        "fresh candidates alone",
        "own control",
        "control run alone",
        "no split",
        "candidates of another split",
        "unknown id",
        "columns",
        "empty",
        "alpha",
        "a control twice",
        "a small bank",
        "a training twice",
        "a wide bank",
        "measure",
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
    first = Collection("p").queries("paraphrased")[0].query_id
    Path("bad.tsv").write_text("x\ty\n")
    Path("wide.tsv").write_text(f"{first}\t{first}\none\n")
    Path("empty.tsv").write_text("\n")
    code, out, err = posbias(
        capsys, "contamination", "suspect", "./p", "--candidates", "test.run", *arguments
    )
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
