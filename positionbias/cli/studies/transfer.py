"""``posbias study transfer``: training elsewhere first, on original or on rotated passages (Table 5)."""

from __future__ import annotations

from dataclasses import replace

import click

from positionbias.cli.studies.common import Asked, runs_by_split, study_options

__all__ = ["transfer"]


@click.command()
@click.argument("source")
@click.argument("target")
@click.option(
    "--set-source",
    "source_assignments",
    multiple=True,
    metavar="[MODEL.]SETTING=VALUE",
    help="As --set, for the training on SOURCE alone; may be given again.",
)
@click.option(
    "--source-candidates",
    multiple=True,
    metavar="SPLIT=RUN",
    help="A run over SOURCE to take instead of BM25's; may be given again.",
)
@click.option("--source-validation-split", default="validation", show_default=True, help="Queries of SOURCE to validate on.")
@study_options(both_texts=False)
def transfer(
    asked: Asked,
    source: str,
    target: str,
    source_assignments: tuple[str, ...],
    source_candidates: tuple[str, ...],
    source_validation_split: str,
) -> None:
    """Does training on SOURCE first help on TARGET, and does it help more with SOURCE's passages rotated?

    Each model is trained on TARGET alone; on SOURCE, then TARGET; on SOURCE rotated, then TARGET. All are tested on TARGET's
    original passages.
    """
    from positionbias.core.collection import find_collection
    from positionbias.studies.model_settings import with_assignments
    from positionbias.studies.transfer import transfer as run_study

    settings = asked.settings
    before = replace(
        settings,
        models=with_assignments(settings.models, source_assignments, flag="--set-source"),
        candidates=runs_by_split(source_candidates),
        validation=source_validation_split,
        tests=(),
    )
    found = find_collection(source), find_collection(target)
    asked.running.run(lambda shop: run_study(*found, settings, before, shop), found[1].name)
