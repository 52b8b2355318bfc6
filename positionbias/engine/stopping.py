"""Stop a command on Ctrl-C (SIGINT) or SIGTERM, which schedulers send, from its first line on.

Both raise ``KeyboardInterrupt``, so the same code cleans up after either; the exit code tells
which. Nothing heavy is imported here, as this runs before all else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from positionbias.core.system import (
    block_signals,
    end_in,
    restore_signals,
    signal_numbers,
    unblock_signals,
)

TYPE_CHECKING = False  # as in the package's __init__
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    Item = TypeVar("Item")
    Out = TypeVar("Out")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# seconds: ``timeout`` and some schedulers signal a process and then its group, as one request
_SAME = 2.0
_DEAF = 10.0  # seconds for Python to hear a signal
_END = 2  # seconds after SIGTERM for a worker process to end by itself
_received = 0
_when = float("-inf")
_late = 0  # a signal that came while it was held back
_held = False


def leave_at_once() -> None:
    """Let a signal end the process with one line from now on, as there is nothing to clean up
    yet.
    """
    for number in _SIGNALS:
        # as in the background of a script, or under nohup
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)


def raise_when_stopped() -> None:
    """Let a signal raise from now on, as there is something to clean up. Does nothing unless
    ``leave_at_once`` was called before.

    Python hears a signal only between two of its own steps; a process that a library keeps from
    them is ended.
    """
    if _replace(_leave, _raise) and (pipe := signal_numbers()) is not None:
        try:  # noqa: SIM105 - contextlib is not loaded this early
            threading.Thread(target=_end_the_deaf, args=(pipe,), daemon=True).start()
        except RuntimeError:  # no thread to be had
            pass


def _end_the_deaf(pipe: int) -> None:
    while number := os.read(pipe, 1):
        if number[0] in _SIGNALS:
            time.sleep(_DEAF)
            if not _received and not _late:
                os.write(
                    2,
                    b"posbias: stopped, while a library was waiting; run the same command again to "
                    b"go on\n",
                )
                os._exit(128 + number[0])


def system_default() -> None:
    """Let a signal end the process silently from now on, as all work is done."""
    _replace(_raise, signal.SIG_DFL)


def raise_in_worker() -> None:
    """Raise signals in this worker process only within ``interruptibly``: half a message would
    leave the parent waiting.

    The system ends a worker that gets no more work.
    """
    global _held
    _held = True
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop_worker)
    unblock_signals(_SIGNALS)


def interruptibly(function: Callable[[Item], Out], item: Item) -> Out:
    """Apply ``function`` to the item; a signal to this worker process interrupts it, even one that
    came before.
    """
    global _held
    try:
        _held = False
        if _late or _received:
            raise KeyboardInterrupt
        return function(item)
    finally:
        _held = True


class held_back:
    """A short block that raises signals only at its end. Processes started within it receive none
    before ``raise_in_worker``.
    """

    def __enter__(self) -> None:
        global _held
        self._before, _held = _held, True  # other threads of this process receive them in any case
        self._blocked = block_signals(_SIGNALS)  # which is inherited

    def __exit__(self, *raised: object) -> None:
        global _held, _late
        restore_signals(self._blocked)
        _held = self._before
        if _late and not _held:
            number, _late = _late, 0
            _raise(number, None)


def stopped() -> bool:
    """Return True if a signal has asked this process to stop."""
    return _received != 0


def exit_code() -> int:
    """Return 128 + the signal's number, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (_received or signal.SIGINT)


def _replace(ours: object, new: object) -> bool:
    """Replace a handler, and return True if it was there."""
    replaced = [number for number in _SIGNALS if signal.getsignal(number) is ours]
    for number in replaced:
        signal.signal(number, new)  # type: ignore[arg-type]
    return bool(replaced)


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"posbias: stopped before it began\n")
    finally:
        os._exit(128 + number)


def _raise(number: int, frame: FrameType | None) -> None:
    global _received, _when, _late
    if _held:
        _late = number
        return
    before, _when = _when, time.monotonic()
    if number == signal.SIGTERM == _received and _when - before < _SAME:
        return
    _received = number
    try:
        end_workers()
    finally:
        raise KeyboardInterrupt


def _stop_worker(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGTERM:
        end_in(_END)
    _raise(number, frame)


def end_workers() -> None:
    """Stop worker processes: Ctrl-C reaches every process of a terminal, but other signals may
    reach this one alone.
    """
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.terminate()
