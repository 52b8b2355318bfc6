"""How long a step is said to take: as finished steps do whose names begin most alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.seal import signed
from positionbias.experiments.step import Steps

TAKEN = {
    "train-tk-original-seed-1": 10.0,
    "train-tk-original-seed-2": 20.0,
    "train-tk-rotated-1-seed-1": 40.0,
    "train-bert_cat-original-seed-1": 1_000.0,
    "rotate-1": 5.0,
    "bm25-train": 7.0,
}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    steps = Steps(tmp_path)
    for name, seconds in TAKEN.items():
        steps.make(name, tmp_path / name, {}, {}, (tmp_path / name).touch)
        receipt = tmp_path / "steps" / f"{name}.json"
        record = json.loads(receipt.read_text()) | {"seconds": seconds}
        receipt.write_text(json.dumps(signed(record)))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("train-tk-original-seed-3", 15.0),  # another seed: the mean of both
        ("train-tk-rotated-2-seed-3", 40.0),  # another draw and seed
        ("train-tk-no-remedy-seed-1", 70 / 3),  # another training of the same model
        ("train-bert_cat-rotated-1-seed-1", 1_000.0),
        ("train-knrm-original-seed-1", None),  # no training of this model
        ("rotate-2", 5.0),
        ("bm25-test", None),  # other queries
        ("measure", None),
    ],
)
def test_steps_that_are_alike(finished: Path, name: str, seconds: float | None) -> None:
    steps = Steps(finished, dry_run=True)
    steps.make(name, finished / name, {"more": 1}, {}, lambda: None)
    assert steps.planned[0].seconds == (seconds if seconds is None else pytest.approx(seconds))
