"""A side's process as the runner sees it: started, asked, ended, and one clear line where it fails
or hangs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.records import Side

__all__ = ["PREPARING", "RUNNING", "SideFailed", "SideProcess"]

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("worker.py")
PREPARING, RUNNING = 1800.0, 900.0  # seconds that a side may take to prepare, and for one run
# of the runner alone; without compiled files each command would compile what it imports, which
# users have compiled
NOT_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
THREAD_NAMES = ("OMP", "MKL", "OPENBLAS", "NUMBA", "RAYON", "NUMEXPR")


_PLACE = re.compile(r"(?:/[\w.+@-]+)+/")


class SideFailed(Exception):
    """A side that ended, failed or hung; its text is one line."""

    @property
    def kept(self) -> str:
        """What results keep of it: without places on this machine."""
        return _PLACE.sub("FOLDER/", str(self).partition("; its messages")[0])


class SideProcess:
    """A long-lived process that does one side's work. Use it as a context: its end ends the process
    and its children.

    Args:
        name: what messages call it.
        command: the Python that runs it.
        log: the file for whatever it prints.
        ours: it may import positionbias, from this checkout.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, threads: int, *, ours: bool
    ) -> None:
        self.name, self.log = name, log
        environment = {key: value for key, value in os.environ.items() if key not in NOT_OURS}
        environment |= {f"{one}_NUM_THREADS": str(threads) for one in THREAD_NAMES}
        environment["HF_HUB_OFFLINE"] = "1"
        if ours:
            environment["PYTHONPATH"] = str(ROOT)
        log.parent.mkdir(parents=True, exist_ok=True)
        self.errors = open(log, "w", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> SideProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.returncode is None:  # else its id may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.errors.close()

    def prepare(
        self, side: Side, settings: Mapping[str, Any], seconds: float = PREPARING
    ) -> dict[str, Any]:
        """Make the side's work; its versions and facts."""
        asked = {"do": "prepare", "work": side.work, "settings": {**settings, **side.settings}}
        return self._ask(asked, seconds, "while it prepared")

    def run(self, seconds: float = RUNNING) -> tuple[float, float]:
        """One timed run: seconds on the clock and of the processors."""
        found = self._ask({"do": "run"}, seconds, "in a run")
        return found["wall"], found["processor"]

    def proof(self, seconds: float = RUNNING) -> Any:
        return self._ask({"do": "proof"}, seconds, "while it gave its proof")["proof"]

    def _ask(self, request: Mapping[str, Any], seconds: float, when: str) -> dict[str, Any]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise SideFailed(f"{self.name}: ended {when}; its messages: {self.log}") from None
        if not select.select([stdout], [], [], seconds)[0]:
            raise SideFailed(
                f"{self.name}: no answer within {seconds:g} s {when}; its messages: {self.log}"
            )
        line = stdout.readline()
        if not line:
            code = self.process.wait()
            raise SideFailed(f"{self.name}: ended with {code} {when}; its messages: {self.log}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise SideFailed(f"{self.name}: {found['error']}, {when}; its messages: {self.log}")
        return found
