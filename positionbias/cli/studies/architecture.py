"""``posbias study architecture``: rotated data against a model with other positions."""

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
def architecture(
    collection: str,
    out: str,
    positions: tuple[Any, ...],
    seeds: tuple[int, ...],
    draws: tuple[int, ...],
    trainings: tuple[str, ...],
    dry_run: bool,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Is rotating the passages of COLLECTION better than a TK without absolute positions?

    Trains TK with sinusoid, no, and relative positions (Shaw et al. 2018) on the original and on the rotated passages, tests all on
    both, and writes results, tables and report.html: effectiveness, what rotation changes, and MATS beside each other.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.result import TEXTS
    from positionbias.firststage.bm25 import Bm25Settings
    from positionbias.positions.rotate import Rotation
    from positionbias.studies.architecture import ArchitectureSettings
    from positionbias.studies.architecture import architecture as run_study
    from positionbias.studies.position_bias import StudySettings

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
    chosen = ArchitectureSettings(positions, settings)
    place = output_place(out)
    found = find_collection(collection)
    shop = open_workshop(place, workers=workers, dry_run=dry_run)
    results = run_study(found, chosen, shop)
    if dry_run:
        show_plan(shop, found.name, as_json=as_json)
    else:
        finish(results, place, as_json=as_json)
