"""Studies on Ray, for real: the same results as by one process, also where a node or the command itself is killed half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.planted.generator import PlantedSettings

from ..tiny import assert_same_study, planted
from .session import assert_within, processes_of_session

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


def start(folder: Path, collection: Collection, *arguments: object) -> subprocess.Popen[str]:
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from positionbias.__main__ import main; main()"
    command = [sys.executable, "-c", code, "study", "position-bias", collection.path, "--out", "./study", *OPTIONS, *arguments]
    return subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def some_training(out: Path, command: subprocess.Popen[str]) -> None:
    """Wait until two trainings have begun."""
    while len(at_work(out)) < 2:
        assert command.poll() is None, command.communicate()
        time.sleep(0.002)


def finish(folder: Path, collection: Collection, alone: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> None:
    """Give the command again, here, where its libraries are loaded; it goes on to the same results."""
    capsys.readouterr()
    assert_same_study(study(collection, folder / "study", *arguments), alone)
    assert_trained(capsys.readouterr().err)


def finish_anew(folder: Path, collection: Collection, alone: Path, *arguments: object) -> None:
    """Give the command again, in a process of its own; it goes on to the same results."""
    with start(folder, collection, *arguments) as command:
        _, err = command.communicate()
    assert command.returncode == 0, err
    assert_same_study(folder / "study", alone)
    assert_trained(err)


def assert_trained(err: str) -> None:
    """The study told of each training, in order."""
    told = [line.split(":")[0] for line in err.splitlines()]
    assert [line for line in told if line.startswith("train-")] == [
        f"train-tk-{text}-seed-{seed}" for seed in (1, 2) for text in ("original", "rotated-1")
    ]


def test_ctrl_c_of_two_workers_and_the_same_command_again(
    collection: Collection, alone: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with start(folder, collection, "--workers", 2) as command:
        some_training(folder / "study", command)
        os.killpg(command.pid, signal.SIGINT)
        _, err = command.communicate()
    assert command.returncode == 130
    assert err.splitlines()[-1] == "posbias: stopped; run the same command again to go on"
    assert_within(60, lambda: processes_of_session(command.pid) == [])
    assert len(trained(folder / "study")) < 4
    finish(folder, collection, alone, capsys, "--workers", 2)


def test_kill_9_of_a_study_on_a_cluster_and_the_same_command_again(
    cluster: Any, collection: Collection, alone: Path, folder: Path
) -> None:
    arguments = ("--engine", "ray", "--address", cluster.address)
    with start(folder, collection, *arguments) as command:
        some_training(folder / "study", command)
        command.kill()
        command.communicate()
    assert len(trained(folder / "study")) < 4
    # at once: what the cluster still does for the killed command is waited for
    finish_anew(folder, collection, alone, *arguments)


def test_a_node_that_is_killed_half_way_changes_nothing(
    cluster: Any, collection: Collection, alone: Path, folder: Path
) -> None:
    """The last test: its trainings go on elsewhere, from what they had saved."""
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
