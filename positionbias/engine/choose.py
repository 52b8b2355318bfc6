"""The engine that a command was asked for, as one function that maps over shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from positionbias.core.errors import SettingError
from positionbias.core.shard_work import MapShards
from positionbias.engine.local import processes

__all__ = ["ENGINES", "open_engine"]

ENGINES = ("local", "ray")


@contextmanager
def open_engine(engine: str = "local", workers: int = 1, address: str | None = None) -> Iterator[MapShards]:
    """Give the ``map_shards`` of an engine; its output is the same for every engine and any number of workers.

    Raises:
        SettingError: an unknown engine, fewer than one worker, an address without Ray, or one where no cluster answers.
        DependencyError: Ray is wanted and not installed.
    """
    if engine not in ENGINES:
        raise SettingError(f"--engine: wanted one of {', '.join(ENGINES)}; found {engine!r}")
    if engine == "local":
        if address is not None:
            raise SettingError(f"--address: wanted with --engine ray only; found {address!r}; add --engine ray")
        place = processes(workers)
    else:
        from positionbias.engine.ray import ray_tasks

        place = ray_tasks(workers, address)
    with place as map_shards:
        yield map_shards
