"""``posbias study position-bias`` and ``posbias demo``: from a collection to a report, in two
commands.
"""

from __future__ import annotations

import json

import pytest

from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.planted.settings import PlantedSettings
from tests.commands import posbias

from ..tiny import planted


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(queries=20, passages=40, test_share=0.4, validation_share=0.2)
    return planted(tmp_path_factory.mktemp("study") / "planted", settings)


SMALL = [
    item
    for name, size in (("dimension", 8), ("heads", 2), ("head_size", 3))
    for item in ("--set", f"tk.{name}={size}")
]
LITTLE = (
    *(part for setting in ("depth=3", "train_depth=3", "max_steps=1", "validate_every=1",
    "batch_size=4", "threads=1") for part in ("--set", setting)),
    "--seeds", 1, "--rotations", 1, *SMALL,
)  # fmt: skip


def test_a_study(collection, tmp_path, capsys):
    command = ("study", "position-bias", collection.path, "--out", tmp_path / "study", *LITTLE)
    code, out, err = posbias(capsys, *command, "--set", "probe_passages=10", "--seed", 2)
    assert code == 0, err
    assert "What was found" in out
    assert "Trainings on original and on rotated test passages" in out
    assert f"written to {tmp_path / 'study' / 'report.html'}" in err
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert {path.suffix for path in (tmp_path / "study" / "tables").iterdir()} >= {".csv", ".tex"}
    settings = read_manifest(tmp_path / "study" / "results").settings["study"]["settings"]
    training = settings["models"][0]["training"]
    assert (settings["probe_passages"], training["probe_passages"]) == (10, 500)
    assert (settings["seed"], settings["seeds"], settings["draws"]) == (2, 1, 1)
    assert (settings["depth"], training["most_depth"]) == (3, 3)

    code, out, err = posbias(capsys, *command, "--set", "probe_passages=10", "--seed", 2, "--json")
    assert code == 0
    steps = [
        line
        for line in err.splitlines()
        if line.startswith(("rotate", "bm25", "position", "train", "rerank", "probe", "measure"))
    ]
    assert len(steps) == 17
    assert "to be made" not in err
    assert all(line.endswith(": done before") for line in steps)
    measures = {row["measure"] for row in json.loads(out)["rows"]}
    assert {"nDCG@10", "MATS", "training", "answer positions", "rotation"} <= measures


def test_three_seeds_and_two_rotations_from_seed_on_where_none_are_named(
    collection, tmp_path, capsys
):
    command = (
        "study",
        "position-bias",
        collection.path,
        "--out",
        tmp_path / "study",
        "--seed",
        2,
        "--dry-run",
        "--json",
    )
    code, out, err = posbias(capsys, *command)
    assert code == 0, err
    names = [row["label"] for row in json.loads(out)["rows"]]
    trainings = {name for name in names if name.startswith("train-")}
    rotated = {f"train-tk-rotated-{draw}-seed-{seed}" for draw in (2, 3) for seed in (2, 3, 4)}
    assert trainings == {f"train-tk-original-seed-{seed}" for seed in (2, 3, 4)} | rotated


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--models", "bert_cat"), "--encoder, --start: wanted one of the two; found neither"),
        (("--encoder", "minilm"), "--encoder: wanted a model that uses it; found tk"),
        (("--set", "tk.headz=2"), "found 'headz'"),
        (("--seeds", 0), "'--seeds': 0 is not in the range 1<=x<=1000"),
        (("--set", "candidates=test"), "candidates: wanted SPLIT=RUN, each name once; found test"),
        (("--set", "candidates=test=nowhere.run"), "nowhere.run: wanted a readable file"),
        (("--test-split", "dl19"), "found no dl19 (there are train, validation, test)"),
        (("--set", "depth=0"), "depth: 0 is not in the range x>=1"),
    ],
)
def test_one_clear_line(collection, tmp_path, capsys, arguments, complaint):
    code, out, err = posbias(
        capsys, "study", "position-bias", collection.path, "--out", tmp_path / "s", *arguments
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert not (tmp_path / "s").exists()
