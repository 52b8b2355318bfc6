"""Power cuts in the midst of publishing: a sample of ``benchmarks/power_cut.py``, and that it would see a missing sync."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core import durable, publish
from tests.benchmarks.scripts import script_named

power_cut = script_named("power_cut")


@pytest.mark.parametrize("name", power_cut.CASES)
def test_every_cut_leaves_the_old_or_the_new(tmp_path: Path, name: str) -> None:
    found = power_cut.cut(name, tmp_path)
    assert found["mixed"] == found["lost"] == 0
    assert found["new"] > 0
    assert found["old"] + found["nothing yet"] > 0


def test_without_syncs_the_model_finds_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (durable, publish):
        monkeypatch.setattr(module, "sync", lambda path: None)
    monkeypatch.setattr(publish, "sync_tree", lambda folder: None)
    for name in ("folder, replaced", "file and manifest, replaced"):
        assert sum(power_cut.cut(name, tmp_path)[fault] for fault in ("mixed", "lost")) > 0
