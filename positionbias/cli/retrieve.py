"""``posbias retrieve``: candidates for a split's queries, by BM25 or by vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from positionbias.cli.common import (
    Engine,
    all_of,
    compute_options,
    emit,
    engine_options,
    json_option,
    kind_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    stated,
)
from positionbias.cli.settings_options import settings_options
from positionbias.dense.settings import DENSE_DEPTH, INDEXES, MEMORY, AnnSettings
from positionbias.firststage.settings import PRESETS, Bm25Settings

__all__ = ["retrieve"]

_BM25 = ("backend", "preset", "k1", "b", "engine", "address")
_DENSE = ("model", "kind", "index", "device", "precision", "batch_tokens", "memory")
_OF_INDEX = {"exact": ("memory",), "hnsw": ("links", "build_width", "search_width"), "ivf": ("lists", "probes")}
_ANN = (*_OF_INDEX["hnsw"], *_OF_INDEX["ivf"])

_bm25_options = all_of(
    click.option(
        "--backend",
        default="bm25s",
        show_default=True,
        metavar="NAME",
        help="bm25s, or lucene: Anserini's BM25, with the extra positionbias[lucene].",
    ),
    click.option(
        "--preset",
        default="anserini",
        show_default=True,
        metavar="NAME",
        help="Settings of k1 and b: anserini, msmarco or robertson.",
    ),
    settings_options(Bm25Settings, k1=None, b=None),
)
_dense_options = all_of(
    click.option("--vectors", metavar="VECTORS", help="Rank by these vectors, from posbias encode, instead of by BM25."),
    click.option("--model", help="What the vectors were made by, with --vectors."),
    kind_option,
    click.option(
        "--index",
        type=click.Choice(INDEXES),
        default=INDEXES[0],
        show_default=True,
        help="exact looks at every vector; hnsw and ivf (faiss) at some, by an index kept in the vectors' folder.",
    ),
    settings_options(AnnSettings),
    compute_options(device="Where queries are encoded and exact search computes."),
    click.option("--memory", type=float, default=MEMORY, show_default=True, help="GiB that an exact search may hold."),
)


@click.command()
@click.argument("collection")
@click.option("--split", default="test", show_default=True, help="Whose queries.")
@click.option("--depth", type=int, help="Passages to keep a query. [default: 100; 1000 with --vectors]")
@_bm25_options
@_dense_options
@click.option("--name", help="The run's tag. [default: bm25; the model's name with --vectors]")
@out_option(what="The run, in TREC form; .gz compresses it.")
@engine_options
@overwrite_option
@json_option
@click.pass_context
def retrieve(
    context: click.Context,
    /,
    collection: str,
    split: str,
    depth: int | None,
    name: str | None,
    vectors: str | None,
    out: str,
    engine: Engine,
    overwrite: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Rank COLLECTION's passages for each query of a split by BM25, or by the inner product of vectors.

    BM25's index stands in the collection's cache and is reused only by the same settings on the same passages. Queries
    without a known term have no candidates; they are counted. --workers are processes for bm25s, threads for lucene and for faiss.

    \b
      posbias encode squad --model minilm --out squad-vectors
      posbias retrieve squad --vectors squad-vectors --model minilm --split test --out dense.run
    """  # fmt: skip
    if vectors is None:
        _refuse(context, _DENSE + _ANN, "--vectors", "none")
    else:
        _refuse(context, _BM25, "no --vectors", "them")
        for index, names in _OF_INDEX.items():
            if index != given["index"]:
                _refuse(context, names, f"--index {index}", f"--index {given['index']}")
    asked: dict[str, Any] = {"split": split, "depth": depth, "name": name, "engine": engine, "overwrite": overwrite}
    by = _by_bm25 if vectors is None else partial(_by_vectors, vectors=vectors)
    pairs = by(collection, out, as_json=as_json, **asked, **given)
    if pairs:
        say(f"next: posbias evaluate {out} --collection {collection} --split {split}")
    else:
        say("the run is empty: there is nothing in it to re-rank or to evaluate; check the queries, and the passages")


