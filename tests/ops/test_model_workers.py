"""Workers that compute with a model have a GPU each where the model is on one."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from positionbias.ops.model_workers import model_workers
from positionbias.ranking.config import Computing


@pytest.mark.parametrize(("device", "gpus"), [("cpu", False), ("cuda", True)])
def test_gpus_are_asked_for_where_the_model_is_on_one(device: str, gpus: bool) -> None:
    asked: list[bool] = []

    def open_(*, gpus: bool) -> Any:
        asked.append(gpus)
        return nullcontext(map)

    engine: Any = SimpleNamespace(open=open_)
    checkpoint: Any = SimpleNamespace(model=SimpleNamespace(device=torch.device(device)))
    loading = Computing().loading("minilm")
    with model_workers(engine, loading, checkpoint) as spread:
        assert (spread.loading, spread.map_shards) == (loading, map)
    assert asked == [gpus]
