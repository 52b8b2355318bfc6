"""The end of a command whose outcome is a judgement."""

from __future__ import annotations

import click


class JudgedExit(click.exceptions.Exit):
    """It ends with the exit code of its judgement, which is no error."""
