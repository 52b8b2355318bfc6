"""``posbias import msmarco-docs``."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, seed_option
from positionbias.cli.imports.common import attach_option, attachments, report_import, report_release, validation_options

__all__ = ["msmarco_docs"]


@click.command("msmarco-docs")
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True)
@click.option(
    "--fields",
    multiple=True,
    type=click.Choice(["url", "title", "body"]),
    default=("url", "title", "body"),
    show_default=True,
    help="What makes a document's text, in this order; may be given again. What stands in front is a position bias of its own.",
)
@attach_option
@validation_options
@click.option(
    "--skip", multiple=True, type=click.Choice(["top100"]), help="Leave these files alone, even where they are there."
)
@click.option("--keep-unjudged", is_flag=True, help="Keep queries without a judgement in their splits.")
@seed_option()
@engine_options
@out_option(what="The collection.")
@overwrite_option
@json_option
def msmarco_docs(
    places: tuple[str, ...],
    fields: tuple[str, ...],
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
    """MS MARCO document ranking, from a folder of the release's files, from archives, or from single files.

    Files are read plain, as .gz, or inside a tar; any subset is enough. test is docdev, eval docleaderboard; the top 100 become
    runs in OUT/runs.
    """
    from positionbias.formats.msmarco_docs import import_msmarco_docs
    from positionbias.formats.splits import HoldOut

    with engine.open() as map_shards:
        collection = import_msmarco_docs(
            places,
            output_place(out),
            fields=fields,
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
