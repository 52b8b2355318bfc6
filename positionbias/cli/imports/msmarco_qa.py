"""``posbias import msmarco-qa``."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, say
from positionbias.cli.imports.common import report_import

__all__ = ["msmarco_qa"]


@click.command("msmarco-qa")
@click.argument("train", nargs=-1, metavar="[FILE]...")
@click.option("--validation", multiple=True, metavar="FILE", help="A file whose questions become split validation; repeatable.")
@click.option("--test", multiple=True, metavar="FILE", help="A file whose questions become split test; repeatable.")
@click.option(
    "--selected-only",
    is_flag=True,
    help="Keep no judgement of grade 0 for passages that were seen and not selected; they take most of the memory.",
)
@out_option(what="The collection.")
@overwrite_option
@engine_options
@json_option
def msmarco_qa(
    train: tuple[str, ...],
    validation: tuple[str, ...],
    test: tuple[str, ...],
    selected_only: bool,
    out: str,
    overwrite: bool,
    engine: Engine,
    as_json: bool,
) -> None:
    """MS MARCO's QA releases: questions with answers, and the passages their annotators saw.

    Each FILE is v1.1 (JSON lines), v2.1 (column-oriented JSON), either plain, .gz or .zst, or the Hub's Parquet; its content tells
    which. The questions of a FILE become split train, whatever its name says.
    """
    from positionbias.formats.msmarco_qa import import_msmarco_qa

    given = {"train": train, "validation": validation, "test": test}
    with engine.open() as map_shards:
        collection = import_msmarco_qa(
            {split: files for split, files in given.items() if files},
            output_place(out),
            selected_only=selected_only,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    source = collection.manifest.content["source"]
    say(f"{source['passages']['read']:,} passages read, {source['passages']['distinct']:,} distinct")
    for split, counts in source["splits"].items():
        say(f"{split}: {_sentence(counts)}")
    report_import(collection, out, as_json)


def _sentence(counts: dict[str, Any]) -> str:
    """What was met in a split, without what was not."""
    return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items() if number)
