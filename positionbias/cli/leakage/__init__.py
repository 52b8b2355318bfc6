"""``posbias leakage``: training queries that near-duplicate test queries. One module a sub-command."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["PARTS", "leakage"]

# name -> (module, attribute, one line of help)
PARTS: dict[str, tuple[str, str, str]] = {}


@click.group(cls=LazyGroup, commands_at=PARTS)
def leakage() -> None:
    """Which training queries near-duplicate test queries: find them, check them by hand, take them out."""
