"""``posbias study dose``: front-loading as a dose, on a collection's own language."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.common import json_option, out_option, output_place, seed_option, workers_option
from positionbias.cli.studies.common import (
    candidate_options,
    candidates_of,
    dry_run_option,
    finish,
    measure_options,
    model_options,
    models_of,
    open_workshop,
    repeat_options,
    show_plan,
)

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
@out_option(what="The study, a folder.")
@model_options
@repeat_options
@candidate_options
@click.option(
    "--test",
    "tests",
    multiple=True,
    default=("test",),
    show_default=True,
    help="A split to test on; several are one set of queries.",
)
@measure_options
@click.option(
    "--words",
    type=click.Choice(["blingfire", "whitespace"]),
    default="blingfire",
    show_default=True,
    help="What a word is, in the rotation and in an answer's position.",
)
@click.option(
    "--rotate-at-reading", is_flag=True, help="Train on fresh rotations at every read, not on a collection rotated once."
)
@click.option("--only", "trainings", multiple=True, metavar="TRAINING", help="Only this training: original or rotated.")
@click.option("--probe-passages", type=click.IntRange(min=1), help="Passages MATS is measured on at the end; by default all.")
@dry_run_option
@seed_option()
@workers_option
@json_option
def dose(
    collection: str,
    out: str,
    doses: tuple[str, ...],
    queries: int | None,
    several: Any,
    seeds: tuple[int, ...],
    draws: tuple[int, ...],
    trainings: tuple[str, ...],
    words: Any,
    dry_run: bool,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Do re-rankers lean on position the more, the more of the answers in COLLECTION that they were trained on stand in front?

    Selects for each dose as many training queries with their answers in one part of the passages, trains on the original and on the
    rotated passages, and tests all on the same queries, original and rotated.

        posbias study dose squad --dose 0:0.2 --dose 0:0.5 --dose 0:1 --out squad-dose
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.result import TEXTS
    from positionbias.firststage.bm25 import Bm25Settings
    from positionbias.positions.locate import Matching
    from positionbias.positions.rotate import Rotation
    from positionbias.positions.select import AnswerRange
    from positionbias.studies.dose import DoseSettings
    from positionbias.studies.dose import dose as run_study
    from positionbias.studies.position_bias import StudySettings

    settings = StudySettings(
        models=models_of(given, depth=given["depth"]),
        seeds=seeds or (seed,),
        draws=draws or (seed,),
        trainings=trainings or TEXTS,
        rotation=Rotation(words=words),
        bm25=Bm25Settings(given.pop("k1"), given.pop("b")),
        candidates=candidates_of(given),
        seed=seed,
        **given,
    )
    ranges = tuple(AnswerRange.parse(text, flag="--dose") for text in doses)
    place = output_place(out)
    found = find_collection(collection)
    shop = open_workshop(place, workers=workers, dry_run=dry_run)
    results = run_study(found, DoseSettings(ranges, settings, queries, several, Matching(words=words)), shop)
    if dry_run:
        show_plan(shop, found.name, as_json=as_json)
    else:
        finish(results, place, as_json=as_json)
