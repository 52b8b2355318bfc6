"""``posbias leakage``: training queries that near-duplicate test queries. One module a sub-command."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["PARTS", "leakage"]

# name -> (module, attribute, one line of help)
PARTS: dict[str, tuple[str, str, str]] = {
    "find": ("positionbias.cli.leakage.find", "find", "Which training queries near-duplicate which test queries."),
    "calibrate": (
        "positionbias.cli.leakage.calibrate",
        "calibrate",
        "From which score on a pair is a leak, by labelled pairs.",
    ),
    "sample": ("positionbias.cli.leakage.sheets", "sample", "Draw pairs to label, so that a threshold can be set."),
    "review": (
        "positionbias.cli.leakage.sheets",
        "review",
        "The most similar pairs for people to look at, and what they said.",
    ),
    "clean": ("positionbias.cli.leakage.clean", "clean", "A collection without the training queries that leak."),
}


@click.group(cls=LazyGroup, commands_at=PARTS)
def leakage() -> None:
    """Which training queries near-duplicate test queries: find them, check them by hand, take them out."""
