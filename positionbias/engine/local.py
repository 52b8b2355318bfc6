"""Mapping a pure function over shards, in this process or over several on this machine."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from positionbias.core.errors import PositionBiasError, SettingError

__all__ = ["map_shards"]

Item = TypeVar("Item")
Out = TypeVar("Out")


def map_shards(function: Callable[[Item], Out], items: Iterable[Item], workers: int = 1) -> Iterator[Out]:
    """``function`` of every item, in the order of the items; what it raises is raised here.

    One worker is this process. More are fresh processes, so ``function`` and items must be picklable, and a script
    needs the usual ``if __name__ == "__main__":``. At most two items a worker are under way, so that results
    never pile up.

    Raises:
        SettingError: ``workers`` is below 1.
        PositionBiasError: a worker process was ended from outside.
    """
    if workers < 1:
        raise SettingError(f"--workers: wanted at least 1; found {workers}")
    return map(function, items) if workers == 1 else _over_processes(function, items, workers)


def _over_processes(function: Callable[[Item], Out], items: Iterable[Item], workers: int) -> Iterator[Out]:
    # never plain fork: libraries that this process has loaded may hold threads and locks
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    pending: deque[Future[Out]] = deque()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_quietly_on_interrupt) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise PositionBiasError(
                f"wanted {workers} worker processes to finish; found that one was ended from outside (often by a lack of memory); "
                "run again with fewer --workers"
            ) from error
        finally:
            for future in pending:
                future.cancel()


def _end_quietly_on_interrupt() -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone speaks of it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
