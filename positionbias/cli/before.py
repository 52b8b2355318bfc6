"""The notice before long work: how long it takes, and in a terminal the question whether to begin."""

from __future__ import annotations

import sys

import click

from positionbias.cli.panels import PanelOption
from positionbias.core.duration import duration_in_words
from positionbias.core.progress import say
from positionbias.core.settings import Panel

__all__ = ["LONG", "say_before", "yes_option"]

LONG = 30 * 60  # seconds
yes_option = click.option(
    "--yes",
    is_flag=True,
    cls=PanelOption,
    panel=Panel.SHARED,
    help=f"Begin without asking; a terminal is asked where it may take over {LONG // 60} minutes.",
)


def say_before(what: str, seconds: float | None, *, yes: bool, shorter: str) -> None:
    """Say how long ``what`` takes at most (None: not known), and ask a terminal where that is long; ``shorter`` says what to do instead.

    Raises:
        Exit: the person said no; exit code 0, as nothing went wrong.
    """
    if seconds is None:
        say(f"{what}: how long it takes is not known")
        return
    say(f"{what}: {duration_in_words(seconds)} at most")
    if seconds <= LONG:
        return
    if yes or not _terminal():
        return
    if not click.confirm("Begin?", err=True):
        say(f"nothing was made; {shorter}")
        raise click.exceptions.Exit(0)


def _terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
