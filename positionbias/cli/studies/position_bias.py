"""``posbias study position-bias``: the paper's questions about one collection."""

from __future__ import annotations

import click

from positionbias.cli.studies.common import Asked, study_options

__all__ = ["position_bias"]


@click.command("position-bias")
@click.argument("collection")
@study_options()
def position_bias(asked: Asked, collection: str) -> None:
    """Do re-rankers lean on where answers sit in COLLECTION, and does rotation cure it?

    Trains each model on the original and on the rotated passages, tests both on both, and writes results, tables and report.html.
    """
    from positionbias.core.collection import find_collection
    from positionbias.studies.position_bias import position_bias as run_study

    found = find_collection(collection)
    asked.running.run(lambda shop: run_study(found, asked.settings, shop), found.name)
