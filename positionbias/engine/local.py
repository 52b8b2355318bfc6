"""Map a pure function over shards, in this process or several on this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from positionbias.core import process
from positionbias.core.errors import PositionBiasError, SettingError
from positionbias.core.process import share_devices
from positionbias.core.progress import in_worker, is_quiet
from positionbias.core.steps import MapShards
from positionbias.core.terminal import guard_streams
from positionbias.engine.ahead import at_once

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue

Item = TypeVar("Item")
Out = TypeVar("Out")
_OWN_SIGNAL, _LOOK = 0.5, 1.0  # seconds


def check_workers(workers: int) -> None:
    """Raise a ``SettingError`` for fewer than one worker."""
    if workers < 1:
        raise SettingError(f"--workers: wanted at least 1; found {workers}")


def map_shards(
    function: Callable[[Item], Out], items: Iterable[Item], workers: int = 1
) -> Iterator[Out]:
    """Yield ``function`` of every item, in the order of the items; its errors are raised here.

    One worker is this process. More are new processes, so ``function`` and items must be picklable,
    and a script needs the usual ``if __name__ == "__main__":``. At most two items a worker are in
    progress, so that results never pile up.

    Raises:
        SettingError: ``workers`` is below 1.
        PositionBiasError: a worker process was ended from outside.
    """
    check_workers(workers)
    return map(function, items) if workers == 1 else _over_own_processes(function, items, workers)


@contextmanager
def processes(workers: int = 1, *, long: bool = False) -> Iterator[MapShards]:
    """Yield a ``map_shards`` of two arguments whose processes start on first use and serve all
    later maps.

    A function with a true ``in_threads`` computes outside Python's lock, and faster than processes
    start: threads of this process serve it. One item alone is worked on in this process. ``long``:
    all items are handed out at once, and an error of one ends the others, as nobody would wait
    hours for them.
    """
    check_workers(workers)
    with ExitStack() as stack:
        pools: list[ProcessPoolExecutor] = []

        def over_processes(function: Callable[[Item], Out], items: Iterable[Item]) -> Iterator[Out]:
            if getattr(function, "in_threads", False):
                yield from at_once(function, items, workers, threading.Event())
                return
            rest = iter(items)
            first = list(islice(rest, 2))
            if len(first) < 2:  # a process takes seconds to start, and one item keeps only one busy
                yield from map(function, first)
                return
            if not pools:
                # never plain fork, as loaded libraries may hold threads and locks
                method = (
                    "forkserver"
                    if "forkserver" in multiprocessing.get_all_start_methods()
                    else "spawn"
                )
                context = multiprocessing.get_context(method)
                numbers = context.SimpleQueue()
                for number in range(workers):
                    numbers.put(number)
                begin = (is_quiet(), numbers, workers)
                pools.append(ProcessPoolExecutor(workers, context, _begin, begin))
                # a map may be left unfinished
                stack.callback(pools[0].shutdown, cancel_futures=True)
            yield from _in_order(pools[0], function, chain(first, rest), workers, long=long)

        yield map if workers == 1 else over_processes


def _over_own_processes(
    function: Callable[[Item], Out], items: Iterable[Item], workers: int
) -> Iterator[Out]:
    with processes(workers) as over_processes:
        yield from over_processes(function, items)


def _in_order(
    pool: ProcessPoolExecutor,
    function: Callable[[Item], Out],
    items: Iterable[Item],
    workers: int,
    *,
    long: bool,
) -> Iterator[Out]:
    pending: deque[Future[Out]] = deque()
    try:
        for item in items:
            with process.held_back():
                pending.append(pool.submit(_work, function, item))
            if len(pending) >= 2 * workers and not long:
                _wait(pool, [pending[0]])
                yield pending.popleft().result()
        while pending:
            _wait(pool, [pending[0]], pending if long else ())
            yield pending.popleft().result()
    except (BrokenProcessPool, _Stopped) as error:
        # the signal that ended the worker may also reach this process and raise KeyboardInterrupt
        # here
        time.sleep(_OWN_SIGNAL)
        raise PositionBiasError(
            f"wanted {workers} worker processes to finish; found that one was ended from outside "
            "(often by a lack of memory); run again with fewer --workers"
        ) from error
    except KeyboardInterrupt:
        process.end_workers()
        raise
    except BaseException:
        for worker in list((pool._processes or {}).values()) if long else []:
            worker.terminate()
        raise
    finally:
        # no worker may still be writing when the caller cleans up after an error
        _wait(pool, [future for future in pending if not future.cancel()])


def _wait(
    pool: ProcessPoolExecutor, futures: Sequence[Future[Any]], others: Collection[Future[Any]] = ()
) -> None:
    """Wait until all are done, or raise an error of the ``others``.

    A pool whose worker was killed within a message would wait forever for the rest, so its pipe is
    closed.
    """
    looks = 0
    while wait(futures, _LOOK).not_done:
        for failed in (other for other in others if other.done() and other.exception()):
            failed.result()
        workers = list((pool._processes or {}).values())
        looks = looks + 1 if any(worker.exitcode is not None for worker in workers) else 0
        if looks == 2:  # otherwise the pool would have noticed
            for worker in workers:
                worker.kill()
            pool._result_queue._writer.close()  # type: ignore[attr-defined]


def _work(function: Callable[[Item], Out], item: Item) -> Out:
    try:
        return process.interruptibly(function, item)
    except KeyboardInterrupt:
        raise _Stopped from None


class _Stopped(Exception):
    """A worker was asked to stop; only the parent reports it."""


def _begin(quiet: bool, numbers: SimpleQueue[int], workers: int) -> None:
    in_worker(quiet=quiet)
    share_devices(numbers.get(), workers)
    guard_streams()
    process.raise_in_worker()
    # without this, workers of a killed parent would wait for work forever
    threading.Thread(target=watch_the_parent, daemon=True).start()


def watch_the_parent() -> None:
    """End this process when its parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
