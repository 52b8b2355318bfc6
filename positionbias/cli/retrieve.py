"""``posbias retrieve``: BM25 candidates for a split's queries."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, emit, engine_options, json_option, out_option, output_place, overwrite_option, say

__all__ = ["retrieve"]


@click.command()
@click.argument("collection")
@click.option("--split", default="test", show_default=True, help="Whose queries.")
@click.option("--depth", type=int, default=100, show_default=True, help="Passages to keep a query.")
@click.option(
    "--backend",
    default="bm25s",
    show_default=True,
    metavar="NAME",
    help="bm25s, or lucene: Anserini's BM25, with the extra positionbias[lucene].",
)
@click.option(
    "--preset",
    default="anserini",
    show_default=True,
    metavar="NAME",
    help="Settings of k1 and b: anserini, msmarco or robertson.",
)
@click.option("--k1", type=float, help="Saturation of term frequency, from 0; instead of the preset's.")
@click.option("--b", type=float, help="Normalisation by length, 0 to 1; instead of the preset's.")
@click.option("--name", default="bm25", show_default=True, help="The run's tag.")
@out_option(what="The run, in TREC form; .gz compresses it.")
@engine_options
@overwrite_option
@json_option
def retrieve(
    collection: str,
    split: str,
    depth: int,
    backend: str,
    preset: str,
    k1: float | None,
    b: float | None,
    name: str,
    out: str,
    engine: Engine,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Rank COLLECTION's passages for each query of a split by BM25.

    The index stands in the collection's cache and is reused only by the same settings on the same passages. Queries
    without a known term have no candidates; they are counted. --workers are processes for bm25s, Java's threads for lucene.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.errors import SettingError
    from positionbias.firststage.bm25 import PRESETS, Bm25Settings, retrieve_run

    if preset not in PRESETS:
        raise SettingError(f"--preset: wanted one of {', '.join(PRESETS)}; found {preset!r}; give one of these")
    if backend == "lucene" and engine.name != "local":
        raise SettingError(f"--engine: wanted local with --backend lucene; found {engine.name!r}; leave it out, or use bm25s")
    known = PRESETS[preset]
    settings = Bm25Settings(known.k1 if k1 is None else k1, known.b if b is None else b)
    place = output_place(out)
    found = find_collection(collection)
    with engine.open() as map_shards:
        done = retrieve_run(
            found,
            split,
            depth,
            settings,
            place,
            name=name,
            overwrite=overwrite,
            backend=backend,
            workers=engine.workers,
            map_shards=map_shards,
        )
    say(f"BM25 by {backend} with k1 {settings.k1:g}, b {settings.b:g}; index {done.index_origin}")
    if done.without_known_term:
        say(f"{done.without_known_term:,} of {len(done.run):,} queries have no term that a passage holds: no candidates")
    line = f"{done.run.pairs:,} candidates of {len(done.run):,} queries written to {place}"
    emit([done.result(found.name, split)], as_json=as_json, table=lambda: line)
    say(f"next: posbias evaluate {out} --collection {collection} --split {split}")
