"""What is said before something that takes long, and when a terminal is asked."""

from __future__ import annotations

import click
import pytest

from positionbias.cli import before
from positionbias.cli.before import say_before


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Standard streams that are a terminal, whose person says no; what was asked."""
    asked: list[str] = []

    def confirm(text: str, **options: object) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr(before, "_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", confirm)
    return asked


def test_a_terminal_is_asked_where_it_is_long_and_no_is_no_failure(
    terminal: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(click.exceptions.Exit) as caught:
        say_before("9 steps", 5 * 3_600, yes=False, shorter="fewer take less")
    assert caught.value.exit_code == 0
    assert capsys.readouterr().err.splitlines() == ["9 steps: about 5 hours at most", "nothing was made; fewer take less"]
    assert terminal == ["Begin?"]


@pytest.mark.parametrize(("seconds", "yes"), [(before.LONG, False), (5 * 3_600, True), (None, False)])
def test_it_is_not_asked_where_it_is_short_or_answered_or_not_known(
    terminal: list[str], seconds: float | None, yes: bool
) -> None:
    say_before("9 steps", seconds, yes=yes, shorter="")
    assert terminal == []


def test_elsewhere_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(click, "confirm", lambda *_, **__: pytest.fail("asked"))
    say_before("9 steps", 5 * 3_600, yes=False, shorter="")
    assert capsys.readouterr().err == "9 steps: about 5 hours at most\n"
