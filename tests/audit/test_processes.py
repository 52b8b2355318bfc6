"""An audit on several processes has the results of one, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from positionbias.audit.settings import Audited, AuditSettings
from positionbias.engine.choose import Engine
from positionbias.ops.audit import audit_systems
from positionbias.ranking import blocks
from tests.tiny import planted, saved_tk


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_PAIRS", 30)
    monkeypatch.setattr(blocks, "MOST_AGAIN", 9.0)


@pytest.mark.usefixtures("small")
def test_workers_change_no_result(tmp_path: Path) -> None:
    collection = planted(tmp_path / "planted")
    model = saved_tk(tmp_path / "tk.ckpt", collection)
    settings = AuditSettings(depth=6, needles=10)
    results: list[Any] = [
        audit_systems(
            collection,
            audited=Audited(models=[model]),
            settings=settings,
            engine=Engine(workers=workers),
        )
        for workers in (1, 2)
    ]
    one, two = results
    assert_frame_equal(one.rows, two.rows, rtol=0, atol=0)
    assert_frame_equal(one.values, two.values, rtol=0, atol=0)
