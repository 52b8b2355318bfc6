"""Dense retrieval: rank passages by inner product with each query of a split, as a Run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.places import input_place
from positionbias.core.progress import say
from positionbias.core.publish import refuse_existing, resumable_folder
from positionbias.core.rank_order import Ranking
from positionbias.core.run_files import write_rankings
from positionbias.core.steps import MapShards
from positionbias.dense.approximate import AnnRange, IndexOpener, OpenedIndex, check_faiss
from positionbias.dense.by_range import RANGE, ByRange, ExactRange, RangeFinder
from positionbias.dense.exact import queries_at_once
from positionbias.dense.passage_blocks import Rows
from positionbias.dense.queries import QUERY_BLOCK, DenseQueries, query_blocks
from positionbias.dense.settings import (
    ANN,
    DENSE_DEPTH,
    MEMORY,
    Ann,
    AnnSettings,
    ByVectors,
    DenseSearch,
)
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vector_range import cut_ranges, opened_everywhere
from positionbias.dense.vectors import Vectors
from positionbias.engine.choose import Engine
from positionbias.firststage.bm25 import Ranked
from positionbias.firststage.own_passages import without_own
from positionbias.firststage.retrieval import Retrieval
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.ranking.config import RankingConfig

_WORK = ".search"
_NOTES = (
    "ties in the score go to the higher passage id",
    (
        "a query without text has no candidates; an empty passage is ranked by the vector of an "
        "empty text"
    ),
)


class DenseCounts(NamedTuple):
    """``short`` counts queries with fewer candidates than asked for and available, ``tied`` those
    that score all passages alike.
    """

    queries: int
    candidates: int
    empty_queries: int
    short: int
    tied: int
    index_bytes: int


class DenseRetrieved(NamedTuple):
    """The counts of a retrieval, under the run's name. ``origin``: how an index was obtained;
    ``seconds``: time of the search; ``own``: queries that found the passage with their own id."""

    name: str
    figures: DenseCounts
    origin: str
    seconds: float
    own: Sequence[str]


def retrieve_dense(
    checkpoint: Checkpoint,
    vectors: Vectors,
    collection: Collection,
    wanted: Retrieval,
    out: Path,
    *,
    how: DenseSearch | None = None,
    config: RankingConfig | None = None,
    overwrite: bool = False,
    map_shards: MapShards = map,
) -> DenseRetrieved:
    """Rank all passages for every query of a split by the inner product of their vectors, and write
    the run with its manifest.

    "exact" scores every vector, on the model's device; "hnsw" and "ivf" score those that an index
    finds. Queries are read and encoded in blocks, so that memory does not grow with their number.
    ``map_shards`` has other processes search ranges of the vectors, or the shards of an index. An
    interrupted search goes on with what is left of them.

    Raises:
        DependencyError: an approximate index needs faiss, which is not installed.
        InputError: no such split, or vectors of another model or of other passages.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        SettingError: too little memory, or a model with several vectors a text.
    """
    refuse_existing(out, overwrite=overwrite, folder=False)
    encoder = SingleVectors(checkpoint, config)
    vectors.check(checkpoint, collection)
    name, split, depth = wanted.name or checkpoint.name, wanted.split, wanted.depth or DENSE_DEPTH
    how = how or DenseSearch()
    texts = collection.query_texts(split)
    first = list(islice(texts, 1))  # report a missing split before an index is built
    plan = _plan(
        vectors, depth + wanted.without_own + len(vectors.missing), how, encoder, map_shards
    )
    asked = query_blocks(encoder, chain(first, texts), plan.at_once)
    counts = _Counts()
    inputs = (
        ("collection", collection.path, collection.checksum),
        ("model", checkpoint.path, checkpoint.manifest.checksum),
        ("vectors", vectors.path, vectors.checksum),
    )
    manifest = Manifest(
        kind="run",
        name=name,
        command="retrieve",
        settings={
            "split": split,
            "depth": depth,
            **({"without_own": True} if wanted.without_own else {}),
            "index": how.index,
            **plan.facts,
            "shape": shape_of(checkpoint.model),
        },
        inputs=tuple(
            input_ref(role, path, checksum, artefact=out) for role, path, checksum in inputs
        ),
        licence=collection.manifest.licence,
        notes=(*checkpoint.manifest.notes, *_NOTES),
        versions=package_versions("torch", *(["faiss-cpu"] if how.index in ANN else [])),
    )
    job: JsonObject = {
        "command": "retrieve",
        "settings": manifest.settings,
        "inputs": [checksum for *_, checksum in inputs],
    }
    began = time.perf_counter()
    with resumable_folder(out, job, overwrite=overwrite, folder=False) as folder:
        made = folder / out.name
        search = ByRange(
            folder / _WORK,
            vectors,
            plan.ranges,
            plan.find,
            at_once=plan.at_once,
            map_shards=map_shards,
        )
        rankings = _rankings(asked, search, vectors, counts)
        if wanted.without_own:
            rankings = (without_own(ranking, depth) for ranking in rankings)
        queries, pairs = write_rankings(made, name, rankings, overwrite=True)
        seconds = time.perf_counter() - began - counts.encoding
        counted = {
            "queries": queries,
            "pairs": pairs,
            "empty_queries": counts.empty,
            "short_queries": counts.short,
            "tied_queries": counts.tied,
        }
        manifest = replace(
            manifest,
            content={
                "checksum": sha256_file(made),
                "ending": asdict(checkpoint.ending),
                **counted,
            },
            provenance=provenance(device=str(encoder.model.device), seconds=round(seconds, 3)),
        )
        write_manifest(manifest_path(made), manifest)
    figures = DenseCounts(
        queries, pairs, counts.empty, counts.short, counts.tied, index_bytes=plan.size
    )
    return DenseRetrieved(name, figures, plan.origin, seconds, counts.own)


@dataclass(slots=True)
class _Counts:
    """The numbers of queries without a text, with too few passages and with one score for all;
    queries that found the passage with their id; the seconds of encoding."""

    empty: int = 0
    short: int = 0
    tied: int = 0
    own: list[str] = field(default_factory=list)
    encoding: float = 0.0


class _Plan(NamedTuple):
    """The ranges of the vectors and their search, for ``at_once`` queries in a turn; its settings;
    the origin and bytes of its indexes.
    """

    ranges: list[Rows]
    find: RangeFinder
    at_once: int
    facts: JsonObject
    origin: str = ""
    size: int = 0


def _plan(
    vectors: Vectors, depth: int, how: DenseSearch, encoder: SingleVectors, map_shards: MapShards
) -> _Plan:
    if how.index != "exact" and len(vectors):  # no vectors, no index
        return _index_plan(vectors, depth, how.index, how.ann, map_shards)
    memory = MEMORY if how.memory is None else how.memory
    at_once = queries_at_once(memory, min(depth, len(vectors)), vectors.dimension)
    return _Plan(
        cut_ranges(vectors, RANGE),
        ExactRange(depth, memory, encoder.model.device.type),
        at_once,
        {},
    )


def _index_plan(
    vectors: Vectors, depth: int, kind: Ann, settings: AnnSettings, map_shards: MapShards
) -> _Plan:
    """Open the index of each part of the vectors."""
    check_faiss(kind)
    if settings.shards > 1:
        settings = replace(settings, threads=1)  # so that the number of workers changes nothing
    ranges = cut_ranges(
        vectors, -(-len(vectors.shard_paths) // settings.shards) * vectors.shard_size
    )
    find = AnnRange(depth, kind, settings)
    opened: list[OpenedIndex] = list(
        map_shards(IndexOpener(opened_everywhere(vectors), find), ranges)
    )
    origins = Counter(index.origin for index in opened)
    origin = ", ".join(
        name if len(origins) == 1 else f"{count} {name}" for name, count in origins.items()
    )
    facts = settings.facts(kind, ranges[0].last, depth)
    return _Plan(ranges, find, QUERY_BLOCK, facts, origin, sum(index.size for index in opened))


def _rankings(
    blocks: Iterator[DenseQueries], search: ByRange, vectors: Vectors, counts: _Counts
) -> Iterator[Ranking]:
    """Yield the rankings of all queries, encoded block by block."""
    while True:
        began = time.perf_counter()
        asked = next(blocks, None)
        counts.encoding += time.perf_counter() - began
        if asked is None:
            return
        counts.empty += len(asked.empty)
        for found in asked.rankings(search.search(asked.vectors), vectors.ids_at):
            depth = search.depth - len(vectors.missing)
            ranking = _without(found, vectors.missing, depth) if vectors.missing else found
            counts.short += len(ranking.passage_ids) < depth and ranking.query_id not in asked.empty
            counts.tied += len(ranking.scores) > 1 and bool(np.ptp(ranking.scores) == 0)
            if ranking.query_id in ranking.passage_ids:
                counts.own.append(ranking.query_id)
            yield ranking


def _without(ranking: Ranking, missing: Container[str], depth: int) -> Ranking:
    """Return the first ``depth`` passages of a ranking that have a vector."""
    keep = [place for place, name in enumerate(ranking.passage_ids) if name not in missing][:depth]
    return Ranking(
        ranking.query_id, [ranking.passage_ids[place] for place in keep], ranking.scores[keep]
    )


def rank_by_vectors(
    collection: Collection,
    out: Path,
    wanted: Retrieval,
    by: ByVectors,
    engine: Engine,
    *,
    overwrite: bool,
) -> Ranked:
    """Write a run by vectors, and say how it was made.

    Raises:
        SettingError: no vectors, or no model.
    """
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
            collection,
            wanted,
            out,
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
    return Ranked(done.name, counts, done.own)
