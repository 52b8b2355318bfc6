"""``posbias trainset``: training sets made to order. One module a sub-command."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["PARTS", "trainset"]

# name -> (module, attribute, one line of help)
PARTS: dict[str, tuple[str, str, str]] = {
    "leaked": ("positionbias.cli.trainset.leaked", "leaked", "Sets with a known number of queries that leak test queries."),
    "contaminated": (
        "positionbias.cli.trainset.contaminated",
        "contaminated",
        "A set with judgements of a test split in it, for a teacher that saw the test.",
    ),
    "clicks": (
        "positionbias.cli.trainset.clicks",
        "clicks",
        "Shuffled triples of clicked passages and sampled candidates.",
    ),
}


@click.group(cls=LazyGroup, commands_at=PARTS)
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""
