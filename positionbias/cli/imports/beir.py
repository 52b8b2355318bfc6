"""``posbias import beir``."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, say
from positionbias.cli.imports.common import report_import

__all__ = ["beir"]


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--titles/--no-titles",
    default=True,
    show_default=True,
    help="Put a title before its text. What is known of a page then stands in front: a position bias of its own.",
)
@out_option(what="The collection.")
@overwrite_option
@engine_options
@json_option
def beir(folder: str, titles: bool, out: str, overwrite: bool, engine: Engine, as_json: bool) -> None:
    """A data set of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv in DIR, plain, .gz or .zst.

    dev.tsv becomes split validation. Queries that no file of qrels names are kept in a split "unjudged".
    """
    from positionbias.formats.beir import import_beir

    with engine.open() as map_shards:
        collection = import_beir(
            folder,
            output_place(out),
            titles=titles,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    source = collection.manifest.content["source"]
    corpus = source["corpus"]
    placed = "put in front" if titles else "which is left out"
    say(f"{corpus['titles']:,} passages with a title, {placed}; {corpus['without_text']:,} without a text")
    if source["repeated_judgements"]:
        say(f"{source['repeated_judgements']:,} lines of qrels said again what an earlier one had said")
    if not collection.splits:
        say("no queries.jsonl and no qrels: the corpus alone came in")
    report_import(collection, out, as_json)
