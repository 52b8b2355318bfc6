"""Prepare items in a background thread while earlier ones are used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import TypeVar

__all__ = ["ahead"]

T = TypeVar("T")
_WAIT = 0.1  # seconds between checks that the results are still wanted


def ahead(items: Iterable[T], most: int = 1) -> Generator[T]:
    """Yield ``items`` in order, computed in a thread, with at most ``most`` of them waiting.

    An error in the thread is raised here, after the items before it. When the caller stops early, the thread stops before its
    next item and is joined.
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
