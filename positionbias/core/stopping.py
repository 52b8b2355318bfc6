"""How a command is stopped: by Ctrl-C (SIGINT) or by SIGTERM, which schedulers send, from its first line on.

Either raises ``KeyboardInterrupt``, so that what clears up after the one clears up after the other; the exit code says which.
Nothing heavy is imported here: this runs before all else.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # as in the package's __init__
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["exit_code", "leave_at_once", "raise_when_stopped", "stopped", "system_default"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAME = 2.0  # seconds: ``timeout`` and some schedulers signal a process and then its group, which is one request
_received = 0
_when = float("-inf")


def leave_at_once() -> None:
    """End the process in one line when it is stopped: there is nothing yet to clear up."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as in the background of a script, or under nohup
            signal.signal(number, _leave)


def raise_when_stopped() -> None:
    """From now on there is something to clear up. Changes nothing where ``leave_at_once`` was not called before."""
    _replace(_leave, _raise)


def system_default() -> None:
    """All is done: what stops the process now may end it without a word."""
    _replace(_raise, signal.SIG_DFL)


def stopped() -> bool:
    """Whether a signal has asked this process to stop."""
    return _received != 0


def exit_code() -> int:
    """Return 128 + the signal's number, as shells have it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (_received or signal.SIGINT)


def _replace(ours: object, new: object) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is ours:
            signal.signal(number, new)  # type: ignore[arg-type]


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"posbias: stopped before it began\n")
    finally:
        os._exit(128 + number)


def _raise(number: int, frame: FrameType | None) -> None:
    global _received, _when
    before, _when = _when, time.monotonic()
    if number == signal.SIGTERM == _received and _when - before < _SAME:
        return
    _received = number
    try:
        _end_workers()
    finally:
        raise KeyboardInterrupt


def _end_workers() -> None:
    """Stop worker processes as Ctrl-C stops them, which reaches all of a terminal: SIGTERM may come to this process alone."""
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.terminate()
