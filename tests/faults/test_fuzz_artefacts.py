"""A sample of ``benchmarks/fuzz/artefacts.py``, which damages thousands of artefacts of our own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.forked import forked

pytestmark = pytest.mark.slow

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz"
SCRIPT = f"""
import sys
sys.path.insert(0, {str(FUZZ)!r})
from artefacts import main
sys.exit(main())
"""


def test_damaged_artefacts(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    arguments = ["--inputs", 12, "--state", tmp_path, "--out", out]
    done = forked(arguments, FUZZ.parents[1], os.environ, SCRIPT)
    assert done.returncode == 0, done.stderr[-4_000:]
    name, inputs, _, refused, *_, faults = (
        cell.strip() for cell in out.read_text().splitlines()[-1].strip("|").split("|")
    )
    assert (name, inputs, faults) == ("all", "12", "0")
    assert int(refused) > 2
