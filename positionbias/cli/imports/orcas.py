"""``posbias import orcas``."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option
from positionbias.cli.imports.common import report_import, report_release

__all__ = ["orcas"]


@click.command()
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True)
@click.option(
    "--documents",
    metavar="COLLECTION",
    help="A collection of MS MARCO's documents, whose passages and splits come along. Without it there are no passages.",
)
@click.option(
    "--skip", multiple=True, type=click.Choice(["top100"]), help="Leave these files alone, even where they are there."
)
@click.option("--keep-unjudged", is_flag=True, help="Keep queries without a judgement.")
@engine_options
@out_option(what="The collection.")
@overwrite_option
@json_option
def orcas(
    places: tuple[str, ...],
    documents: str | None,
    skip: tuple[str, ...],
    keep_unjudged: bool,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """ORCAS: queries and the documents clicked for them, as split "orcas"; from orcas.tsv, or from its files in TREC's form."""
    from positionbias.core.collection import find_collection
    from positionbias.formats.orcas import import_orcas

    with engine.open() as map_shards:
        collection = import_orcas(
            places,
            output_place(out),
            documents=find_collection(documents) if documents else None,
            keep_unjudged=keep_unjudged,
            skip=skip,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    report_release(collection)
    report_import(collection, out, as_json)
