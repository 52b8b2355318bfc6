"""``posbias study architecture``: rotated data against a model with other positions."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.studies.common import Asked, study_options

__all__ = ["architecture"]


@click.command()
@click.argument("collection")
@click.option(
    "--positions",
    multiple=True,
    default=("sinusoid", "none", "relative"),
    show_default=True,
    help="TK's positions, the usual ones first: sinusoid, none or relative; given twice or more.",
)
@study_options()
def architecture(asked: Asked, collection: str, positions: tuple[Any, ...]) -> None:
    """Is rotating the passages of COLLECTION better than a TK without absolute positions?

    Trains TK with sinusoid, no, and relative positions (Shaw et al. 2018) on the original and on the rotated passages, tests all on
    both, and writes results, tables and report.html: effectiveness, what rotation changes, and MATS beside each other.
    """
    from positionbias.core.collection import find_collection
    from positionbias.studies.architecture import ArchitectureSettings
    from positionbias.studies.architecture import architecture as run_study

    found = find_collection(collection)
    asked.running.run(lambda shop: run_study(found, ArchitectureSettings(positions, asked.settings), shop), found.name)
