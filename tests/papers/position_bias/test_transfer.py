"""The transfer study: target alone, source then target, rotated source then target; its steps, and
a restart.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias.settings import TransferSettings
from positionbias.papers.position_bias.shown import EFFECTIVENESS, SHOWN
from positionbias.papers.position_bias.study import run_transfer
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted

TRAINING = TrainConfig(
    batch_size=4,
    max_steps=3,
    validate_every=1,
    learning_rate=0.05,
    kernel_learning_rate=0.05,
    probe_passages=0,
    threads=1,
)
SETTINGS = TransferSettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=4,
    train_depth=4,
    measures=("nDCG@10",),
)
STEPS = [
    "source/rotate-1",
    "bm25-train", "bm25-validation", "bm25-test",
    "source/bm25-train", "source/bm25-validation",
    "train-tk-seed-1", "rerank-tk-seed-1-on-original-test",
    "train-tk-on-source-original-seed-1",
    "train-tk-after-original-seed-1",
    "rerank-tk-after-original-seed-1-on-original-test",
    "train-tk-on-source-rotated-1-seed-1",
    "train-tk-after-rotated-1-seed-1",
    "rerank-tk-after-rotated-1-seed-1-on-original-test",
    "measure",
]  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transfer")


@pytest.fixture(scope="module")
def source(places: Path) -> Collection:
    return write_planted(
        places / "source",
        PlantedSettings(queries=40, passages=90, validation_share=0.2, seed=9),
        name="far",
    )


@pytest.fixture(scope="module")
def target(places: Path) -> Collection:
    return planted(places / "target")


def run(
    source: Collection, target: Collection, out: Path, settings: TransferSettings = SETTINGS
) -> list[str]:
    """The steps that were made, in their order."""
    told: list[str] = []
    assert run_transfer(source, target, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def finished(places: Path, source: Collection, target: Collection) -> Path:
    assert run(source, target, places / "study") == STEPS
    return places / "study"


def test_each_training_goes_on_from_its_source(finished: Path, source: Collection) -> None:
    for text in ("original", "rotated-1"):
        model = load_checkpoint(finished / "models" / f"tk-after-{text}-seed-1")
        start = model.manifest.input("start")
        first = finished / "models" / f"tk-on-source-{text}-seed-1"
        assert start is not None
        assert (model.path / start.path).resolve() == first.resolve()
        assert model.manifest.content["steps"] == 3
        # the words of the source keep their rows; those of the target stand behind them
        words = load_checkpoint(first).model.vocabulary.words
        assert model.model.vocabulary.words[: len(words)] == words
        assert len(model.model.vocabulary.words) > len(words)
    assert read_manifest(finished / "models" / "tk-seed-1").input("start") is None
    manifest = read_manifest(finished / "results")
    assert manifest.name == "Transfer: far to planted"
    assert not any(item.path.startswith("/") for item in manifest.inputs)


def test_rows_of_table_5(finished: Path) -> None:
    rows = SHOWN.own(load(finished / "results"))
    means = rows.query("measure == 'nDCG@10' and statistic == 'mean'")
    sources = ["", "far (original)", "far (rotated)"]
    assert list(
        means[["model", "training", "source", "test"]].itertuples(index=False, name=None)
    ) == [
        ("bm25", "", "", "original"),
        *(("tk", "original", source, "original") for source in sources),
    ]
    tested = rows.query("statistic == 'difference' and seed == -1").set_index("family")
    trainings = tested.loc["trainings: nDCG@10"]
    assert list(trainings[["against", "source"]].itertuples(index=False, name=None)) == [
        ("source=", sources[1]),
        ("source=", sources[2]),
        ("source=far (original)", sources[2]),
    ]
    assert set(tested.index) == {"trainings: nDCG@10", "baselines: nDCG@10"}
    baselines = tested.loc["baselines: nDCG@10"]
    assert list(baselines["source"]) == sources
    assert set(baselines["beside"]) == {"BM25"}
    lines = [[cell.text for cell in row] for row in EFFECTIVENESS.table(rows).rows]
    assert [line[1] for line in lines] == [
        "these passages alone",
        "far (original), then these passages",
        "far (rotated), then these passages",
    ]


def test_what_is_refused(places: Path, source: Collection, target: Collection) -> None:
    workspace = Workspace(places / "none")
    with pytest.raises(SettingError, match="wanted two collections"):
        run_transfer(target, target, SETTINGS, workspace)
    with pytest.raises(InputError, match="wanted the splits train, dev; found no dev"):
        run_transfer(source, target, replace(SETTINGS, validation="dev"), workspace)
    assert not (places / "none").exists()
