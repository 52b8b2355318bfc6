"""``posbias study leakage`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.papers.leakage import LeakedSetSize, Memory, ModelOrders, SizeEffect
from positionbias.results.result import load_results

from ..papers.leakage.leaking import leaking_collection, leaking_pairs
from ..tiny import TINY
from .conftest import RunPosbias

GIVEN = ["--target", "topics", "--source", "train", "--out", "./study", "--depth", 6, "--leaked-queries", 4]
GIVEN += ["--size", 12, "--size", 20, "--folds", 3, "--threads", 1, "--batch-size", 4, "--seeds", 1]
SHAPE = [f"{name}={getattr(TINY, name)}" for name in ("dimension", "layers", "heads", "head_size", "feed_forward")]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return leaking_collection(tmp_path_factory.mktemp("leakage"))


@pytest.fixture(scope="module")
def command(collection: Collection) -> list[object]:
    pairs = leaking_pairs(collection.path.parent / "pairs.jsonl", collection)
    given: list[object] = ["study", "leakage", collection.path, "--pairs", pairs, *GIVEN]
    for assignment in SHAPE:
        given += ["--set", f"tk.{assignment}"]
    return given


def test_the_plan_and_bad_options(run_posbias: RunPosbias, command: list[object], tmp_path: Path) -> None:
    dry = run_posbias(*command, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "train-tk-msm-20-seed-1" in dry.stdout
    assert "to-score-topics" in dry.stdout
    assert not (tmp_path / "study").exists()
    for more, line in (
        (["--size", 13], "--size: wanted an even number of instances, two per query; found 13"),
        (["--leakage", "test"], "--leakage: wanted no, and a leakage to compare with it (msm, test); found test"),
        (["--source", "validation"], "found no validation (there are train, topics)"),
        (["--folds", 20], "wanted at least one query per fold; found 12 for 20 folds"),
        (["--prefixes", "a", "b"], "wanted pairs with queries of the target"),
        (["--size", 4_000], "give a smaller --size, or another --source"),
        (["--patience", 3], "--patience: wanted a validation; found this study"),
        (["--models", "bm25"], "--models: wanted some of tk,"),
    ):
        done = run_posbias(*command, *more)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert line in done.stderr
    assert not (tmp_path / "study").exists()


def test_the_command_runs_and_goes_on(run_posbias: RunPosbias, command: list[object], tmp_path: Path) -> None:
    done = run_posbias(*command, "--models", "tk", "--models", "knrm", "--set", "knrm.dimension=8", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    read = load_results(tmp_path / "study" / "results")
    short = [result.to_json(items=False) for result in read]
    assert json.loads(json.dumps(short)) == results  # all but values by query, which the folder has
    assert {type(result.payload) for result in read} >= {LeakedSetSize, Memory, ModelOrders, SizeEffect}
    assert {item["facts"]["variant"] for item in results if "variant" in item["facts"]} == {
        "no leakage",
        "MSM leakage",
        "test leakage",
    }
    orders = [item for item in results if item["measure"] == "order of models with leakage"]
    assert [item["payload"]["rows"]["measure"] for item in orders] == ["nDCG@10", "MFR", "RR", "P@1"]
    assert (tmp_path / "study" / "report.html").is_file()
    for name in ("leakage", "leakage-tests", "leakage-sizes", "leakage-orders", "memory-ranks", "memory-offsets"):
        assert (tmp_path / "study" / "tables" / f"{name}.csv").is_file()
    again = run_posbias(*command, "--models", "tk", "--models", "knrm", "--set", "knrm.dimension=8", "--json")
    assert again.stdout == done.stdout
    assert again.stderr.count("done before") == again.stderr.count(": ") - 2  # all but the two lines at the end
