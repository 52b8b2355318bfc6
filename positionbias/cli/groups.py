"""Groups of commands whose members are all operations: a name, the operation, one line of help each."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["trainset"]

# name -> (module, operation, one line of help)
TRAINSET = {
    "leaked": ("positionbias.ops.trainsets", "draw_leaked", "Sets with a known number of queries that leak test queries."),
    "contaminated": (
        "positionbias.ops.trainsets",
        "draw_contaminated",
        "A set with judgements of a test split in it, for a teacher that saw the test.",
    ),
    "clicks": ("positionbias.ops.trainsets", "draw_clicks", "Shuffled triples of clicked passages and sampled candidates."),
}


@click.group(cls=LazyGroup, commands_at=TRAINSET)
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""
