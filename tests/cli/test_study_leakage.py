"""``posbias study leakage`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection

from ..papers.leakage.leaking import leaking_collection, leaking_pairs
from ..tiny import TINY
from .conftest import RunPosbias

GIVEN = [
    "--target",
    "topics",
    "--source",
    "train",
    "--out",
    "./study",
    "--set",
    "depth=6",
    "--leaked-queries",
    4,
]
GIVEN += [
    "--size",
    12,
    "--size",
    20,
    "--set",
    "folds=3",
    "--set",
    "threads=1",
    "--set",
    "batch_size=4",
    "--seeds",
    1,
]
SHAPE = [
    f"{name}={getattr(TINY, name)}"
    for name in ("dimension", "layers", "heads", "head_size", "feed_forward")
]


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


def test_the_plan_and_bad_options(
    run_posbias: RunPosbias, command: list[object], tmp_path: Path
) -> None:
    dry = run_posbias(*command, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "train-tk-msm-20-seed-1" in dry.stdout
    assert "to-score-topics" in dry.stdout
    assert not (tmp_path / "study").exists()
    for more, line in (
        (["--size", 13], "--size: wanted an even number of instances, two per query; found 13"),
        (
            ["--set", "leakage=test"],
            "leakage: wanted no, and a leakage to compare with it (msm, test); found test",
        ),
        (["--set", "folds=20"], "wanted at least one query per fold; found 12 for 20 folds"),
        (["--set", "patience=3"], "patience: wanted a validation; found this study"),
    ):
        done = run_posbias(*command, *more)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert line in done.stderr
    assert not (tmp_path / "study").exists()
