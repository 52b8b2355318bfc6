"""``posbias study position-bias``: the paper's questions about one collection."""

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

__all__ = ["position_bias"]


@click.command("position-bias")
@click.argument("collection")
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
    help="What a word is, in the rotation.",
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
def position_bias(
    collection: str,
    out: str,
    seeds: tuple[int, ...],
    draws: tuple[int, ...],
    trainings: tuple[str, ...],
    dry_run: bool,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Do re-rankers lean on where answers sit in COLLECTION, and does rotation cure it?

    Trains each model on the original and on the rotated passages, tests both on both, and writes results, tables and report.html.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.result import TEXTS
    from positionbias.firststage.bm25 import Bm25Settings
    from positionbias.positions.rotate import Rotation
    from positionbias.studies.position_bias import StudySettings
    from positionbias.studies.position_bias import position_bias as run_study

    settings = StudySettings(
        models=models_of(given, depth=given["depth"]),
        seeds=seeds or (seed,),
        draws=draws or (seed,),
        trainings=trainings or TEXTS,
        rotation=Rotation(words=given.pop("words")),
        bm25=Bm25Settings(given.pop("k1"), given.pop("b")),
        candidates=candidates_of(given),
        seed=seed,
        **given,
    )
    place = output_place(out)
    found = find_collection(collection)
    shop = open_workshop(place, workers=workers, dry_run=dry_run)
    results = run_study(found, settings, shop)
    if dry_run:
        show_plan(shop, found.name, as_json=as_json)
    else:
        finish(results, place, as_json=as_json)
