"""``posbias study dose``: front-loading as a dose, on a collection's own language."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.studies.common import Asked, study_options

__all__ = ["dose"]


@click.command()
@click.argument("collection")
@click.option(
    "--dose",
    "doses",
    multiple=True,
    required=True,
    metavar="LOW:HIGH",
    help="Where the answers of the training queries start, as posbias select takes it; given twice or more.",
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    help="Training queries of every dose; by default as many as the dose has that has fewest.",
)
@click.option(
    "--several",
    type=click.Choice(["all", "any"]),
    default="all",
    show_default=True,
    help="Of a training query with several answers: whether all of their starts must lie in the dose, or any.",
)
@study_options()
def dose(asked: Asked, collection: str, doses: tuple[str, ...], queries: int | None, several: Any) -> None:
    """Do re-rankers lean on position the more, the more of the answers in COLLECTION that they were trained on stand in front?

    Selects for each dose as many training queries with their answers in one part of the passages, trains on the original and on the
    rotated passages, and tests all on the same queries, original and rotated.

    \b
      posbias study dose squad --dose 0:0.2 --dose 0:0.5 --dose 0:1 --out squad-dose
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.settings import AnswerRange, Matching
    from positionbias.studies.dose import DoseSettings
    from positionbias.studies.dose import dose as run_study

    ranges = tuple(AnswerRange.parse(text, flag="--dose") for text in doses)
    matching = Matching(words=asked.settings.rotation.words)
    found = find_collection(collection)
    settings = DoseSettings(ranges, asked.settings, queries, several, matching)
    asked.running.run(lambda shop: run_study(found, settings, shop), found.name)
