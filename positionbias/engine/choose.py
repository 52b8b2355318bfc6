"""Choose a command's engine, as one function that maps over shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, get_args

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import Panel, check_settings, setting, settings_of

if TYPE_CHECKING:
    from positionbias.core.shard_work import MapShards

__all__ = ["ENGINES", "Engine", "EngineName", "Workers", "open_engine"]

Made = TypeVar("Made")
EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that processes shards; the output does not depend on it.

    Raises:
        SettingError: an unknown engine, or fewer than one worker.
    """

    workers: int = setting(1, "Processes; the output is the same for any number.", least=1, panel=Panel.COMPUTING)
    engine: EngineName = setting(
        "local", "Processes on this machine, or a Ray cluster; the output is the same.", choices=ENGINES, panel=Panel.COMPUTING
    )
    address: str | None = setting(
        None,
        "The Ray cluster to use, with --engine ray; without it a Ray of this machine with --workers CPUs.",
        metavar="HOST:PORT",
        panel=Panel.COMPUTING,
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def open(self, *, gpus: bool = False) -> AbstractContextManager[MapShards]:
        """Yield the engine's ``map_shards``, as ``open_engine``."""
        return open_engine(self.engine, self.workers, self.address, gpus=gpus)

    def write(self, work: Callable[..., Made], *, overwrite: bool) -> Made:
        """Call a function that writes an artefact by shards with this engine, and return its result."""
        with self.open() as map_shards:
            return work(map_shards=map_shards, overwrite=overwrite, provenance=self.host)

    @property
    def host(self) -> JsonObject:
        """Return the engine as a manifest's provenance records it."""
        return {"workers": self.workers, "engine": self.engine}


Workers = Annotated[int, settings_of(Engine)["workers"]]


@contextmanager
def open_engine(
    engine: str = "local", workers: int = 1, address: str | None = None, *, gpus: bool = False
) -> Iterator[MapShards]:
    """Yield the ``map_shards`` of an engine, whose output is the same for every engine and number of workers.

    With ``gpus`` the function computes on a GPU: Ray has as many processes as the cluster has GPUs.

    Raises:
        SettingError: an unknown engine, fewer than one worker, an address without Ray, or one where no cluster answers.
        DependencyError: Ray is requested but not installed.
    """
    if engine not in ENGINES:
        raise SettingError(f"--engine: wanted one of {', '.join(ENGINES)}; found {engine!r}")
    if engine == "local":
        if address is not None:
            raise SettingError(f"--address: wanted with --engine ray only; found {address!r}; add --engine ray")
        from positionbias.engine.local import processes

        place = processes(workers)
    else:
        from positionbias.engine.ray import ray_tasks
        from positionbias.engine.ray_gpus import in_order_on_gpus

        place = ray_tasks(workers, address, in_order_on_gpus if gpus else None)
    with place as map_shards:
        yield map_shards
