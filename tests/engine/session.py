"""Which processes a command has left behind, and what holds soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def processes_of_session(session: int) -> list[int]:
    """The ids of the processes that run in the session that process ``session`` leads; one that has
    ended is none.
    """
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state parent group session …; the name may hold anything
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def assert_within(seconds: float, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
