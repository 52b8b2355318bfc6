"""Dense retrieval: rank passages by inner product with each query of a split, as a Run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.computed import Stopwatch
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, write_manifest
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.retrieval import Retrieval
from positionbias.core.run import Ranking, write_rankings
from positionbias.dense.approximate import open_ann
from positionbias.dense.exact import Found, exact_search, queries_at_once
from positionbias.dense.queries import DenseQueries, query_blocks
from positionbias.dense.settings import ANN, DENSE_DEPTH, MEMORY, DenseSearch
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.spent import computed_on
from positionbias.results.runs import DenseFigures

__all__ = ["DenseRetrieved", "retrieve_dense"]

_NOTES = (
    "ties in the score go to the higher passage id",
    "a query without text has no candidates; an empty passage is ranked by the vector of an empty text",
)


class DenseRetrieved(NamedTuple):
    """The counts of a retrieval, under the run's name. ``origin``: how an index was obtained; ``seconds``: time of the search."""

    name: str
    figures: DenseFigures
    origin: str
    seconds: float


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
) -> DenseRetrieved:
    """Rank all passages for every query of a split by the inner product of their vectors, and write the run with its manifest.

    "exact" scores every vector, on the model's device; "hnsw" and "ivf" score those that an index finds. Queries are read and encoded
    in blocks, so that memory does not grow with their number.

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
    search = _search(vectors, depth, how, encoder)
    asked = query_blocks(encoder, chain(first, texts), search.at_once)
    counts = _Counts()
    watch = Stopwatch()
    with atomic_file(out, overwrite=overwrite) as partial:
        inputs = (
            ("collection", collection.path, collection.checksum),
            ("model", checkpoint.path, checkpoint.manifest.checksum),
            ("vectors", vectors.path, vectors.checksum),
        )
        manifest = Manifest(
            kind="run",
            name=name,
            command="retrieve",
            settings={"split": split, "depth": depth, "index": how.index, **search.facts},
            inputs=tuple(input_ref(role, path, checksum, artefact=out) for role, path, checksum in inputs),
            licence=collection.manifest.licence,
            notes=_NOTES,
            versions=package_versions("torch", *(["faiss-cpu"] if how.index in ANN else [])),
        )
        rankings = _rankings(asked, search, vectors, min(depth, len(vectors)), counts)
        queries, pairs = write_rankings(partial, name, rankings, header=wanted.header.lines(manifest))
        spent = watch.spent()
        seconds = spent.seconds - counts.encoding
        spent = replace(spent, seconds=seconds)
        products = queries * len(vectors) if how.index == "exact" else 0
        counted = {"queries": queries, "pairs": pairs, "empty_queries": counts.empty, "short_queries": counts.short}
        manifest = replace(
            manifest,
            content={
                "checksum": sha256_file(partial),
                "ending": asdict(checkpoint.ending),
                **counted,
                **({} if encoder.of_queries is None else {"int8_agreement": asdict(encoder.of_queries)}),
            },
            provenance=provenance(
                device=str(encoder.model.device),
                seconds=round(seconds, 3),
                **computed_on(encoder.model.device, spent, products=products).facts(),
            ),
        )
        write_manifest(manifest_path(partial), manifest)
    figures = DenseFigures(
        queries=queries,
        candidates=pairs,
        empty_queries=counts.empty,
        short=counts.short,
        index=how.index,
        index_bytes=search.size,
    )
    return DenseRetrieved(name, figures, search.origin, seconds)


@dataclass(slots=True)
class _Counts:
    """The numbers of queries without a text and with too few passages; the seconds of encoding."""

    empty: int = 0
    short: int = 0
    encoding: float = 0.0


class _Search(NamedTuple):
    """A search by query vectors, ``at_once`` in one pass; its settings; the origin and bytes of its index."""

    find: Callable[[np.ndarray], Iterator[Found]]
    at_once: int
    facts: JsonObject
    origin: str = ""
    size: int = 0


def _search(vectors: Vectors, depth: int, how: DenseSearch, encoder: SingleVectors) -> _Search:
    if how.index != "exact" and len(vectors):  # no vectors, no index
        opened, facts = open_ann(vectors, how.index, how.ann), how.ann.facts(how.index, len(vectors), depth)
        find = partial(opened.search, vectors, depth=depth, kind=how.index, settings=how.ann)
        return _Search(find, 0, facts, opened.origin, opened.bytes)
    memory = MEMORY if how.memory is None else how.memory
    at_once = queries_at_once(memory, min(depth, len(vectors)), vectors.dimension)
    return _Search(partial(exact_search, vectors, depth=depth, memory=memory, device=encoder.model.device), at_once, {})


def _rankings(
    blocks: Iterator[DenseQueries], search: _Search, vectors: Vectors, wanted: int, counts: _Counts
) -> Iterator[Ranking]:
    """Yield the rankings of all queries, encoded block by block."""
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
