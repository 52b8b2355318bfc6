"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

POSBIAS = [sys.executable, "-c", "from positionbias.cli.main import main; main()"]
RunPosbias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_posbias(tmp_path: Path) -> RunPosbias:
    """Run ``posbias`` in ``tmp_path`` with warnings as errors; more environment by keyword."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*POSBIAS, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "200", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
