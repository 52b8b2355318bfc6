"""Progress: nothing but the items, where nobody watches."""

from __future__ import annotations

import io
import sys

import pytest

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
