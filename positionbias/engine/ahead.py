"""Prepare items in background threads while earlier ones are used."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_WAIT = 0.1  # seconds between checks that the results are still wanted


def ahead(items: Iterable[T], most: int = 1) -> Generator[T]:
    """Yield ``items`` in order, computed in a thread, with at most ``most`` of them waiting.

    An error in the thread is raised here, after the items before it. When the caller stops early,
    the thread stops before its next item and is joined.
    """
    waiting: queue.Queue[tuple[bool, T | BaseException | None]] = queue.Queue(most)
    unwanted = threading.Event()

    def put(more: bool, value: T | BaseException | None) -> bool:
        while not unwanted.is_set():
            try:
                waiting.put((more, value), timeout=_WAIT)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(True, item):
                    return
            put(False, None)
        except BaseException as error:  # whatever it is, it belongs to the caller
            put(False, error)

    thread = threading.Thread(target=work, name="ahead", daemon=True)
    thread.start()
    try:
        while True:
            more, value = waiting.get()
            if more:
                yield value  # type: ignore[misc]
            elif isinstance(value, BaseException):
                raise value
            else:
                return
    finally:
        unwanted.set()
        thread.join()


def one_behind(items: Iterable[T]) -> Generator[T]:
    """Yield each item after the next has been made, so that a GPU has work while the host has
    some.
    """
    waiting: list[T] = []
    for item in items:
        yield from waiting
        waiting = [item]
    yield from waiting


def at_once(
    work: Callable[[T], R], items: Iterable[T], most: int, stop: threading.Event
) -> Generator[R]:
    """Yield ``work`` of each item in order, computed in at most ``most`` threads.

    An error is raised in its item's place. Then, or when the caller stops early, ``stop`` is set,
    nothing more begins, and what has begun is waited for.
    """
    stop.clear()
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(most, "at once") as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                if len(waiting) >= 2 * most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise
