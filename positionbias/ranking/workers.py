"""Workers that compute with a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from positionbias.core.errors import SettingError
from positionbias.engine.choose import Engine
from positionbias.models.protocols import Served
from positionbias.ranking.config import Spread

if TYPE_CHECKING:
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.ranking.loading import Loading


@contextmanager
def model_workers(engine: Engine, loading: Loading, checkpoint: Checkpoint) -> Iterator[Spread]:
    """Open the engine for shards of work with a model: on Ray each process has a GPU if the model
    of this process is on one.

    Raises:
        SettingError: several processes for an endpoint.
    """
    if isinstance(checkpoint.model, Served) and (engine.workers > 1 or engine.name != "local"):
        raise SettingError(
            "--workers, --engine: wanted neither with an endpoint, which one process asks for "
            f"several lists at once; found {engine.workers} workers, {engine.name}; leave them "
            "out"
        )
    with engine.open(gpus=checkpoint.model.device.type == "cuda") as map_shards:
        yield Spread(loading, map_shards, engine.workers if engine.address is None else None)
