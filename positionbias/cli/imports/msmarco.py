"""``posbias import msmarco``."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, seed_option
from positionbias.cli.imports.common import attach_option, attachments, report_import, report_release, validation_options

__all__ = ["msmarco"]


@click.command()
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True)
@attach_option
@validation_options
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(["top1000", "qidpidtriples", "triples"]),
    help="Leave these files alone, even where they are there. May be given again.",
)
@click.option("--keep-unjudged", is_flag=True, help="Keep queries without a judgement in their splits.")
@seed_option()
@engine_options
@out_option(what="The collection.")
@overwrite_option
@json_option
def msmarco(
    places: tuple[str, ...],
    attach: tuple[tuple[str, str, str], ...],
    validation: int,
    validation_by: str,
    skip: tuple[str, ...],
    keep_unjudged: bool,
    seed: int,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """MS MARCO passage ranking, from a folder of the release's files, from collectionandqueries.tar.gz, or from single files.

    Files are read plain, as .gz, or inside a tar; any subset is enough. validation is dev/small, test the other judged dev
    queries; without dev/small, --validation draws from train. top1000.dev becomes a run in OUT/runs, triples become training
    groups in OUT/trainsets.
    """
    from positionbias.formats.msmarco import import_msmarco
    from positionbias.formats.splits import HoldOut

    with engine.open() as map_shards:
        collection = import_msmarco(
            places,
            output_place(out),
            attachments=attachments(attach),
            validation=validation,
            validation_by=HoldOut(validation_by),
            seed=seed,
            keep_unjudged=keep_unjudged,
            skip=skip,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    report_release(collection)
    report_import(collection, out, as_json)
