"""``posbias contamination suspect``: what it prints is what evaluate measures; what it reads; one clear line where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.result import load_results
from positionbias.planted.generator import PlantedSettings

from ..tiny import candidates, planted, saved_tk

SETTINGS = PlantedSettings(
    queries=40, passages=240, test_share=0.3, validation_share=0.2, fresh_queries=10, paraphrased=True, sentences=(2, 2)
)  # 12 test queries


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection p, a run for each split, two checkpoints, and one's runs."""
    folder = tmp_path_factory.mktemp("suspect")
    collection = planted(folder / "p", SETTINGS)
    candidates(collection, folder)
    for seed in (1, 2):
        saved_tk(folder / f"m{seed}.ckpt", collection, seed=seed)
    pairs = [{"train_id": "t", "test_id": query.query_id} for query in collection.queries("test")[:5]]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return folder


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


def suspected(capsys: pytest.CaptureFixture[str], place: Path, *arguments: object) -> list[dict[str, Any]]:
    base = ("contamination", "suspect", place / "p", "--candidates", place / "test.run", "--permutations", "99")
    code, out, err = posbias(capsys, *base, *arguments, "--json")
    assert code == 0, err
    results: list[dict[str, Any]] = json.loads(out)["results"]
    return results


FRESH = ("--fresh", "fresh", "--fresh-candidates")


