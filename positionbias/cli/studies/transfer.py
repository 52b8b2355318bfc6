"""``posbias study transfer``: training elsewhere first, on original or on rotated passages (Table 5)."""

from __future__ import annotations

from dataclasses import replace
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

__all__ = ["transfer"]


@click.command()
@click.argument("source")
@click.argument("target")
@out_option(what="The study, a folder.")
@model_options
@click.option(
    "--set-source",
    "source_assignments",
    multiple=True,
    metavar="[MODEL.]SETTING=VALUE",
    help="As --set, for the training on SOURCE alone; may be given again.",
)
@repeat_options
@candidate_options
@click.option(
    "--source-candidates",
    multiple=True,
    metavar="SPLIT=RUN",
    help="A run over SOURCE to take instead of BM25's; may be given again.",
)
@click.option("--source-validation-split", default="validation", show_default=True, help="Queries of SOURCE to validate on.")
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
@dry_run_option
@seed_option()
@workers_option
@json_option
def transfer(
    source: str,
    target: str,
    out: str,
    source_assignments: tuple[str, ...],
    source_candidates: tuple[str, ...],
    seeds: tuple[int, ...],
    draws: tuple[int, ...],
    dry_run: bool,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Does training on SOURCE first help on TARGET, and does it help more with SOURCE's passages rotated?

    Each model is trained on TARGET alone; on SOURCE, then TARGET; on SOURCE rotated, then TARGET. All are tested on TARGET's
    original passages.
    """
    from positionbias.core.collection import find_collection
    from positionbias.firststage.bm25 import Bm25Settings
    from positionbias.positions.rotate import Rotation
    from positionbias.studies.model_settings import with_assignments
    from positionbias.studies.position_bias import StudySettings
    from positionbias.studies.transfer import transfer as run_study

    there = {"candidates": candidates_of({"candidates": source_candidates}), "validation": given.pop("source_validation_split")}
    models = models_of(given, depth=given["depth"])
    settings = StudySettings(
        models=models,
        seeds=seeds or (seed,),
        draws=draws or (seed,),
        rotation=Rotation(words=given.pop("words")),
        bm25=Bm25Settings(given.pop("k1"), given.pop("b")),
        candidates=candidates_of(given),
        seed=seed,
        **given,
    )
    first = with_assignments(models, source_assignments, flag="--set-source")
    before = replace(settings, models=first, tests=(), **there)
    place = output_place(out)
    found = find_collection(source), find_collection(target)
    shop = open_workshop(place, workers=workers, dry_run=dry_run)
    results = run_study(*found, settings, before, shop)
    if dry_run:
        show_plan(shop, found[1].name, as_json=as_json)
    else:
        finish(results, place, as_json=as_json)
