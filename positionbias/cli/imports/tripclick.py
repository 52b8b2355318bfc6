"""``posbias import tripclick``."""

from __future__ import annotations

from pathlib import Path

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, say
from positionbias.cli.imports.common import report_import, report_release

__all__ = ["tripclick"]

_SHOWN = 10  # absent passages named on the screen; the file has all


@click.command()
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True)
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(["runs", "triples", "logs"]),
    help="Leave these files alone, even where they are there. May be given again.",
)
@click.option("--keep-unjudged", is_flag=True, help="Keep queries without a judgement in splits that have judgements.")
@engine_options
@out_option(what="The collection.")
@overwrite_option
@json_option
def tripclick(
    places: tuple[str, ...],
    skip: tuple[str, ...],
    keep_unjudged: bool,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """TripClick, from folders of the release's files, from benchmark.tar.gz and the like, or from single files.

    Split train is the training queries of head, torso and tail; head_validation, torso_validation, tail_validation, head_test,
    torso_test and tail_test stay apart. Judged by raw clicks; head queries by DCTR too, for --qrels-name dctr. A text is title
    and abstract. BM25 runs go to OUT/runs, triples to OUT/trainsets; of the click log, the clicked ranks are counted.
    """
    from positionbias.formats.tripclick import import_tripclick

    with engine.open() as map_shards:
        collection = import_tripclick(
            places,
            output_place(out),
            keep_unjudged=keep_unjudged,
            skip=skip,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.host,
        )
    source = collection.manifest.content["source"]
    report_release(collection)
    say(f"{source['documents']:,} documents, {source['empty']:,} without any text (kept)")
    if log := source.get("log"):
        ranked = sum(log["clicked_ranks"].values())
        say(f"click log: {log['clicks']:,} clicks of {log['records']:,} records, {ranked:,} with a rank")
    _say_absent(collection.path)
    report_import(collection, out, as_json)


def _say_absent(place: Path) -> None:
    from positionbias.formats.tripclick import ABSENT

    path = place / ABSENT
    if path.exists():
        with open(path, encoding="utf-8") as lines:
            passages = list(dict.fromkeys(line.split("\t")[3] for line in lines))
        more = " …" if len(passages) > _SHOWN else ""
        say(f"judged, and not among the documents: {len(passages):,} ({', '.join(passages[:_SHOWN])}{more}); all in {path}")
