"""``posbias contamination``: whether a model has seen a test set. One module a sub-command."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["PARTS", "contamination"]

# name -> (module, attribute, one line of help)
PARTS: dict[str, tuple[str, str, str]] = {
    "suspect": ("positionbias.cli.contamination.suspect", "suspect", "Is a model suspiciously good on a public test set?"),
}


@click.group(cls=LazyGroup, commands_at=PARTS)
def contamination() -> None:
    """Has a model, or its teacher, seen the test set that it is measured on?"""
