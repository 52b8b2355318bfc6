"""A side's process: it makes its work, runs it whenever it is asked to, and says what each run
took.

It speaks JSON, a line each way: {"do": "prepare", "work": "module:Class", "settings": {…}}, then
{"do": "run"} as often as wanted, {"do": "proof"}. Whatever else prints goes to standard error. It
imports nothing but the standard library before its work, so that every environment can run it.

A work is a class: made with its settings (not timed); ``run()`` is what is timed; ``proof()`` says
what came out of the last run; ``packages`` names what is to be told with its version; ``facts``
(optional) is what else is to be kept.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def processor_seconds() -> float:
    """Of this process with all its threads, of all children that it has waited for, and of all that
    still run (a pool's workers, say).

    Those whose parent has ended count too, where ``adopt_orphans`` was called: a command may end
    before the server of its workers does.
    """
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent) + sum(
        map(_spent, _descendants(os.getpid()))
    )


def adopt_orphans() -> None:
    """Become the parent of all processes below whose parent ends, which are else lost from sight;
    does nothing but on Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants(pid: int) -> list[int]:
    """The processes below one that run now; none where the system has no /proc."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    except OSError:  # it has ended
        pass
    return found


def _spent(pid: int) -> float:
    """Processor seconds of a process and of the children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def versions(packages: Any) -> dict[str, str]:
    """Of the packages that are there."""
    found = {"python": sys.version.split()[0]}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class Worker:
    """Answers one request after the other."""

    def __init__(self) -> None:
        self.work: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        return getattr(self, request["do"])(request)

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        module, _, name = request["work"].partition(":")
        self.work = getattr(importlib.import_module(module), name)(request["settings"])
        return {"versions": versions(self.work.packages), "facts": getattr(self.work, "facts", {})}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        clock, spent = time.perf_counter(), processor_seconds()
        self.work.run()
        return {"processor": processor_seconds() - spent, "wall": time.perf_counter() - clock}

    def proof(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"proof": self.work.proof()}


def main() -> None:
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints
    adopt_orphans()
    worker = Worker()
    for line in sys.stdin:
        try:
            found = worker.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            said = " ".join(str(error).split())[:300]
            found = {"error": f"{type(error).__name__}: {said}" if said else type(error).__name__}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
