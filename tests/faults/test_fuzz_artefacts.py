"""A sample of ``benchmarks/fuzz/artefacts.py``, which damages thousands of artefacts of our own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz"


def test_damaged_artefacts(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    command = [sys.executable, str(FUZZ / "artefacts.py"), "--inputs", "12"]
    done = subprocess.run(
        [*command, "--state", str(tmp_path), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        cwd=FUZZ.parents[1],
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    name, inputs, _, refused, *_, faults = (
        cell.strip() for cell in out.read_text().splitlines()[-1].strip("|").split("|")
    )
    assert (name, inputs, faults) == ("all", "12", "0")
    assert int(refused) > 2
