"""Progress with rate and time left: a bar on a terminal, regular lines elsewhere and in workers;
silent with ``--quiet``.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TextIO, TypeVar

from positionbias.core.terminal import guarded_streams, message, neutral, to_person, unguarded

T = TypeVar("T")
_quiet = False
_said: set[str] = set()
_bars = True
_hints = False
_LINE_EVERY = 30.0  # seconds
_FIRST = 1 / 30  # of that time: a resumed run reports all earlier work in it


class Progress(Protocol):
    """The interface for a long step: ``advance`` as work is done, ``note`` to describe its
    state.
    """

    def advance(self, amount: int = 1) -> None: ...

    def note(self, text: str) -> None: ...


class _Silent:
    def advance(self, amount: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass


SILENT: Progress = _Silent()


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def advance(self, amount: int = 1) -> None:
        self._bar.update(self._task, advance=amount)

    def note(self, text: str) -> None:
        self._bar.update(self._task, note=neutral(text))


class _Lines:
    """A line every ``_LINE_EVERY`` seconds, from its own thread, as a batch may take longer.

    The rate excludes the first second, in which a resumed run reports all earlier work.
    """

    def __init__(self, description: str, total: int | None, unit: str, stream: TextIO) -> None:
        self._description, self._total, self._unit, self._stream = description, total, unit, stream
        self._done, self._note = 0, ""
        self._lock = threading.Lock()  # for ``_done``: several threads may advance one step
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, args=(_LINE_EVERY,), name="progress", daemon=True
        )

    def advance(self, amount: int = 1) -> None:
        with self._lock:
            self._done += amount

    def note(self, text: str) -> None:
        self._note = text

    def start(self) -> None:
        atexit.register(self.end)  # a step left open must not write while Python shuts down
        with suppress(RuntimeError):  # without a thread, no lines
            self._thread.start()

    def end(self) -> None:
        """Stop writing lines before returning."""
        self._ended.set()
        # an abandoned generator is closed in whichever thread collects it
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        atexit.unregister(self.end)

    def _watch(self, every: float) -> None:
        began, line = time.monotonic(), 1
        if self._ended.wait(every * _FIRST):
            return
        first, before = time.monotonic(), self._done
        while not self._ended.wait(max(0.0, began + line * every - time.monotonic())):
            now = time.monotonic()
            line = int((now - began) / every) + 1
            shown = self._shown(self._done - before, now - first)
            if not _quiet and not self._write(f"{message(shown)}\n"):
                return

    def _shown(self, advanced: int, seconds: float) -> str:
        """Return a line; ``advanced`` is what was done in the last ``seconds``."""
        parts = [f"{self._description}: {self._done:,} {self._unit}"]
        if self._total is not None:
            parts = [f"{self._description}: {self._done:,} of {self._total:,} {self._unit}"]
        if advanced > 0 and seconds > 0:
            rate = advanced / seconds
            parts.append(_rate(rate, self._unit))
            if self._total is not None and self._total > self._done:
                parts.append(f"{shown_time((self._total - self._done) / rate)} left")
        return ", ".join([*parts, self._note] if self._note else parts)

    def _write(self, line: str) -> bool:
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError):  # nobody reads the output: no reason to end the work
            return False
        return True


def _rate(each_second: float, unit: str) -> str:
    """Format a rate with at least two figures: 1,234/s, 5.6/s, or by the minute if slower."""
    if each_second >= 10:
        return f"{each_second:,.0f} {unit}/s"
    return (
        f"{each_second:.1f} {unit}/s" if each_second >= 1 else f"{60 * each_second:.2g} {unit}/min"
    )


def set_quiet(quiet: bool) -> None:
    """Turn all progress off (``--quiet``)."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Return True if progress is off."""
    return _quiet


def in_worker(*, quiet: bool) -> None:
    """Show progress as lines even on a terminal, which several processes share."""
    global _bars
    _bars = False
    set_quiet(quiet)


def say(text: str = "") -> None:
    """Print a line on standard error; nothing when quiet or in a worker."""
    if not _quiet and _bars and sys.stderr is not None:
        to_person(message(text))


def give_hints(wanted: bool) -> None:
    """Let ``hint`` print, as the command line does."""
    global _hints
    _hints = wanted


def gives_hints() -> bool:
    """Return True if ``hint`` prints, as on the command line."""
    return _hints


def hint(text: str) -> None:
    """Print, as ``say`` does, where a command wrote and what to run next; nothing where a function
    was called from Python.
    """
    if _hints:
        say(text)


def remark(text: str) -> None:
    """Print a line on standard error once per process; nothing with ``--quiet`` or in a worker."""
    if not _quiet and _bars and text not in _said and sys.stderr is not None:
        _said.add(text)
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{message(f'posbias: {text}')}\n")


@contextmanager
def step(description: str, total: int | None, *, unit: str = "items") -> Iterator[Progress]:
    """Show a step of ``total`` units (None if unknown) on standard error.

    A terminal shows a bar; elsewhere, as in a CI log, there is a line every 30 seconds, and none
    for a shorter step.
    """
    if _quiet or sys.stderr is None:
        yield SILENT
        return
    if not (_bars and sys.stderr.isatty()):
        lines = _Lines(description, total, unit, sys.stderr)
        lines.start()
        try:
            yield lines
        finally:
            lines.end()
        return
    from rich import console, progress

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> str:  # type: ignore[override]
            return f"{task.speed or 0:,.0f} {unit}/s"

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=24),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[note]}", markup=False),
    )
    with (
        progress.Progress(*columns, console=console.Console(file=unguarded(sys.stderr))) as bar,
        guarded_streams(),
    ):
        task = bar.add_task(neutral(description), total=total, note="")
        yield _Bar(bar, task)


def track(
    items: Iterable[T], description: str, total: int | None = None, *, unit: str = "items"
) -> Iterator[T]:
    """Yield ``items`` and show progress."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with step(description, total, unit=unit) as bar:
        for item in items:
            yield item
            bar.advance()


def shown_time(seconds: float) -> str:
    """Return seconds, minutes or hours, whichever is short to read."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"
