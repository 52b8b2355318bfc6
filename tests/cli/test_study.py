"""``posbias study position-bias`` and ``posbias demo``: from a collection to a report, in two commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.planted.generator import PlantedSettings
from positionbias.studies import demo as demo_module
from positionbias.studies.position_bias import StudySettings
from positionbias.training.config import TrainConfig

from ..tiny import TINY, planted


def posbias(capsys, *arguments):
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(queries=20, passages=40, test_share=0.4, validation_share=0.2)
    return planted(tmp_path_factory.mktemp("study") / "planted", settings)


# the command has no options for a smaller TK, so this one is whole, on little
LITTLE = ("--depth", 3, "--train-depth", 3, "--max-steps", 1, "--validate-every", 1, "--batch-size", 4, "--threads", 1)


def test_a_study(collection, tmp_path, capsys):
    command = ("study", "position-bias", collection.path, "--out", tmp_path / "study", *LITTLE)
    code, out, err = posbias(capsys, *command, "--probe-passages", 10, "--seed", 2)
    assert code == 0, err
    assert "What was found" in out
    assert "tk-rotated" in out
    assert f"report: {tmp_path / 'study' / 'report.html'}" in err
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert {path.suffix for path in (tmp_path / "study" / "tables").iterdir()} >= {".csv", ".tex"}
    settings = read_manifest(tmp_path / "study" / "results").settings["study"]
    assert (settings["probe_passages"], settings["training"]["probe_passages"]) == (10, 500)
    assert (settings["seed"], settings["training"]["seed"], settings["rotation"]["seed"]) == (2, 2, 2)
    assert (settings["depth"], settings["training"]["most_depth"]) == (3, 3)

    code, out, err = posbias(capsys, *command, "--probe-passages", 10, "--seed", 2, "--json")
    assert code == 0
    steps = [line for line in err.splitlines() if line.startswith(("rotate", "bm25", "train", "rerank", "measure"))]
    assert len(steps) == 11
    assert all(line.endswith(": done before") for line in steps)
    results = json.loads(out)["results"]
    assert {"finding", "nDCG@10", "MATS", "training", "answer positions", "rotation"} <= {r["measure"] for r in results}


def test_only_one_training_with_rotations_at_reading_and_all_passages_probed(collection, tmp_path, capsys):
    options = ("--only", "rotated", "--rotate-at-reading", "--words", "whitespace", "--json")
    code, out, err = posbias(capsys, "study", "position-bias", collection.path, "--out", tmp_path / "s", *LITTLE, *options)
    assert code == 0, err
    results = json.loads(out)["results"]
    assert {r["system"] for r in results if r["measure"] == "MATS"} == {"tk-rotated"}
    assert {r["count"] for r in results if r["measure"] == "MATS"} == {40}
    model = read_manifest(tmp_path / "s" / "models" / "tk-rotated")
    assert model.settings["rotate"]["words"] == "whitespace"
    trained_on = model.input("collection")
    assert trained_on is not None
    assert trained_on.checksum == collection.checksum


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--models", "bert"), "--models: wanted some of tk; found bert"),
        (("--only", "both"), "--only: wanted some of original, rotated; found both"),
        (("--depth", 0), "'--depth'"),
        (("--train-depth", 0), "'--train-depth'"),
        (("--probe-passages", 0), "'--probe-passages'"),
        (("--b", 2), "--b: wanted a number from 0 to 1"),
        (("--max-steps", 0), "--max-steps: wanted at least 1"),
        (("--embedding-deviation", -1), "--embedding-deviation: wanted a number from 0"),
    ],
)
def test_one_clear_line(collection, tmp_path, capsys, arguments, complaint):
    code, out, err = posbias(capsys, "study", "position-bias", collection.path, "--out", tmp_path / "s", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert not (tmp_path / "s").exists()


def test_a_collection_without_training_queries(small_collection, tmp_path, capsys):
    code, out, err = posbias(capsys, "study", "position-bias", small_collection.path, "--out", tmp_path / "s")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "found no validation" in err


@pytest.fixture
def small_demo(monkeypatch):
    settings = PlantedSettings(queries=40, passages=100, test_share=0.3, validation_share=0.2)
    training = TrainConfig(max_steps=2, validate_every=1, batch_size=8, probe_passages=20, threads=1)
    monkeypatch.setattr(demo_module, "DEMO_COLLECTION", settings)
    study = StudySettings(depth=4, train_depth=4, model=TINY, training=training, probe_passages=50, measures=("nDCG@10",))
    monkeypatch.setattr(demo_module, "DEMO_STUDY", study)


def test_the_demo_goes_on_where_it_was_stopped(small_demo, tmp_path, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("positionbias.studies.position_bias.rerank_run", stop)
        code, out, err = posbias(capsys, "demo", "--seed", 4)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1].startswith("posbias: stopped")
    assert not (tmp_path / "posbias-demo" / "results").exists()

    code, out, err = posbias(capsys, "demo", "--seed", 4)
    assert code == 0, err
    assert "plant: done before" in err
    assert "train-tk-rotated: done before" in err
    assert "What was found" in out
    assert "posbias import squad" in err
    place = Path("posbias-demo")
    assert (place / "report.html").exists()
    collection = Collection(place / "collection")
    assert (collection.name, collection.manifest.settings["seed"], len(collection)) == ("planted", 4, 100)
    assert read_manifest(place / "results").settings["study"]["training"]["seed"] == 4
