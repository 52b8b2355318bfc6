"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from tests import commands, forked

POSBIAS = [sys.executable, "-c", forked.POSBIAS]
RunPosbias = Callable[..., subprocess.CompletedProcess[str]]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_posbias(tmp_path: Path) -> RunPosbias:
    """Run ``posbias`` in ``tmp_path`` with warnings as errors; more environment by keyword."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "200", **environment}
        if hasattr(os, "fork") and not any(name.startswith("PYTHON") for name in environment):
            return forked.forked(arguments, tmp_path, env)
        return subprocess.run(
            [*POSBIAS, *map(str, arguments)],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection ``planted`` and the runs ``train.run``, ``validation.run`` and
    ``test.run``.
    """
    from tests.tiny import candidates, planted

    folder = tmp_path_factory.mktemp("shelf")
    candidates(planted(folder / "planted"), folder)
    return folder


@pytest.fixture(scope="session")
def collection(shelf: Path) -> Collection:
    return Collection(shelf / "planted")


@pytest.fixture(scope="session")
def runs(shelf: Path) -> dict[str, Path]:
    """BM25's candidates in each split of ``collection``."""
    return {split: shelf / f"{split}.run" for split in ("train", "validation", "test")}


@pytest.fixture
def on_the_shelf(tmp_path: Path, shelf: Path) -> Path:
    """What stands on the shelf, in the folder where ``run_posbias`` runs."""
    for place in shelf.iterdir():
        os.symlink(place, tmp_path / place.name)
    return tmp_path


@pytest.fixture
def posbias(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``posbias`` in this process; its exit code, standard output and standard error."""
    return partial(commands.posbias, capsys)
