"""Keep Ray in a process beside this one, as Ray ends the process that is connected to it when its
own processes die.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from positionbias.core.errors import DependencyError, PositionBiasError
from positionbias.core.process import held_back, unblock_signals
from positionbias.core.publish import GO_ON
from positionbias.engine.local import watch_the_parent

SECONDS_TO_END = 30.0
# Ray's socket paths are some 80 characters longer than this, and 107 is the limit
LONGEST_TEMPORARY = 20
RETRIES = 5  # of a shard whose machine or process died
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_task_oom_retries": str(RETRIES),  # Ray's default is to try forever
}
READY, NEXT, RESULT, END, ERROR = "ready", "next", "result", "end", "error"

InOrder = Callable[..., Iterator[Any]]  # Ray, a place, a function and items to results
Connected = Callable[[str], AbstractContextManager[Any]]  # Ray, with its files in a folder


class RayEndedError(PositionBiasError):
    """A process of Ray ended, or none could be started."""

    exit_code = 70


class _Driver(NamedTuple):
    """A process that is connected to Ray, and the pipe to it."""

    process: SpawnProcess
    pipe: Connection

    def tell(self, kind: str, value: object = None) -> None:
        message = import_ray().cloudpickle.dumps((kind, value))
        with _ended():
            self.pipe.send_bytes(message)

    def hear(self) -> tuple[str, Any]:
        with _ended():
            kind, value = self.pipe.recv()
        if kind == ERROR:
            raise value
        return kind, value

    def end(self) -> None:
        """Let Ray shut down; then no task is still writing."""
        self.pipe.close()
        self.process.join(SECONDS_TO_END)
        self.process.kill()
        self.process.join()


def ray_ended() -> RayEndedError:
    """Return the error of a process of Ray that is gone."""
    return RayEndedError(
        f"--engine ray: a process of Ray ended, killed or out of memory; {GO_ON}, with fewer "
        "--workers if memory was short"
    )


@contextmanager
def _ended() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise ray_ended() from error


@contextmanager
def drivers(
    connected: Connected, in_order: InOrder
) -> Iterator[Callable[[Any, Any, Iterable[Any]], Iterator[Any]]]:
    """Yield a function that maps from a place, a function and items. A map within another gets a
    process of its own.

    Raises:
        RayEndedError: a process of Ray ended, or none could be started.
    """
    with ExitStack() as stack:
        place = tempfile.gettempdir()
        place = "/tmp" if len(place) > LONGEST_TEMPORARY else place
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="posbias-", dir=place, ignore_cleanup_errors=True)
        )

        def start() -> _Driver:
            pipe, other = multiprocessing.Pipe()
            with held_back():
                process = multiprocessing.get_context("spawn").Process(
                    target=_drive, args=(other, connected, folder, in_order)
                )
                process.start()
            other.close()
            driver = _Driver(process, pipe)
            stack.callback(driver.end)
            driver.hear()
            return driver

        idle = [start()]

        def over_driver(place: Any, function: Any, items: Iterable[Any]) -> Iterator[Any]:
            driver = idle.pop() if idle else start()
            rest = iter(items)
            try:
                driver.tell(NEXT, (place, function))
                while True:
                    kind, value = driver.hear()
                    if kind == RESULT:
                        yield value
                    elif kind == END:
                        break
                    else:
                        driver.tell(*next(((NEXT, item) for item in rest), (END, None)))
            except BaseException:  # it may be within a message, or a long task
                driver.process.terminate()
                driver.end()
                raise
            idle.append(driver)

        yield over_driver


def _drive(pipe: Connection, connected: Connected, folder: str, in_order: InOrder) -> None:
    """Be the process that is connected to Ray, until the pipe is closed or SIGTERM comes."""
    nothing = os.open(os.devnull, os.O_WRONLY)  # Ray's own lines
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    # a terminal's Ctrl-C reaches the parent, which ends this process
    signal.signal(signal.SIGINT, _ignore)
    ray_error = import_ray().exceptions.RayError
    signal.signal(signal.SIGTERM, _stop)
    unblock_signals((signal.SIGINT, signal.SIGTERM))  # what Ray starts inherits them
    threading.Thread(target=watch_the_parent, daemon=True).start()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        try:
            with connected(folder) as ray:
                # Ray's own handler would end the process without cleaning up
                signal.signal(signal.SIGTERM, _stop)
                try:
                    _answer(pipe, ray, in_order)
                finally:
                    signal.signal(signal.SIGTERM, _ignore)
        except Exception as error:
            # one with a cause is the function's; others of these classes are of the pipe or Ray,
            # whose end the parent sees
            if hasattr(error, "cause") or not isinstance(error, (EOFError, OSError, ray_error)):
                _send(pipe, ERROR, error)


def _answer(pipe: Connection, ray: Any, in_order: InOrder) -> None:
    """Do one map after another."""
    _send(pipe, READY)
    while True:
        _, (place, function) = pipe.recv()
        for result in in_order(ray, place, function, _items(pipe)):
            _send(pipe, RESULT, result)
        _send(pipe, END)


def _items(pipe: Connection) -> Iterator[Any]:
    while True:
        _send(pipe, NEXT)
        kind, item = pipe.recv()
        if kind == END:
            return
        yield item


def _send(pipe: Connection, kind: str, value: object = None) -> None:
    pipe.send_bytes(import_ray().cloudpickle.dumps((kind, value)))


def _ignore(number: int, frame: object) -> None:
    pass


def _stop(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, _ignore)
    raise KeyboardInterrupt


def import_ray() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own warnings about itself
            import ray
    except ImportError as error:
        raise DependencyError(
            f"--engine ray: wanted the package ray; found: {error}; install it with: pip install "
            "'positionbias[ray]'"
        ) from error
    return ray
