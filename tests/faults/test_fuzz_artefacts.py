"""A sample of ``benchmarks/fuzz``: damaged artefacts of our own, and commands killed and run again.
Thousands: ``artefacts.py`` and ``kills.py`` there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz"


def run(script: str, *arguments: str) -> list[str]:
    """The last row of a campaign's table; it must have found no fault."""
    out = Path(arguments[-1]) / "table.md"
    command = [sys.executable, str(FUZZ / script), "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FUZZ.parents[1])
    assert done.returncode == 0, done.stderr[-4_000:]
    return [cell.strip() for cell in out.read_text().splitlines()[-1].strip("|").split("|")]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def test_damaged_artefacts(state: Path) -> None:
    name, inputs, _, refused, *_, faults = run(
        "artefacts.py", "--inputs", "12", "--state", str(state)
    )
    assert (name, inputs, faults) == ("all", "12", "0")
    assert int(refused) > 2


def test_killed_commands(state: Path) -> None:
    name, kills, *_, lost = run("kills.py", "--kills", "2", "--state", str(state))
    assert (name, lost) == ("all", "0")
    assert int(kills) >= 2
