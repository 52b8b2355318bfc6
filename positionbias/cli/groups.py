"""Groups of commands whose members are all operations: a name, the operation, one line of help each."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["pool"]

# name -> (module, operation, one line of help)
POOL = {
    "coverage": (
        "positionbias.ops.pools",
        "pool_coverage",
        "Relevant documents that each kind of system finds, by pool depth.",
    ),
    "reliability": (
        "positionbias.ops.pools",
        "pool_reliability",
        "How pools made from one kind of system judge systems of each kind.",
    ),
    "verdict": ("positionbias.ops.pools", "pool_verdict", "Can an existing collection judge this one new run?"),
}


@click.group(cls=LazyGroup, commands_at=POOL)
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what they do to scores."""
