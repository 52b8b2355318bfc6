"""The help of every command is what it was: a change is made on purpose, and its diff read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "snapshots" / "help"
RENEW = "python benchmarks/snapshots.py make tests/cli/snapshots --only help"


def test_the_help_of_every_command_is_its_snapshot(tmp_path: Path) -> None:
    # in a process of its own, as other tests leave commands and settings changed in this one
    made = [sys.executable, "benchmarks/snapshots.py", "make", str(tmp_path), "--only", "help"]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    found = {path.stem: path.read_text("utf-8") for path in (tmp_path / "help").glob("*.txt")}
    kept = {path.stem: path.read_text("utf-8") for path in KEPT.glob("*.txt")}
    differing = sorted(name for name in found.keys() | kept.keys() if found.get(name) != kept.get(name))
    assert not differing, f"the help of {', '.join(differing)} has changed; if on purpose: {RENEW}"
