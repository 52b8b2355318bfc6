"""A study on Ray, for real: the same results as by one process where a node is killed half-way."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.planted.generator import PlantedSettings

from ..tiny import assert_same_study, planted

pytestmark = [
    # Ray leaves the processes that it started, and their pipes, to the end of ours
    pytest.mark.filterwarnings("ignore::ResourceWarning:ray.*", "ignore:subprocess .* is still running:ResourceWarning"),
]
STEPS = 16
OPTIONS = (
    "--models", "tk", "--seeds", 1, "--seeds", 2, "--rotations", 1, "--depth", 4, "--train-depth", 4, "--measure", "nDCG@10", "--max-steps", STEPS,
    "--batch-size", 4, "--validate-every", STEPS // 4, "--save-every", 1, "--probe-passages", 20, "--learning-rate", 0.01, "--threads", 1,
    "--set", "tk.probe_passages=0", "--set", "tk.dimension=8", "--set", "tk.layers=1", "--set", "tk.heads=2", "--set", "tk.head_size=3", "--set", "tk.feed_forward=6",
)  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(queries=40, passages=80, test_share=0.1, validation_share=0.2)
    return planted(tmp_path_factory.mktemp("studies") / "planted", settings)


def study(collection: Collection, out: Path, *engine: object) -> Path:
    with pytest.raises(SystemExit) as stop:
        main(list(map(str, ["study", "position-bias", collection.path, "--out", out, *OPTIONS, *engine])))
    assert stop.value.code == 0
    return out


@pytest.fixture(scope="module")
def alone(collection: Collection) -> Path:
    """The study by one process."""
    return study(collection, collection.path.parent / "alone" / "study")


@pytest.fixture
def folder(collection: Collection, request: pytest.FixtureRequest) -> Path:
    """A folder as near to the collection as that of ``alone``: manifests name inputs by their way from the artefact."""
    made = collection.path.parent / request.node.name
    made.mkdir()
    return made


def trained(out: Path) -> list[str]:
    """The models that are finished."""
    return sorted(path.name for path in (out / "models").glob("[!.]*"))


def at_work(out: Path) -> list[str]:
    """The trainings that have a saved state."""
    return sorted({state.parent.name for state in (out / "models").glob(".*.training/state-*")})


def test_a_node_that_is_killed_half_way_changes_nothing(
    cluster: Any, collection: Collection, alone: Path, folder: Path
) -> None:
    """Its trainings go on elsewhere, from what they had saved."""
    out, killed_at = folder / "study", list[list[str]]()

    def kill() -> None:
        while len(at_work(out)) < 2:
            time.sleep(0.002)
        killed_at.append(trained(out))
        cluster.remove_node(cluster.second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    assert_same_study(study(collection, out, "--engine", "ray", "--address", cluster.address), alone)
    killer.join()
    assert len(killed_at[0]) < 4
