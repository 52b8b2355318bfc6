"""Choose a command's engine, as one function that maps over shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.process import cores
from positionbias.core.settings import check_settings, setting

if TYPE_CHECKING:
    from positionbias.core.steps import MapShards

Made = TypeVar("Made")
ENGINES = ("local", "ray")
VARIABLE = "POSBIAS_ENGINE"


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that processes shards; the output does not depend on it.

    Raises:
        SettingError: an unknown engine, or fewer than one worker.
    """

    workers: int = setting(
        1, "Processes; the output is the same for any number.", least=1, shown=True
    )
    engine: str | None = setting(
        None,
        "local, processes on this machine, or ray:HOST:PORT, a Ray cluster; ray alone is one of "
        "this machine with --workers CPUs.",
        metavar="local|ray[:ADDRESS]",
        absent=f"${VARIABLE}, else local",
        shown=False,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.engine is not None:
            parsed_engine(self.engine, "--engine")

    @property
    def name(self) -> str:
        """``local`` or ``ray``."""
        return self._chosen()[0]

    @property
    def address(self) -> str | None:
        """The address of a Ray cluster; None: this machine."""
        return self._chosen()[1]

    def _chosen(self) -> tuple[str, str | None]:
        if self.engine is not None:
            return parsed_engine(self.engine, "--engine")
        return parsed_engine(os.environ.get(VARIABLE) or "local", f"${VARIABLE}")

    def open(self, *, gpus: bool = False) -> AbstractContextManager[MapShards]:
        """Yield the engine's ``map_shards``, as ``open_engine``."""
        return open_engine(self.name, self.workers, self.address, gpus=gpus)

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
            if self.name == "ray"
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
        at_once = self.at_once(threads, gpus=gpus) if self.name == "local" else self.workers
        with open_engine(
            self.name, at_once or 1, self.address, gpus=gpus, threads=threads
        ) as map_shards:
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
        return {"workers": self.workers, "engine": self.name}


@contextmanager
def open_engine(
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    *,
    gpus: bool = False,
    threads: int | None = None,
) -> Iterator[MapShards]:
    """Yield the ``map_shards`` of an engine, whose output is the same for every engine and number
    of workers.

    With ``gpus`` the function computes on a GPU: Ray has as many processes as the cluster has GPUs.
    With ``threads`` items take minutes or hours each, on as many threads, and are handed out at
    once.

    Raises:
        SettingError: fewer than one worker, or an address where no cluster answers.
        DependencyError: Ray is requested but not installed.
    """
    if engine == "local" and workers == 1:
        place: AbstractContextManager[MapShards] = nullcontext(map)
    elif engine == "local":
        from positionbias.engine.local import processes

        place = processes(workers, long=threads is not None)
    else:
        from positionbias.engine import ray, ray_gpus

        in_order: Callable[..., Any] | None = ray_gpus.in_order_on_gpus if gpus else None
        if threads is not None:
            in_order = partial(ray.in_order_of_long, threads=threads, gpus=gpus)
        place = ray.ray_tasks(workers, address, in_order)
    with place as map_shards:
        yield map_shards


def parsed_engine(text: str, where: str) -> tuple[str, str | None]:
    """Return the name of an engine and the address of its cluster, if it is given.

    Raises:
        SettingError: neither ``local`` nor ``ray`` nor ``ray:ADDRESS``.

    >>> parsed_engine("ray:head:6379", "--engine")
    ('ray', 'head:6379')
    """
    name, colon, address = text.partition(":")
    if name not in ENGINES or (colon and (name == "local" or not address)):
        raise SettingError(f"{where}: wanted local, ray or ray:ADDRESS; found {text!r}; give one")
    return name, address or None
