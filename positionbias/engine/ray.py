"""Map a pure function over shards on a Ray cluster, or on a local Ray.

Ray schedules the work, and repeats that of failed machines. Items and results travel through Ray;
shards are files, so all machines need the same file system and the same software (which is
checked).
"""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

from positionbias.core.errors import PositionBiasError, SettingError, StorageError
from positionbias.core.manifest import package_versions
from positionbias.core.steps import MapShards
from positionbias.engine.local import check_workers
from positionbias.engine.ray_driver import RETRIES, RayEndedError, drivers, import_ray, ray_ended
from positionbias.text.splitter import USUAL_WORDS

Item = TypeVar("Item")
Out = TypeVar("Out")
SECONDS_TO_ANSWER, SECONDS_TO_STOP = 10.0, 10.0


@contextmanager
def ray_tasks(
    workers: int = 1,
    address: str | None = None,
    in_order: Callable[..., Iterator[Any]] | None = None,
) -> Iterator[MapShards]:
    """Yield a ``map_shards`` of two arguments over the Ray cluster at ``address`` ("HOST:PORT").

    Without an address, a local Ray with ``workers`` CPUs is started and shut down at the end; if
    this process is already connected to a Ray, that one is used and kept. Results come in the order
    of the items, and the function's errors are raised here. At most two items a CPU are in
    progress. ``in_order`` maps in another way than by tasks, from Ray, a ``Place``, the function
    and the items.

    Raises:
        DependencyError: Ray is not installed.
        SettingError: ``workers`` is below 1, or no cluster answers at the address.
        RayEndedError: a process of Ray ended.
        PositionBiasError: a shard failed more often than Ray retries it.
    """
    check_workers(workers)
    ray = import_ray()
    place = Place(os.getcwd(), _software())
    in_order = in_order or _in_order
    if ray.is_initialized():
        yield lambda function, items: in_order(ray, place, function, items)
        return
    with drivers(partial(_connected, workers, address), in_order) as over_driver:
        yield lambda function, items: over_driver(place, function, items)


@contextmanager
def _connected(workers: int, address: str | None, folder: str) -> Iterator[Any]:
    """Connect this process to a cluster, or to a Ray of its own that has its files in
    ``folder``.
    """
    ray = import_ray()
    with ExitStack() as stack:
        stack.callback(ray.shutdown)
        if address is not None:
            _connect(ray, address)
        else:
            try:
                ray.init(
                    address="local",
                    num_cpus=workers,
                    include_dashboard=False,
                    _temp_dir=folder,
                    **_SILENT,
                )
            except Exception as error:  # Ray has no class of its own for these
                raise RayEndedError(
                    f"--engine ray: Ray did not start: {first_line(error)}; run the command again, "
                    "or with --engine local"
                ) from error
        yield ray


_SILENT = {"logging_level": logging.ERROR, "log_to_driver": False}


def _connect(ray: Any, address: str) -> None:
    try:
        _knock(address)
        ray.init(address=address, **_SILENT)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise SettingError(
            f"--address: wanted HOST:PORT of a Ray cluster; found at {address!r}: "
            f"{first_line(error)}; start one with: ray start --head --port 6379"
        ) from error


