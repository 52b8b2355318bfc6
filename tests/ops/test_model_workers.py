"""Workers that compute with a model have a GPU each where the model is on one."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.engine.choose import Engine
from positionbias.ranking.config import Computing
from positionbias.ranking.workers import model_workers

from ..models.served import serving


@pytest.mark.parametrize(("device", "gpus"), [("cpu", False), ("cuda", True)])
def test_gpus_are_asked_for_where_the_model_is_on_one(device: str, gpus: bool) -> None:
    asked: list[bool] = []

    def open_(*, gpus: bool) -> Any:
        asked.append(gpus)
        return nullcontext(map)

    engine: Any = SimpleNamespace(open=open_, workers=1, address=None)
    checkpoint: Any = SimpleNamespace(model=SimpleNamespace(device=torch.device(device)))
    loading = Computing().loading("minilm")
    with model_workers(engine, loading, checkpoint) as spread:
        assert (spread.loading, spread.map_shards) == (loading, map)
    assert asked == [gpus]


def test_an_endpoint_is_asked_by_one_process() -> None:
    with serving() as server:
        loading = Computing(store=False).loading(f"rerank:any@{server.url}")
        checkpoint = loading()
        with model_workers(Engine(), loading, checkpoint) as spread:
            assert spread.map_shards is map
        for engine, found in (
            (Engine(workers=2), "2 workers, local"),
            (Engine(engine="ray"), "1 workers, ray"),
        ):
            wanted = (
                "^--workers, --engine: wanted neither with an endpoint, which one process asks for "
                "several lists at once; "
            )
            with pytest.raises(SettingError, match=f"{wanted}found {found}; leave them out$"):
                model_workers(engine, loading, checkpoint).__enter__()
