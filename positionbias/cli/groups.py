"""Groups of commands whose members are all operations: a name, the operation, one line of help each."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["leakage", "pool", "trainset"]

# name -> (module, operation, one line of help)
LEAKAGE = {
    "find": ("positionbias.ops.leakage", "find_leakage", "Which training queries near-duplicate which test queries."),
    "calibrate": (
        "positionbias.ops.leakage_labels",
        "calibrate_leakage",
        "From which score on a pair is a leak, by labelled pairs.",
    ),
    "sample": ("positionbias.ops.leakage_labels", "sample_pairs", "Draw pairs to label, so that a threshold can be set."),
    "review": (
        "positionbias.ops.leakage_labels",
        "review_pairs",
        "The most similar pairs for people to look at, and what they said.",
    ),
    "clean": ("positionbias.ops.leakage", "clean", "A collection without the training queries that leak."),
}
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
TRAINSET = {
    "leaked": ("positionbias.ops.trainsets", "draw_leaked", "Sets with a known number of queries that leak test queries."),
    "contaminated": (
        "positionbias.ops.trainsets",
        "draw_contaminated",
        "A set with judgements of a test split in it, for a teacher that saw the test.",
    ),
    "clicks": ("positionbias.ops.trainsets", "draw_clicks", "Shuffled triples of clicked passages and sampled candidates."),
}


@click.group(cls=LazyGroup, commands_at=LEAKAGE)
def leakage() -> None:
    """Which training queries near-duplicate test queries: find them, check them by hand, remove them."""


@click.group(cls=LazyGroup, commands_at=POOL)
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what they do to scores."""


@click.group(cls=LazyGroup, commands_at=TRAINSET)
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""