def _refuse(context: click.Context, names: tuple[str, ...], wanted: str, found: str) -> None:
    """Refuse options that have no meaning here.

    Raises:
        SettingError: one was given; it is named.
    """
    from positionbias.core.errors import SettingError

    for parameter in context.command.params:
        if parameter.name in names and stated(parameter.name):
            raise SettingError(
                f"{parameter.opts[0]}: wanted {wanted} beside it; found {found}; leave it out, or mend the command"
            )


def _by_bm25(
    collection: str,
    out: str,
    *,
    split: str,
    depth: int | None,
    name: str | None,
    engine: Engine,
    overwrite: bool,
    as_json: bool,
    backend: str,
    preset: str,
    k1: float | None,
    b: float | None,
    **_: Any,
) -> int:
    """Write the run; give the number of its candidates."""
    from positionbias.core.collection import find_collection
    from positionbias.core.errors import SettingError
    from positionbias.firststage.bm25 import retrieve_run

    if preset not in PRESETS:
        raise SettingError(f"--preset: wanted one of {', '.join(PRESETS)}; found {preset!r}; give one of these")
    if backend == "lucene" and engine.engine != "local":
        raise SettingError(f"--engine: wanted local with --backend lucene; found {engine.engine!r}; leave it out, or use bm25s")
    known = PRESETS[preset]
    settings = Bm25Settings(known.k1 if k1 is None else k1, known.b if b is None else b)
    place = output_place(out)
    found = find_collection(collection)
    with engine.open() as map_shards:
        done = retrieve_run(
            found,
            split,
            100 if depth is None else depth,
            settings,
            place,
            name=name or "bm25",
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
    return done.run.pairs


def _by_vectors(
    collection: str,
    out: str,
    *,
    vectors: str,
    split: str,
    depth: int | None,
    name: str | None,
    engine: Engine,
    overwrite: bool,
    as_json: bool,
    model: str | None,
    kind: str | None,
    index: str,
    device: str,
    precision: Any,
    batch_tokens: int,
    memory: float,
    **given: Any,
) -> int:
    """Write the run; give the number of its candidates."""
    from positionbias.cli.common import input_place, model_place
    from positionbias.core.collection import find_collection
    from positionbias.dense.retrieve import retrieve_dense
    from positionbias.dense.vectors import Vectors
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.ranking.config import RankingConfig, pick_device

    if model is None:
        raise click.UsageError("--vectors wants the model that made them: give it to --model")
    settings = AnnSettings(**{field: given[field] for field in _ANN}, threads=engine.workers)
    opened, found, place = Vectors(input_place(vectors)), find_collection(collection), output_place(out)
    checkpoint = load_checkpoint(model_place(model), kind)
    checkpoint.model.to(pick_device(device))
    done = retrieve_dense(
        checkpoint,
        opened,
        found,
        split,
        DENSE_DEPTH if depth is None else depth,
        place,
        index=index,
        settings=settings,
        memory=memory,
        name=name,
        config=RankingConfig(batch_tokens, precision),
        overwrite=overwrite,
    )
    if done.origin:
        say(f"{index} index {done.origin}, {done.size / 1e6:,.1f} MB in memory and on disk")
    say(
        f"{len(opened):,} vectors searched ({index}) in {done.seconds:,.1f} s: {done.queries / max(1e-9, done.seconds):,.1f} queries/s"
    )
    if done.empty_queries:
        say(f"{done.empty_queries:,} of {done.queries:,} queries have no text: no candidates")
    if done.short:
        wanted = min(depth or DENSE_DEPTH, len(opened))
        more = {"hnsw": "a wider --hnsw-search-width", "ivf": "more --ivf-probes"}[index]
        say(f"{done.short:,} of {done.queries:,} queries have fewer than {wanted:,} candidates: {more} may find them")
    if empty := opened.manifest.content.get("empty_passages"):
        say(f"{empty:,} passages are empty: they are ranked by the vector of an empty text")
    line = f"{done.pairs:,} candidates of {done.queries:,} queries written to {place}"
    emit([done.result(found.name, split)], as_json=as_json, table=lambda: line)
    return done.pairs
