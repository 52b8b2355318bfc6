"""The engine that a command was asked for, as one function that maps over shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from positionbias.core.errors import SettingError
from positionbias.core.shard_work import MapShards
from positionbias.engine.local import map_shards

__all__ = ["ENGINES", "open_engine"]

ENGINES = ("local",)


@contextmanager
def open_engine(engine: str = "local", workers: int = 1, address: str | None = None) -> Iterator[MapShards]:
    """Give the ``map_shards`` of an engine; its output is the same for every engine and any number of workers.

    Raises:
        SettingError: an unknown engine, or fewer than one worker.
    """
    if engine not in ENGINES:
        raise SettingError(f"--engine: wanted one of {', '.join(ENGINES)}; found {engine!r}")
    yield partial(map_shards, workers=workers)
