"""``posbias import trec``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, say
from positionbias.cli.imports.common import report_import

__all__ = ["split_and_name", "trec"]


def split_and_name(given: str, *, default: str = "test") -> tuple[str, str]:
    """``SPLIT=NAME`` in its two parts; without a split, and for a file whose own name holds the "=", the default.

    >>> split_and_name("train=topics.txt"), split_and_name("topics.txt")
    (('train', 'topics.txt'), ('test', 'topics.txt'))
    """
    split, equals, name = given.partition("=")
    return (split, name) if equals and "/" not in split and not Path(given).exists() else (default, given)


@click.command()
@click.option("--docs", multiple=True, required=True, metavar="PATH", help="A file or folder of documents; may be given again.")
@click.option(
    "--topics",
    multiple=True,
    metavar="[SPLIT=]FILE",
    help="Topics of a split (without one: test). May be given again; files of one split go together.",
)
@click.option(
    "--qrels",
    multiple=True,
    metavar="[SPLIT=]FILE",
    help="Judgements of a split, in four columns. May be given again; files of one split go together.",
)
@click.option(
    "--docs-format",
    type=click.Choice(["auto", "sgml", "nyt", "wapo"]),
    default="auto",
    show_default=True,
    help="TREC SGML, New York Times XML, Washington Post JSON lines; auto tells each file by its content.",
)
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only this SGML element is text; may be given again.")
@click.option(
    "--encoding", default="windows-1252", show_default=True, help="Of SGML documents that are not UTF-8; they are counted."
)
@engine_options
@out_option(what="The collection.")
@overwrite_option
@json_option
def trec(
    docs: tuple[str, ...],
    topics: tuple[str, ...],
    qrels: tuple[str, ...],
    docs_format: str,
    tags: tuple[str, ...],
    encoding: str,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """TREC documents, topics and qrels: each document is a passage.

    Documents may be plain, .gz, .zst or .z, in folders or tar archives. SGML text is what stands in the elements TEXT, HEADLINE,
    TITLE, HL, HEAD, TTL, DD, DATE, LP and LEADPARA. For Robust04 give the folders of FBIS, FR94, FT and LATimes.
    """
    from positionbias.formats.trec_docs import CONTENT_TAGS, Reading
    from positionbias.formats.trec_import import import_trec

    reading = Reading(tags or CONTENT_TAGS, encoding)
    with engine.open() as map_shards:
        collection = import_trec(
            docs,
            [split_and_name(given) for given in topics],
            [split_and_name(given) for given in qrels],
            output_place(out),
            docs_format=docs_format,
            reading=reading,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    _say_source(collection.manifest.content["source"], encoding)
    report_import(collection, out, as_json)


def _say_source(source: dict[str, Any], encoding: str) -> None:
    kinds = {"sgml": "TREC SGML", "nyt": "New York Times XML", "wapo": "Washington Post JSON lines"}
    say(
        f"{source['documents']:,} documents: "
        + ", ".join(f"{source[kind]:,} {kinds[kind]}" for kind in kinds if kind in source)
    )
    remarks = {
        "empty": "without text",
        "not_utf8": f"not UTF-8 and read as {encoding}",
        "outside": "bytes between documents left out",
    }
    for name, remark in remarks.items():
        if name in source:
            say(f"{source[name]:,} {remark}")
    if skipped := source["skipped_files"]:
        named = ", ".join(f"{ending} {count:,}" for ending, count in skipped.items())
        say(f"{sum(skipped.values()):,} files of no known form left out ({named})")
