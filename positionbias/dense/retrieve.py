"""Dense retrieval: a split's queries as vectors, and for each the passages of the highest inner product, as a Run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import refuse_existing, sha256_file
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, write_manifest
from positionbias.core.payloads import Statistics
from positionbias.core.result import Result
from positionbias.core.run import write_rankings
from positionbias.dense.approximate import ANN, AnnSettings, open_ann
from positionbias.dense.exact import Found, exact_search
from positionbias.dense.queries import DenseQueries
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vectors import Vectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.ranking.config import RankingConfig

__all__ = ["DENSE_DEPTH", "INDEXES", "DenseRetrieved", "Index", "retrieve_dense"]

Index = Literal["exact", "hnsw", "ivf"]
INDEXES: tuple[Index, ...] = get_args(Index)
DENSE_DEPTH = 1_000
_NOTES = (
    "ties in the score go to the higher passage id",
    "a query without text has no candidates; an empty passage is ranked by the vector of an empty text",
)


class DenseRetrieved(NamedTuple):
    """Where the run is, and what was counted. ``origin``: where an approximate index came from; ``size``: its bytes; seconds of the search."""

    path: Path
    name: str
    queries: int
    pairs: int
    empty_queries: int
    searched: str
    origin: str
    size: int
    seconds: float

    def result(self, collection: str, split: str) -> Result:
        """The counts as a Result; its value is the number of candidates a query, on average."""
        rows = {
            "queries": self.queries,
            "candidates": self.pairs,
            "empty queries": self.empty_queries,
            "index": self.searched,
            "index bytes": self.size,
        }
        mean = self.pairs / self.queries if self.queries else None
        return Result("candidates", collection, split, self.name, None, mean, None, self.queries, Statistics(rows))


def retrieve_dense(
    checkpoint: Checkpoint,
    vectors: Vectors,
    collection: Collection,
    split: str,
    depth: int,
    out: Path,
    *,
    index: str = "exact",
    settings: AnnSettings | None = None,
    memory: float = 1.0,
    name: str | None = None,
    config: RankingConfig | None = None,
    overwrite: bool = False,
) -> DenseRetrieved:
    """Rank all passages for every query of a split by the inner product of their vectors, and write the run with its manifest.

    "exact" looks at every vector, in ``memory`` GiB, on the model's device; "hnsw" and "ivf" at what an index gives, by ``settings``.

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
    refuse_existing(out, overwrite=overwrite)
    encoder = SingleVectors(checkpoint, config)
    vectors.check(checkpoint, collection)
    name = name or checkpoint.name
    asked = DenseQueries.encoded(encoder, collection.query_texts(split))
    search = _search(vectors, asked.vectors, depth, index, settings or AnnSettings(), memory, encoder)
    began = time.perf_counter()
    queries, pairs = write_rankings(out, name, asked.rankings(search.found, vectors.ids_at), overwrite=overwrite)
    seconds = time.perf_counter() - began
    inputs = (
        ("collection", collection.path, collection.checksum),
        ("model", checkpoint.path, checkpoint.manifest.content["checksum"]),
        ("vectors", vectors.path, vectors.checksum),
    )
    manifest = Manifest(
        kind="run",
        name=name,
        command="retrieve",
        settings={"split": split, "depth": depth, "index": index, **search.facts},
        inputs=tuple(input_ref(role, path, checksum, artefact=out) for role, path, checksum in inputs),
        content={"checksum": sha256_file(out), "queries": queries, "pairs": pairs, "empty_queries": len(asked.empty)},
        licence=collection.manifest.licence,
        notes=_NOTES,
        versions=package_versions("torch", *(["faiss-cpu"] if index in ANN else [])),
        provenance=provenance(device=str(encoder.model.device), seconds=round(seconds, 3)),
    )
    write_manifest(manifest_path(out), manifest)
    return DenseRetrieved(out, name, queries, pairs, len(asked.empty), index, search.origin, search.size, seconds)


class _Search(NamedTuple):
    """What a search finds, a query after another; its settings; where its index came from, and its bytes."""

    found: Iterator[Found]
    facts: dict[str, Any]
    origin: str = ""
    size: int = 0


def _search(
    vectors: Vectors,
    queries: np.ndarray,
    depth: int,
    index: str,
    settings: AnnSettings,
    memory: float,
    encoder: SingleVectors,
) -> _Search:
    for kind in ANN:
        if index == kind and len(vectors):  # of nothing there is no index
            opened = open_ann(vectors, kind, settings)
            found = opened.search(vectors, queries, depth, kind, settings)
            return _Search(found, settings.facts(kind, len(vectors), depth), opened.origin, opened.bytes)
    return _Search(exact_search(vectors, queries, depth, memory=memory, device=encoder.model.device), {})