def _knock(address: str) -> None:
    """Raise an error unless something answers by HTTP/2, as Ray does; Ray itself would keep trying
    for many minutes.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER) as door:
        if os.environ.get("RAY_USE_TLS", "0") == "0":
            door.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
            if door.recv(9)[3:4] != b"\x04":
                raise ConnectionError("something that is not Ray")


def _in_order(
    ray: Any, place: Place, function: Callable[[Item], Out], items: Iterable[Item]
) -> Iterator[Out]:
    task = ray.remote(max_retries=RETRIES)(work)
    function_ref = ray.put(function)
    pending: deque[Any] = deque()
    try:
        for item in items:
            pending.append(task.remote(place, function_ref, item))
            while len(pending) >= 2 * _cpus(ray):
                yield result_of(ray, pending.popleft())
        while pending:
            yield result_of(ray, pending.popleft())
    finally:
        _let_end(ray, pending)


def in_order_of_long(
    ray: Any,
    place: Place,
    function: Callable[[Item], Out],
    items: Iterable[Item],
    *,
    threads: int,
    gpus: bool,
) -> Iterator[Out]:
    """Yield ``function`` of every item in the order of the items. Ray has all items at once, and
    the first error is raised when it happens.

    An item takes as many CPUs as it has ``threads``, at most those of the largest machine; or with
    ``gpus`` a GPU and a process of its own, which Ray ends after it.

    Raises:
        SettingError: ``gpus``, and the cluster has none.
        PositionBiasError: an item's process died more often than it is repeated.
    """
    if gpus and not ray.cluster_resources().get("GPU"):
        raise no_gpu()
    largest = max(int(node["Resources"].get("CPU", 1)) for node in ray.nodes() if node["Alive"])
    takes = {"num_gpus": 1} if gpus else {"num_cpus": min(threads, largest)}
    task = ray.remote(max_retries=RETRIES, **takes)(work)
    function_ref = ray.put(function)
    pending: list[Any] = []
    done: dict[Any, Out] = {}
    try:
        for item in items:
            pending.append(task.remote(place, function_ref, item))
        for one in list(pending):
            while one not in done:
                (ended,), pending = ray.wait(pending, num_returns=1)
                done[ended] = result_of(ray, ended)
            yield done.pop(one)
    finally:
        _let_end(ray, pending)


def _let_end(ray: Any, pending: Collection[Any]) -> None:
    """Wait a while for what is left: no task may still be writing when the caller cleans up after
    an error.

    ray.cancel would end them sooner, and now and then this process with them: "Check failed: …
    Tried to complete task that was not pending".
    """
    if pending and ray.is_initialized():
        ray.wait(list(pending), num_returns=len(pending), timeout=SECONDS_TO_STOP)


def _cpus(ray: Any) -> int:
    """Count the cluster's current CPUs, as machines come and go."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def result_of(ray: Any, reference: Any) -> Any:
    """Return a result, or raise what was raised where it was computed; the death of an actor comes
    as Ray's.
    """
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, PositionBiasError) else error) from error
    except ray.exceptions.RayActorError:
        raise
    except ray.exceptions.LocalRayletDiedError as error:  # told before the connection breaks
        raise ray_ended() from error
    except ray.exceptions.RayError as error:
        raise given_up(error) from error


def given_up(error: Exception) -> PositionBiasError:
    """Return the error of a shard that Ray, or we, tried often enough."""
    return PositionBiasError(
        f"wanted every shard done on the Ray cluster; found, after {RETRIES} retries: "
        f"{first_line(error)}; look at the cluster with: ray status"
    )


def no_gpu() -> SettingError:
    """Return the error of work on GPUs on a cluster without any."""
    return SettingError(
        "--engine ray: wanted a GPU in the cluster; found none; give --device cpu, or add machines "
        "with GPUs"
    )


def first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """The base folder of relative paths, and the software that results depend on."""

    folder: str
    software: tuple[tuple[str, str], ...]


def work(place: Place, function: Callable[[Item], Out], item: Item) -> Out:
    """Process one item on any machine, in the command's folder and with its software."""
    if place.software != _software():
        wrong = ", ".join(
            f"{name} {here} instead of {wanted}"
            for (name, wanted), (_, here) in zip(place.software, _software(), strict=True)
            if here != wanted
        )
        raise PositionBiasError(
            f"{platform.node()}: wanted the same software on every machine of the cluster; found "
            f"{wrong}; install the same"
        )
    try:
        os.chdir(place.folder)
    except OSError as error:
        raise StorageError(
            f"{place.folder}: wanted a folder that every machine of the cluster sees; found: "
            f"{error.strerror} on {platform.node()}; work in a folder of a shared file system"
        ) from error
    return function(item)


@cache
def _software() -> tuple[tuple[str, str], ...]:
    return tuple(package_versions(USUAL_WORDS, "numpy", "pyarrow", "torch", "transformers").items())
