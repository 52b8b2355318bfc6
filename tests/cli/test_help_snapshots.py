"""The help of every command is what it was: a change is made on purpose, and its diff read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.scripts import script_named

FOLDER = Path(__file__).parent / "snapshots"
RENEW = "python benchmarks/snapshots.py make tests/cli/snapshots --only help"


def test_the_help_of_every_command_is_its_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = script_named("snapshots")
    monkeypatch.setenv("COLUMNS", snapshots.SET["COLUMNS"])
    found = dict(snapshots.help_texts())
    kept = {path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / "help").glob("*.txt")}
    differing = sorted(name for name in found.keys() | kept.keys() if found.get(name) != kept.get(name))
    assert not differing, f"the help of {', '.join(differing)} has changed; if on purpose: {RENEW}"
