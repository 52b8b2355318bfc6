"""Progress bars with rate and time left; silent when standard error is no terminal or ``--quiet`` is set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

__all__ = ["Progress", "set_quiet", "step", "track"]

T = TypeVar("T")
_quiet = False


class Progress(Protocol):
    """What a long step calls: ``advance`` as work is done, ``note`` to say how it stands."""

    def advance(self, amount: int = 1) -> None: ...

    def note(self, text: str) -> None: ...


class _Silent:
    def advance(self, amount: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def advance(self, amount: int = 1) -> None:
        self._bar.update(self._task, advance=amount)

    def note(self, text: str) -> None:
        self._bar.update(self._task, note=text)


def set_quiet(quiet: bool) -> None:
    """Turn every progress bar off (``--quiet``)."""
    global _quiet
    _quiet = quiet


@contextmanager
def step(description: str, total: int | None, *, unit: str = "items") -> Iterator[Progress]:
    """A bar over a step of ``total`` units (None where it is unknown), on standard error."""
    if _quiet or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich import progress as rich_progress
    from rich.console import Console

    class Rate(rich_progress.ProgressColumn):
        def render(self, task: rich_progress.Task) -> str:  # type: ignore[override]
            return f"{task.speed or 0:,.0f} {unit}/s"

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=24),
        rich_progress.MofNCompleteColumn(),
        Rate(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.fields[note]}"),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total, note="")
        yield _Bar(bar, task)


def track(items: Iterable[T], description: str, total: int | None = None, *, unit: str = "items") -> Iterator[T]:
    """Yield ``items`` under a bar."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with step(description, total, unit=unit) as bar:
        for item in items:
            yield item
            bar.advance()
