"""``posbias pool``: whether a test collection can judge systems that did not help to make it. One module a sub-command."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["PARTS", "pool"]

# name -> (module, attribute, one line of help)
PARTS: dict[str, tuple[str, str, str]] = {
    "coverage": (
        "positionbias.cli.pool.coverage",
        "coverage",
        "Relevant documents that each kind of system finds, by pool depth.",
    ),
    "reliability": (
        "positionbias.cli.pool.reliability",
        "reliability",
        "How pools made from one kind of system judge systems of each kind.",
    ),
    "verdict": ("positionbias.cli.pool.verdict", "verdict", "Can an existing collection judge this one new run?"),
}


@click.group(cls=LazyGroup, commands_at=PARTS)
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what they do to scores."""
