"""An audit on several processes has the results of one, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from positionbias.audit.manipulate import Texts
from positionbias.audit.settings import Audited, AuditSettings
from positionbias.audit.systems import System
from positionbias.core.collection import Collection
from positionbias.core.run import Run
from positionbias.engine.choose import Engine, open_engine
from positionbias.models.checkpoint import load_checkpoint
from positionbias.ops.audit import audit_systems
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking import blocks
from positionbias.ranking.config import Computing, Spread
from tests.audit.tasks import Asked, make_task_of
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


@pytest.mark.usefixtures("small")
def test_texts_are_read_by_processes_or_carried_to_them(tmp_path: Path) -> None:
    passages = {
        f"p{number}": [f"Lamp {number} is green.", f"Oil number {number} is here."]
        for number in range(12)
    }
    task = make_task_of(
        tmp_path / "c",
        passages,
        {f"q{number}": Asked("green lamp oil", f"p{number}", 0) for number in range(12)},
    )
    checkpoint = load_checkpoint(saved_tk(tmp_path / "tk.ckpt", task.collection))
    made = Texts({"p3": "Green is the lamp with oil."}, task.collection)
    turned = RotatedTexts(Collection(task.collection.path), Rotation())
    with open_engine("local", 2) as map_shards:
        here, there = (
            System.of(checkpoint, spread=Spread(Computing().loading(checkpoint.path), mapped))
            for mapped in (map, map_shards)
        )
        for texts in (task.collection, turned, made):
            one, two = (
                system.scored(task, texts, task.candidates, "a test") for system in (here, there)
            )
            assert all((one[query_id].scores == two[query_id].scores).all() for query_id in one)
            assert [ranking.passage_ids for ranking in one.rankings()] == [
                ranking.passage_ids for ranking in two.rankings()
            ]
    assert score_of(one, "p3") != score_of(
        here.scored(task, task.collection, task.candidates, "a test"), "p3"
    )


def score_of(run: Run, passage_id: str) -> np.float32:
    ranking = run["q0"]
    return ranking.scores[ranking.passage_ids.index(passage_id)]
