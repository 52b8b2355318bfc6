"""Search a collection's passages by BM25, with bm25s or Lucene; each keeps its index in the
collection's cache and uses our tie rule.

    score(q, p) = Σ_{t in q} idf(t) · f / (f + k1 · (1 − b + b · |p| / mean|p|)),
    idf(t) = ln(1 + (N − n + ½) / (n + ½))

f: how often t occurs in p; |p|: the number of terms in p; N: passages; n: passages with t. Repeated
query terms count repeatedly. bm25s computes exactly this (its method "lucene"); Lucene rounds
lengths to a byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, or_closest
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, manifest_path, write_manifest
from positionbias.core.progress import say
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.steps import MapShards
from positionbias.engine.choose import Engine
from positionbias.firststage.bm25s_index import open_bm25s
from positionbias.firststage.lucene import open_lucene
from positionbias.firststage.own_passages import own_queries, without_own
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import BACKENDS, Bm25Search, Bm25Settings

DEPTH = 100  # passages kept per query


class Bm25Index(Protocol):
    """Interface of both backends: an index, its origin, its builder, and a run of queries."""

    facts: JsonObject
    origin: str
    versions: Mapping[str, str]
    provenance: JsonObject

    def run(self, name: str, queries: Sequence[Query], depth: int) -> Run: ...


def open_index(
    collection: Collection,
    settings: Bm25Settings,
    *,
    backend: str = "bm25s",
    workers: int = 1,
    map_shards: MapShards = map,
) -> Bm25Index:
    """Return the collection's index: from its cache if valid, else built and kept there.

    bm25s reads words and searches with ``map_shards``, Lucene with ``workers`` threads. Neither
    changes a ranking.

    Raises:
        DependencyError: Lucene is asked for and its extra is not installed.
        InputError: no passage of the collection has a word.
        SettingError: no such backend.
    """
    if backend not in BACKENDS:
        raise SettingError(
            f"--backend: wanted one of {', '.join(BACKENDS)}; found {backend!r}; "
            f"{or_closest(backend, BACKENDS, 'give one of these')}"
        )
    if backend == "lucene":
        return open_lucene(collection, settings, workers)
    return open_bm25s(collection, settings, map_shards)


def search(index: Bm25Index, queries: Sequence[Query], depth: int, *, name: str = "bm25") -> Run:
    """Return the Run of these queries; a query that shares no term with any passage gets an empty
    ranking.

    Raises:
        SettingError: ``depth`` is below 1.
    """
    if depth < 1:
        raise SettingError(
            f"--depth: wanted at least 1; found {depth}; give the number of passages to keep per "
            "query"
        )
    return index.run(name, queries, depth)


def retrieve(
    collection: Collection,
    queries: Sequence[Query],
    depth: int,
    settings: Bm25Settings,
    *,
    name: str = "bm25",
    backend: str = "bm25s",
) -> Run:
    """Rank the collection's passages for each query by BM25, down to ``depth``.

    Queries without a known term get an empty ranking.

    Raises:
        InputError: no passage of the collection has a word.
        SettingError: a ``depth`` below 1, or no such backend.
    """
    return search(open_index(collection, settings, backend=backend), queries, depth, name=name)


class Retrieved(NamedTuple):
    """A run; ``without_known_term`` counts its queries with an empty ranking, ``origin`` says
    how the index was obtained. ``own``: queries that found the passage with their id.
    """

    run: Run
    without_known_term: int
    origin: str
    own: Sequence[str]


def retrieve_run(
    collection: Collection,
    wanted: Retrieval,
    settings: Bm25Settings,
    out: Path,
    *,
    overwrite: bool = False,
    backend: str = BACKENDS[0],
    workers: int = 1,
    map_shards: MapShards = map,
) -> Retrieved:
    """Rank the passages for every query of a split, and write the run with its manifest.

    Raises:
        DependencyError: Lucene is asked for and its extra is not installed.
        InputError: no such split, or no passage with a word in it.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        SettingError: no such backend.
    """
    refuse_existing(out, overwrite=overwrite, folder=False)
    name, depth = wanted.name or "bm25", wanted.depth or DEPTH
    queries = collection.queries(wanted.split)
    index = open_index(
        collection, settings, backend=backend, workers=workers, map_shards=map_shards
    )
    run = search(index, queries, depth + wanted.without_own, name=name)
    own, without = own_queries(run), sum(not one.passage_ids for one in run.rankings())
    if wanted.without_own:
        run = Run(name, (without_own(ranking, depth) for ranking in run.rankings()))
    with atomic_file(out, overwrite=overwrite) as partial:
        manifest = Manifest(
            kind="run",
            name=name,
            command="retrieve",
            settings={
                "split": wanted.split,
                "depth": depth,
                **({"without_own": True} if wanted.without_own else {}),
                **asdict(settings),
                **index.facts,
            },
            inputs=(input_ref("collection", collection.path, collection.checksum, artefact=out),),
            licence=collection.manifest.licence,
            notes=(
                (
                    "ties in the score go to the higher passage id; passages that share no term "
                    "with the query are not retrieved"
                ),
            ),
            versions=index.versions,
            provenance={**index.provenance, "workers": workers},
        )
        run.save(partial)
        content: JsonObject = {
            "checksum": sha256_file(partial),
            "queries": len(queries),
            "pairs": run.pairs,
            "queries_without_known_term": without,
        }
        write_manifest(manifest_path(partial), replace(manifest, content=content))
    return Retrieved(run, without, index.origin, own)


class Ranked(NamedTuple):
    """A run's name, what is counted of it, and its queries that found the passage with their id."""

    name: str
    counts: dict[str, int]
    own: Sequence[str]


def rank_by_bm25(
    collection: Collection,
    out: Path,
    wanted: Retrieval,
    search: Bm25Search,
    engine: Engine,
    *,
    overwrite: bool,
) -> Ranked:
    """Write a run by BM25, and say how it was made.

    Raises:
        SettingError: Lucene on another engine than this machine.
    """
    if search.backend == "lucene" and engine.name != "local":
        raise SettingError(
            f"--engine: wanted local with --backend lucene; found {engine.name!r}; leave it out, "
            "or use bm25s"
        )
    settings, backend = search.settings, search.backend
    with engine.open() as map_shards:
        done = retrieve_run(
            collection,
            wanted,
            settings,
            out,
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
    return Ranked(done.run.name, counts, done.own)
