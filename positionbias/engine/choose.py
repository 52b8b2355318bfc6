"""Choose a command's engine, as one function that maps over shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import Panel, check_settings, setting
from positionbias.core.threads import cores

if TYPE_CHECKING:
    from positionbias.core.steps import MapShards

__all__ = ["ENGINES", "Engine", "EngineName", "open_engine"]

Made = TypeVar("Made")
EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that processes shards; the output does not depend on it.

    Raises:
        SettingError: an unknown engine, or fewer than one worker.
    """

    workers: int = setting(
        1, "Processes; the output is the same for any number.", least=1, panel=Panel.BASIC
    )
    engine: EngineName = setting(
        "local",
        "Processes on this machine, or a Ray cluster; the output is the same.",
        choices=ENGINES,
        panel=Panel.COMPUTING,
    )
    address: str | None = setting(
        None,
        "The Ray cluster to use, with --engine ray; without it a Ray of this machine with "
        "--workers CPUs.",
        metavar="HOST:PORT",
        panel=Panel.COMPUTING,
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def open(self, *, gpus: bool = False) -> AbstractContextManager[MapShards]:
        """Yield the engine's ``map_shards``, as ``open_engine``."""
        return open_engine(self.engine, self.workers, self.address, gpus=gpus)

    def at_once(self, threads: int, *, gpus: bool = False) -> int | None:
        """Return how many items of ``open_long`` are worked on at once on this machine; None on a
        cluster, which decides itself.
        """
        if self.address is not None:
            return None
        if gpus:
            return self.workers
        return max(
            1,
            self.workers // threads
            if self.engine == "ray"
            else min(self.workers, cores() // threads),
        )

    @contextmanager
    def open_long(self, threads: int, *, gpus: bool = False) -> Iterator[MapShards]:
        """Yield a ``map_shards`` for items that take minutes or hours each, such as trainings.

        An item computes on ``threads`` threads of one machine, or with ``gpus`` on a GPU of its
        own. All items are handed out at once, and an error of one ends the others.

        Raises:
            SettingError, DependencyError: as ``open_engine``.
        """
        if self.engine == "local":
            _refuse_address(self.address)
            from positionbias.engine.local import processes

            place = processes(self.at_once(threads, gpus=gpus) or 1, long=True)
        else:
            from positionbias.engine.ray import in_order_of_long, ray_tasks

            place = ray_tasks(
                self.workers, self.address, partial(in_order_of_long, threads=threads, gpus=gpus)
            )
        with place as map_shards:
            yield map_shards

    def write(self, work: Callable[..., Made], *, overwrite: bool) -> Made:
        """Call a function that writes an artefact by shards with this engine, and return its
        result.
        """
        with self.open() as map_shards:
            return work(map_shards=map_shards, overwrite=overwrite, provenance=self.host)

    @property
    def host(self) -> JsonObject:
        """Return the engine as a manifest's provenance records it."""
        return {"workers": self.workers, "engine": self.engine}


@contextmanager
def open_engine(
    engine: str = "local", workers: int = 1, address: str | None = None, *, gpus: bool = False
) -> Iterator[MapShards]:
    """Yield the ``map_shards`` of an engine, whose output is the same for every engine and number
    of workers.

    With ``gpus`` the function computes on a GPU: Ray has as many processes as the cluster has GPUs.

    Raises:
        SettingError: an unknown engine, fewer than one worker, an address without Ray, or one where
            no cluster answers.
        DependencyError: Ray is requested but not installed.
    """
    if engine not in ENGINES:
        raise SettingError(f"--engine: wanted one of {', '.join(ENGINES)}; found {engine!r}")
    if engine == "local":
        _refuse_address(address)
        from positionbias.engine.local import processes

        place = processes(workers)
    else:
        from positionbias.engine.ray import ray_tasks
        from positionbias.engine.ray_gpus import in_order_on_gpus

        place = ray_tasks(workers, address, in_order_on_gpus if gpus else None)
    with place as map_shards:
        yield map_shards


def _refuse_address(address: str | None) -> None:
    if address is not None:
        raise SettingError(
            f"--address: wanted with --engine ray only; found {address!r}; add --engine ray"
        )
