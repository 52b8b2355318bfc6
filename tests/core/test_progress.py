"""Progress: a bar on a terminal, a line now and then in a log, and nothing but the items where a
step is short.
"""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable

import pytest

from positionbias.core import progress
from positionbias.core.progress import set_quiet, step, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_items_pass_through_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter([3, 1, 2]), "working")) == [3, 1, 2]
    with step("working", 10) as bar:
        bar.advance(5)
        bar.note("half way")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_step_its_count_and_its_note(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    assert list(track(["a", "b"], "reading", unit="passages")) == ["a", "b"]
    with step("training", 4, unit="batches") as bar:
        bar.advance(4)
        bar.note("loss 0.5")
    shown = terminal.getvalue()
    for text in ("reading", "2/2", "passages/s", "training", "4/4", "batches/s", "loss 0.5"):
        assert text in shown
    set_quiet(True)
    before = terminal.getvalue()
    assert list(track(["a"], "reading")) == ["a"]
    assert terminal.getvalue() == before


class Log(io.StringIO):
    """Standard error as a CI job has it."""

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


def as_log(monkeypatch: pytest.MonkeyPatch, every: float = 0.02) -> Log:
    """Standard error that is no terminal, with a line every 20 ms instead of every 30 s."""
    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "_LINE_EVERY", every)
    return log


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def watchers() -> int:
    return sum(thread.name == "progress" for thread in threading.enumerate())


def test_a_log_gets_lines_while_a_single_batch_runs_and_none_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = as_log(monkeypatch)
    with step("encoding", 9_000, unit="passages") as bar:
        wait_until(lambda: len(log.lines) >= 3)
        assert set(log.lines) == {"encoding: 0 of 9,000 passages"}
        bar.advance(64)
        bar.note("on the CPU")
        wait_until(lambda: log.lines[-1].endswith(" left, on the CPU"))
        assert log.lines[-1].startswith("encoding: 64 of 9,000 passages, ")
    before = log.getvalue()
    assert watchers() == 0
    time.sleep(0.1)
    assert log.getvalue() == before


def test_a_line_comes_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress._LINE_EVERY == 30
    log = as_log(monkeypatch, every=0.5)
    began = time.monotonic()
    with step("encoding", 10):
        time.sleep(0.3)
        assert log.lines == [] or time.monotonic() - began >= 0.5
        wait_until(lambda: len(log.lines) >= 2)
        assert time.monotonic() - began >= 1.0


def shown(
    description: str, total: int | None, looks: list[tuple[float, int]], note: str = ""
) -> str:
    lines = progress._Lines(description, total, "passages", io.StringIO())
    lines.note(note)
    (first, before), (last, done) = looks
    lines.advance(done)
    return lines._shown(done - before, last - first)


def test_the_rate_and_the_time_left_are_of_what_was_done_while_watched() -> None:
    # 1,650 passages in 30 s are 55 a second; 6,350 more take 115 s. The 1,000 of the first second
    # may be an earlier run's.
    assert shown("encoding", 9_000, [(1, 1_000), (31, 2_650)]) == (
        "encoding: 2,650 of 9,000 passages, 55 passages/s, 2 min left"
    )
    assert (
        shown("reading", None, [(1, 0), (31, 123_000)])
        == "reading: 123,000 passages, 4,100 passages/s"
    )
    assert shown("slow", 100, [(1, 0), (61, 3)], "loss 0.5") == (
        "slow: 3 of 100 passages, 3 passages/min, 32 min left, loss 0.5"
    )
    assert shown("quick", 10, [(0, 0), (4, 10)]) == "quick: 10 of 10 passages, 2.5 passages/s"
    assert shown("waiting", 10, [(1, 5), (31, 5)]) == "waiting: 5 of 10 passages"


def test_quiet_ends_the_lines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    log = as_log(monkeypatch)
    with step("encoding", 10):
        wait_until(lambda: len(log.lines) >= 1)
        set_quiet(True)
        before = len(log.lines)
        time.sleep(0.1)
        with step("searching", 10):
            assert watchers() == 1
            time.sleep(0.1)
        assert len(log.lines) <= before + 1  # one was being written


def test_an_error_and_an_abandoned_generator_end_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    as_log(monkeypatch)
    with pytest.raises(ZeroDivisionError), step("encoding", 10):
        _ = 1 / 0
    assert watchers() == 0
    items = track([1, 2, 3], "reading")
    assert next(items) == 1
    assert watchers() == 1
    del items
    assert watchers() == 0


class Broken(Log):
    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [Broken(), None])
def test_a_log_that_cannot_be_written_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, stream: Broken | None
) -> None:
    as_log(monkeypatch)
    monkeypatch.setattr(sys, "stderr", stream)
    with step("encoding", 2) as bar:
        if stream is not None:
            wait_until(lambda: watchers() == 0)
            assert stream.writes == 1
        bar.advance(2)
    assert list(track([3, 1, 2], "reading")) == [3, 1, 2]


class Clock:
    """A clock of its own: a wait passes its seconds, and the work done in them is noted."""

    def __init__(self, step: progress._Lines, until: float, each_second: int) -> None:
        self.now, self._step, self._until, self._each_second = 0.0, step, until, each_second

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self._step.advance(
            round(self.now + seconds) * self._each_second - round(self.now) * self._each_second
        )
        self.now += seconds
        return self.now > self._until


def test_a_log_has_a_line_each_half_minute_with_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log()
    lines = progress._Lines("encoding", 9_000, "passages", log)
    clock = Clock(lines, until=100, each_second=50)
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(lines, "_ended", clock)
    lines._watch(progress._LINE_EVERY)
    # 50 a second: 7,500 are left after 30 s, which is 150 s; then 6,000 and 4,500
    assert log.lines == [
        "encoding: 1,500 of 9,000 passages, 50 passages/s, 2 min left",
        "encoding: 3,000 of 9,000 passages, 50 passages/s, 2 min left",
        "encoding: 4,500 of 9,000 passages, 50 passages/s, 90 s left",
    ]
