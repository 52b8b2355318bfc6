"""Dense retrieval: a split's queries as vectors, and for each the passages of the highest inner product, as a Run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, write_manifest
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.run import Ranking, write_rankings
from positionbias.dense.approximate import open_ann
from positionbias.dense.exact import Found, exact_search, queries_at_once
from positionbias.dense.queries import DenseQueries, query_blocks
from positionbias.dense.settings import ANN, INDEXES, MEMORY, AnnSettings
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import RankingConfig
from positionbias.results.result import Result
from positionbias.results.runs import CANDIDATES, DenseFigures

__all__ = ["DenseRetrieved", "retrieve_dense"]

_NOTES = (
    "ties in the score go to the higher passage id",
    "a query without text has no candidates; an empty passage is ranked by the vector of an empty text",
)


class DenseRetrieved(NamedTuple):
    """Where the run is, and what was counted. ``short``: queries with a text for which fewer were found than were asked for and are there.
    ``origin``: where an approximate index came from; ``size``: its bytes; seconds of the search."""

    path: Path
    name: str
    queries: int
    pairs: int
    empty_queries: int
    short: int
    searched: str
    origin: str
    size: int
    seconds: float

    def result(self, collection: str, split: str) -> Result:
        """The counts as a Result; its value is the number of candidates a query, on average."""
        figures = DenseFigures(
            queries=self.queries,
            candidates=self.pairs,
            empty_queries=self.empty_queries,
            short=self.short,
            index=self.searched,
            index_bytes=self.size,
        )
        mean = self.pairs / self.queries if self.queries else None
        return Result(CANDIDATES, collection, split, self.name, None, mean, None, self.queries, figures)


def retrieve_dense(
    checkpoint: Checkpoint,
    vectors: Vectors,
    collection: Collection,
    split: str,
    depth: int,
    out: Path,
    *,
    index: str = INDEXES[0],
    settings: AnnSettings | None = None,
    memory: float = MEMORY,
    name: str | None = None,
    config: RankingConfig | None = None,
    overwrite: bool = False,
) -> DenseRetrieved:
    """Rank all passages for every query of a split by the inner product of their vectors, and write the run with its manifest.

    "exact" looks at every vector, in ``memory`` GiB, on the model's device; "hnsw" and "ivf" at what an index gives, by ``settings``.
    Queries are read and encoded in blocks, so that their number needs no memory.

    Raises:
        DependencyError: an approximate index is asked for and faiss is not installed.
        InputError: no such split, or vectors of another model or of other passages.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        SettingError: ``depth`` is below 1, no such index, too little memory, or a model with several vectors a text.
    """
    if depth < 1:
        raise SettingError(f"--depth: wanted at least 1; found {depth}; give how many passages to keep a query")
    if index not in INDEXES:
        raise SettingError(f"--index: wanted one of {', '.join(INDEXES)}; found {index!r}; give one of these")
    refuse_existing(out, overwrite=overwrite, folder=False)
    encoder = SingleVectors(checkpoint, config)
    vectors.check(checkpoint, collection)
    name = name or checkpoint.name
    texts = collection.query_texts(split)
    first = list(islice(texts, 1))  # so that a split that is not there shows before an index is built
    search = _search(vectors, depth, index, settings or AnnSettings(), memory, encoder)
    asked = query_blocks(encoder, chain(first, texts), search.at_once)
    counts = _Counts()
    began = time.perf_counter()
    with atomic_file(out, overwrite=overwrite) as partial:
        rankings = _rankings(asked, search, vectors, min(depth, len(vectors)), counts)
        queries, pairs = write_rankings(partial, name, rankings)
        seconds = time.perf_counter() - began - counts.encoding
        counted = {"queries": queries, "pairs": pairs, "empty_queries": counts.empty, "short_queries": counts.short}
        inputs = (
            ("collection", collection.path, collection.checksum),
            ("model", checkpoint.path, checkpoint.manifest.checksum),
            ("vectors", vectors.path, vectors.checksum),
        )
        manifest = Manifest(
            kind="run",
            name=name,
            command="retrieve",
            settings={"split": split, "depth": depth, "index": index, **search.facts},
            inputs=tuple(input_ref(role, path, checksum, artefact=out) for role, path, checksum in inputs),
            content={"checksum": sha256_file(partial), "ending": asdict(checkpoint.ending), **counted},
            licence=collection.manifest.licence,
            notes=_NOTES,
            versions=package_versions("torch", *(["faiss-cpu"] if index in ANN else [])),
            provenance=provenance(device=str(encoder.model.device), seconds=round(seconds, 3)),
        )
        write_manifest(manifest_path(partial), manifest)
    return DenseRetrieved(out, name, queries, pairs, counts.empty, counts.short, index, search.origin, search.size, seconds)


@dataclass(slots=True)
class _Counts:
    """What was met on the way: queries without a text, those with fewer passages than were asked for; seconds of their encoding."""

    empty: int = 0
    short: int = 0
    encoding: float = 0.0


class _Search(NamedTuple):
    """Finds passages for vectors of queries, ``at_once`` of them in one pass; its settings; where its index came from, and its bytes."""

    find: Callable[[np.ndarray], Iterator[Found]]
    at_once: int
    facts: JsonObject
    origin: str = ""
    size: int = 0


def _search(vectors: Vectors, depth: int, index: str, settings: AnnSettings, memory: float, encoder: SingleVectors) -> _Search:
    for kind in ANN:
        if index == kind and len(vectors):  # of nothing there is no index
            opened, facts = open_ann(vectors, kind, settings), settings.facts(kind, len(vectors), depth)
            find = partial(opened.search, vectors, depth=depth, kind=kind, settings=settings)
            return _Search(find, 0, facts, opened.origin, opened.bytes)
    at_once = queries_at_once(memory, min(depth, len(vectors)), vectors.dimension)
    return _Search(partial(exact_search, vectors, depth=depth, memory=memory, device=encoder.model.device), at_once, {})


def _rankings(
    blocks: Iterator[DenseQueries], search: _Search, vectors: Vectors, wanted: int, counts: _Counts
) -> Iterator[Ranking]:
    """The rankings of all queries, a block of them encoded after another."""
    while True:
        began = time.perf_counter()
        asked = next(blocks, None)
        counts.encoding += time.perf_counter() - began
        if asked is None:
            return
        counts.empty += len(asked.empty)
        for ranking in asked.rankings(search.find(asked.vectors), vectors.ids_at):
            counts.short += len(ranking.passage_ids) < wanted and ranking.query_id not in asked.empty
            yield ranking
