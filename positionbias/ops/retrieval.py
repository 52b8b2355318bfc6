"""Candidates of queries, by BM25 or by vectors, and the vectors of a collection's passages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.operation import Out, Overwrite, Source, operation
from positionbias.core.outcome import Written
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting, declared_setting, given_flags, setting
from positionbias.dense.settings import DENSE_DEPTH, ON_DISK, DenseSearch, OnDisk
from positionbias.engine.choose import Engine
from positionbias.firststage.own_passages import own_remarks
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Search
from positionbias.models.kinds import READ_AS
from positionbias.ops.model_workers import model_workers
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.dense.vectors import Vectors

__all__ = ["ByVectors", "encode", "retrieve"]


@dataclass(frozen=True, slots=True)
class ByVectors:
    """Retrieval by vectors: the passages', the model that made them, how it computes, and how they
    are searched.
    """

    vectors: Place | None = setting(
        None,
        "Rank by these vectors, from posbias model encode, instead of by BM25.",
        metavar="VECTORS",
        place="read",
    )
    model: Place | None = setting(
        None, "What the vectors were made by, with --vectors.", metavar="MODEL", place="read"
    )
    kind: str | None = declared_setting(None, READ_AS)
    search: DenseSearch = field(default_factory=DenseSearch)
    computing: Computing = field(default_factory=Computing)


@operation
def retrieve(
    collection: Source,
    *,
    wanted: Retrieval = Retrieval(),
    bm25: Bm25Search = Bm25Search(),
    dense: ByVectors = ByVectors(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Rank the passages of ``collection`` for each query of a split by BM25, or by the inner
    product of vectors.

    BM25's index stands in the collection's cache and is reused only by the same settings on the
    same passages. Queries without a known term have no candidates; they are counted. --workers are
    processes for bm25s and for vectors, threads for lucene and for a single index of faiss. An
    exact search of more than 262,144 vectors, and one by several indexes, is divided among them; it
    goes on where an interrupted one was. The run is in TREC form; .gz at the end of its name
    compresses it.

        posbias model encode squad --model minilm --out squad-vectors
        posbias retrieve squad --vectors squad-vectors --model minilm --split test --out dense.run

    Returns:
        Where the run is, and its counts as rows.

    Raises:
        SettingError: a setting of BM25 with vectors, or of vectors without them.
        InputError: no such split, or vectors of another model or other passages.
        DependencyError: Lucene or faiss is asked for and not installed.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Retrieval
        >>> print(pb.retrieve("planted", wanted=Retrieval("test", depth=10), out="bm25.run"))
        bm25: 18 queries, 180 candidates
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import counted_rows

    if dense.vectors is None:
        _refuse(given_flags(dense), "--vectors", "none")
    else:
        _refuse(given_flags(bm25), "no --vectors", "them")
        one_index = dense.search.index != "exact" and dense.search.ann.shards == 1
        _refuse(
            sorted({*given_flags(engine)} - {"--workers"}) if one_index else (),
            "--index exact, or --index-shards above 1,",
            "neither",
        )
    found, place = find_collection(collection), output_place(out)
    if dense.vectors is None:
        name, counts, own = _by_bm25(found, place, wanted, bm25, engine, overwrite)
    else:
        name, counts, own = _by_vectors(found, place, wanted, dense, engine, overwrite)
    for line in own_remarks(
        {name: (own, counts["queries"])}, found, wanted.split, left_out=wanted.without_own
    ):
        say(line)
    there = pasted(place)
    if counts["candidates"]:
        hint(
            f"written to {there}; next: posbias evaluate {there} --collection {pasted(found.path)} "
            f"--split {wanted.split}"
        )
    else:
        hint(f"written to {there}")
        say(
            "the run is empty: there is nothing in it to re-rank or to evaluate; check the "
            "queries, and the passages"
        )
    rows = counted_rows("retrieve", counts, collection=found.name, split=wanted.split, model=name)
    return Written(place, rows=rows)


def _refuse(flags: Iterable[str], wanted: str, found: str) -> None:
    for flag in flags:
        raise SettingError(
            f"{flag}: wanted {wanted} beside it; found {found}; leave it out, or change the command"
        )


def _by_bm25(
    found: Collection,
    place: Path,
    wanted: Retrieval,
    search: Bm25Search,
    engine: Engine,
    overwrite: bool,
) -> tuple[str, dict[str, int], Sequence[str]]:
    from positionbias.firststage.bm25 import retrieve_run

    if search.backend == "lucene" and engine.name != "local":
        raise SettingError(
            f"--engine: wanted local with --backend lucene; found {engine.name!r}; leave it out, "
            "or use bm25s"
        )
    settings, backend = search.settings, search.backend
    with engine.open() as map_shards:
        done = retrieve_run(
            found,
            wanted,
            settings,
            place,
            overwrite=overwrite,
            backend=backend,
            workers=engine.workers,
            map_shards=map_shards,
        )
    say(f"BM25 by {backend} with k1 {settings.k1:g}, b {settings.b:g}; index {done.origin}")
    if without := done.without_known_term:
        say(
            f"{without:,} of {len(done.run):,} queries have no term that a passage holds: no "
            "candidates"
        )
    counts = {
        "queries": len(done.run),
        "candidates": done.run.pairs,
        "queries without a known term": without,
    }
    return done.run.name, counts, done.own


def _by_vectors(
    found: Collection,
    place: Path,
    wanted: Retrieval,
    by: ByVectors,
    engine: Engine,
    overwrite: bool,
) -> tuple[str, dict[str, int], Sequence[str]]:
    from positionbias.dense.retrieve import retrieve_dense
    from positionbias.dense.vectors import Vectors

    if by.vectors is None or by.model is None:
        raise SettingError(
            "--model: wanted the model that made the vectors, with --vectors; found none; give it"
        )
    opened = Vectors(input_place(by.vectors))
    checkpoint = by.computing.load(by.model, by.kind)
    index, ann = by.search.index, replace(by.search.ann, threads=engine.workers)
    exact, config = index == "exact", by.computing.config
    with engine.open(gpus=exact and checkpoint.model.device.type == "cuda") as map_shards:
        done = retrieve_dense(
            checkpoint,
            opened,
            found,
            wanted,
            place,
            how=replace(by.search, ann=ann),
            config=config,
            overwrite=overwrite,
            map_shards=map_shards,
        )
    figures = done.figures
    if done.origin:
        say(
            f"{index} index {done.origin}, {figures.index_bytes / 1e6:,.1f} MB in memory and on "
            "disk"
        )
    rate = figures.queries / max(1e-9, done.seconds)
    say(
        f"{len(opened):,} vectors searched ({index}) in {done.seconds:,.1f} s: {rate:,.1f} "
        "queries/s"
    )
    if figures.empty_queries:
        say(f"{figures.empty_queries:,} of {figures.queries:,} queries have no text: no candidates")
    if figures.tied:
        say(
            f"{figures.tied:,} of {figures.queries:,} queries score all passages alike: these "
            "stand in the order of their ids"
        )
    if figures.short:
        depth = min(wanted.depth or DENSE_DEPTH, len(opened))
        more = {"hnsw": "a wider hnsw_search_width", "ivf": "more ivf_probes"}[index]
        say(
            f"{figures.short:,} of {figures.queries:,} queries have fewer than {depth:,} "
            f"candidates: {more} may find them"
        )
    if empty := opened.empty:
        say(f"{empty:,} passages are empty: they are ranked by the vector of an empty text")
    counts = {
        "queries": figures.queries,
        "candidates": figures.candidates,
        "queries without text": figures.empty_queries,
        "queries with fewer candidates than asked for": figures.short,
        "queries that score all passages alike": figures.tied,
    }
    return done.name, counts, done.own


@operation
def encode(
    collection: Source,
    *,
    model: Annotated[
        Place,
        Setting(
            "A model with one vector a text: a bert_dot checkpoint, a bi-encoder (a folder, a hub "
            "id), minilm, your own module:object, or an endpoint, as openai:NAME@URL.",
            metavar="MODEL",
            place="read",
        ),
    ],
    kind: Annotated[str | None, READ_AS] = None,
    allow_missing: Annotated[
        bool,
        Setting(
            "Leave out passages for which an endpoint gives no vector, and name them.",
            shown=False,
        ),
    ] = False,
    precision_on_disk: Annotated[
        OnDisk,
        Setting(
            "Of the vectors as they are kept. float16 takes half the space.",
            choices=ON_DISK,
            shown=False,
        ),
    ] = ON_DISK[0],
    computing: Computing = Computing(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Vectors:
    """Encode every passage of ``collection``, for posbias retrieve --vectors.

    Vectors are kept in shards of 8,192 passages. The same command goes on where an interrupted one
    was. Each of the --workers loads the model: on a GPU of its own while there are enough, on a CPU
    with its share of the threads.

    Returns:
        The vectors.

    Raises:
        SettingError: a model with several vectors a text, or one that compares by a distance; a GPU
            that is not there.
        InputError: no such collection or model, or a vector that is not finite, or too large or too
            small for float16.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> pb.encode("planted", model="dot.ckpt", out="vectors")
        Vectors('vectors', 240 passages, 16 wide)
    """
    from positionbias.core.collection import find_collection
    from positionbias.dense.encode import encode_collection
    from positionbias.models.protocols import known_room

    loading = computing.loading(model, kind)
    checkpoint = loading()
    found, place = find_collection(collection), output_place(out)
    began = time.perf_counter()
    with model_workers(engine, loading, checkpoint) as spread:
        made = encode_collection(
            checkpoint,
            found,
            place,
            on_disk=precision_on_disk,
            config=computing.config,
            overwrite=overwrite,
            spread=spread,
            allow_missing=allow_missing,
        )
    rate = len(made) / max(1e-9, time.perf_counter() - began)
    limit = f"; {made.truncated:,} passages fill the model's limit, and may go on behind it"
    say(f"{rate:,.0f} passages/s{'' if known_room(checkpoint.model) is None else limit}")
    if made.empty:
        say(f"{made.empty:,} passages are empty: they have the vector of an empty text")
    if made.missing:
        say(
            f"{len(made.missing):,} passages have no vector: no search finds them, and the "
            "manifest names them (content, missing)"
        )
    if made.zeros:
        say(f"{made.zeros:,} passages with text have a vector of zeros: they tie for every query")
    there = pasted(place)
    hint(
        f"written to {there}; next: posbias retrieve {pasted(found.path)} --vectors {there} "
        f"--model {model} --split SPLIT --out RUN"
    )
    return made
