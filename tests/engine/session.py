"""Which processes a command has left behind."""

from __future__ import annotations

from pathlib import Path


def processes_of_session(session: int) -> list[int]:
    """The ids of the processes that run in the session that process ``session`` leads; one that has ended is none."""
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
