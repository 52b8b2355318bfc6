"""``posbias study``: a paper's study, end to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    emit,
    json_option,
    out_option,
    output_place,
    say,
    seed_option,
    training_options,
    workers_option,
)

if TYPE_CHECKING:
    from positionbias.core.result import Result

__all__ = ["finish", "study"]


@click.group()
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was.
    """


@study.command("position-bias")
@click.argument("collection")
@click.option("--models", multiple=True, default=("tk",), show_default=True, help="Models to train; may be given again.")
@out_option(what="The study, a folder.")
@click.option(
    "--depth", type=click.IntRange(min=1), default=100, show_default=True, help="Candidates a validation or test query."
)
@click.option(
    "--train-depth",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Candidates from which negatives are drawn.",
)
@click.option("--k1", type=float, default=0.9, show_default=True, help="Of BM25.")
@click.option("--b", type=float, default=0.4, show_default=True, help="Of BM25.")
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
@training_options
@click.option("--probe-passages", type=click.IntRange(min=1), help="Passages MATS is measured on at the end; by default all.")
@seed_option()
@workers_option
@json_option
def position_bias(
    collection: str,
    out: str,
    models: tuple[str, ...],
    trainings: tuple[str, ...],
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Does a re-ranker lean on where answers sit in COLLECTION, and does rotation cure it?

    Trains on the original and on the rotated passages, tests both on both, and writes results, tables and report.html.
    """
    from positionbias.core.collection import find_collection
    from positionbias.firststage.bm25 import Bm25Settings
    from positionbias.models.tk import TKConfig
    from positionbias.positions.rotate import Rotation
    from positionbias.studies.position_bias import TRAININGS, StudySettings
    from positionbias.studies.position_bias import position_bias as run_study
    from positionbias.training.config import TrainConfig

    probe_passages = given.pop("probe_passages")  # a training has a setting of this name as well
    training = TrainConfig(
        seed=seed, most_depth=given["depth"], **{k: given.pop(k) for k in TrainConfig.__dataclass_fields__ if k in given}
    )
    settings = StudySettings(
        probe_passages=probe_passages,
        models=models,
        trainings=trainings or TRAININGS,
        rotation=Rotation(words=given.pop("words"), seed=seed),
        bm25=Bm25Settings(given.pop("k1"), given.pop("b")),
        model=replace(TKConfig(), embedding_deviation=given.pop("embedding_deviation")),
        training=training,
        seed=seed,
        **given,
    )
    place = output_place(out)
    found = find_collection(collection)
    results = run_study(found, place, settings, workers=workers, tell=say)
    finish(results, place, as_json=as_json)


def finish(results: Path, place: Path, *, as_json: bool) -> list[Result]:
    """Write the report and the tables, and print what was found."""
    from positionbias.core.result import load_results
    from positionbias.report.html import report_tables, write_report
    from positionbias.report.load import load_studies
    from positionbias.report.table import save_tables
    from positionbias.studies.published import published_for

    page = write_report([results], place / "report.html", overwrite=True, published_for=published_for)
    save_tables(report_tables(load_studies([results]), published_for), place / "tables", overwrite=True)
    found = load_results(results)
    emit(found, as_json=as_json, table=lambda: _summary(found))
    say(f"\nreport: {page}\ntables: {place / 'tables'} (CSV and LaTeX)")
    return found


def _summary(results: list[Result]) -> str:
    from positionbias.core.result import Finding
    from positionbias.report.effectiveness import effectiveness_table
    from positionbias.report.table import as_text

    sentences = [r.payload.text for r in results if isinstance(r.payload, Finding)]
    return "\n".join([as_text(effectiveness_table(results)), "What was found", *(f"- {text}" for text in sentences)])