def systems_of(results: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    rows = [(r["system"], r["payload"]["rows"]) for r in results if r["kind"] == "statistics"]
    return {name: (row["seen"], row["other"]) for name, row in rows if row["what"] == "system"}


def test_means_are_those_that_rerank_and_evaluate_give(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suspected(capsys, place, "--model", place / "m1.ckpt", *FRESH, place / "fresh.run", "--control", place / "m2.ckpt")
    systems = systems_of(found)
    assert list(systems) == ["m1", "m2", "bm25"]
    for name in ("m1", "m2"):
        for number, split in enumerate(("test", "fresh")):
            out = tmp_path / f"{name}-{split}.run"
            options = ("--split", split, "--candidates", place / f"{split}.run", "--out", out)
            assert posbias(capsys, "rerank", place / "p", "--model", place / f"{name}.ckpt", *options)[0] == 0
            code, printed, _ = posbias(
                capsys, "evaluate", out, "--collection", place / "p", "--split", split, "-m", "nDCG@10", "--json"
            )
            assert code == 0
            assert systems[name][number] == pytest.approx(json.loads(printed)["results"][0]["value"])
    of, others = systems["m1"], systems["m2"]
    assert found[0]["value"] == pytest.approx((of[0] - others[0]) - (of[1] - others[1]))
    assert found[0]["payload"]["rows"]["design"] == "unpaired"


def test_a_model_and_its_runs_are_judged_alike(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {}
    for name in ("m1", "m2"):
        for split in ("test", "fresh"):
            runs[name, split] = tmp_path / f"{name}-{split}.run"
            options = ("--split", split, "--candidates", place / f"{split}.run", "--out", runs[name, split])
            assert posbias(capsys, "rerank", place / "p", "--model", place / f"{name}.ckpt", *options)[0] == 0
    model = suspected(capsys, place, "--model", place / "m1.ckpt", *FRESH, place / "fresh.run", "--control", place / "m2.ckpt")
    options = (
        "--fresh-run",
        runs["m1", "fresh"],
        "--control-run",
        runs["m2", "test"],
        "--control-fresh-run",
        runs["m2", "fresh"],
    )
    assert model == suspected(capsys, place, "--run", runs["m1", "test"], *FRESH, place / "fresh.run", *options)


def test_a_paraphrase_has_the_candidates_of_its_query(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--model", place / "m1.ckpt", "--fresh", "paraphrased")
    found = suspected(capsys, place, *options)
    assert found[0]["payload"]["rows"]["design"] == "paired"
    assert systems_of(found)["bm25"][0] == systems_of(found)["bm25"][1]
    assert found == suspected(capsys, place, *options, "--fresh-candidates", place / "test.run")
    queries = [query.query_id for query in Collection(place / "p").queries("test")]
    (tmp_path / "same.tsv").write_text("".join(f"{query_id}\t{query_id}\n" for query_id in queries))
    assert found == suspected(capsys, place, *options, "--paraphrases", tmp_path / "same.tsv")


def test_near_duplicates_need_no_other_queries(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = suspected(capsys, place, "--model", place / "m1.ckpt", "--pairs", place / "pairs.jsonl")[0]["payload"]["rows"]
    assert (rows["queries_seen"], rows["queries_other"]) == (5, 7)
    assert rows["seen"] == "test, near-duplicate in training"
    both = ("--pairs", place / "pairs.jsonl", "--fresh", "paraphrased")
    found = suspected(capsys, place, "--model", place / "m1.ckpt", *both)
    heads = [
        r["payload"]["rows"]["other"]
        for r in found
        if r["kind"] == "statistics" and r["payload"]["rows"]["what"] == "suspicion"
    ]
    assert heads == ["paraphrased", "test, none found"]


def test_text_results_and_page(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made" / "results"
    base = ("contamination", "suspect", place / "p", "--candidates", place / "test.run", "--model", place / "m1.ckpt")
    code, text, err = posbias(capsys, *base, *FRESH, place / "fresh.run", "--permutations", 99, "--out", out)
    assert code == 0, err
    lines = text.splitlines()
    assert lines[0].split() == ["system", "test", "(12)", "fresh", "(10)", "difference"]
    assert [line.split()[1] for line in lines[1:3]] == ["model", "candidates"]
    assert "Without controls a clean model may differ as much" in text
    assert "A small p is no proof." in text
    assert "A large p clears nobody." in text
    assert [result.kind for result in load_results(out)] == [
        *("statistics", "statistics", "statistics"),
        *("per_query", "per_query", "finding"),
    ]
    page = tmp_path / "made" / "report.html"
    assert posbias(capsys, "report", out, "--out", page)[0] == 0
    assert "one-sided p over queries" in page.read_text()
    assert posbias(capsys, *base, "--fresh", "paraphrased", "--out", out)[0] == 2  # it stands already


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fresh", "fresh"], "give --model, or --run RUN with its rankings, and not both"),
        (["--model", "m1.ckpt"], "give --fresh SPLIT, judged queries that the model cannot have seen, or --pairs, or both"),
        (["--model", "m1.ckpt", "--fresh", "fresh"], "--fresh-candidates: wanted a run of 'fresh', whose queries are none of 'test'"),
        (["--run", "test.run", "--fresh", "fresh"], "--fresh-run goes with --run and --fresh"),
        (["--run", "test.run", "--fresh-run", "fresh.run", "--pairs", "pairs.jsonl"], "--fresh-run goes with --run and --fresh"),
        (["--model", "m1.ckpt", "--pairs", "pairs.jsonl", "--fresh-candidates", "fresh.run"], "go with --fresh SPLIT"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--control", "m1.ckpt"], "cannot be its own control"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--control-run", "test.run"], "--control-fresh-run: give one for each"),
        (["--model", "m1.ckpt", "--fresh", "nosuch"], "nosuch"),
        (["--model", "m1.ckpt", "--fresh", "fresh", "--fresh-candidates", "test.run"], "wanted candidates of the judged queries of 'fresh'; found none"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "bad.tsv"], "bad.tsv:1: wanted a query of the fresh split; found 'x'"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "wide.tsv"], "wide.tsv:2: wanted lines of a fresh query's id"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--paraphrases", "empty.tsv"], "empty.tsv: wanted lines of a fresh query's id"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--alpha", "1.5"], "--alpha: wanted a number between 0 and 1; found 1.5"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "--permutations", "0"], "--permutations: wanted at least 1; found 0"),
        (["--model", "m1.ckpt", "--fresh", "paraphrased", "-m", "nothing@3"], "-m: wanted a measure; found 'nothing@3'"),
    ],
    ids=[
        "no model", "no contrast", "no fresh candidates", "no fresh run", "fresh run alone", "fresh candidates alone", "own control",
        "control run alone", "no split", "candidates of another split", "unknown id", "columns", "empty", "alpha", "permutations", "measure",
    ],
)  # fmt: skip
def test_one_line_where_it_cannot(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(place)
    first = Collection("p").queries("paraphrased")[0].query_id
    Path("bad.tsv").write_text("x\ty\n")
    Path("wide.tsv").write_text(f"{first}\t{first}\none\n")
    Path("empty.tsv").write_text("\n")
    code, out, err = posbias(capsys, "contamination", "suspect", "./p", "--candidates", "test.run", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
