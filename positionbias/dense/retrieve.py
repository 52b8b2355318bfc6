"""Dense retrieval: rank passages by inner product with each query of a split, as a Run.

Queries are searched in turns, as many at once as memory allows; a turn is the unit that other
processes take, and that an interrupted search goes on from.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
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
from positionbias.core.steps import MapShards, make_shards
from positionbias.dense.approximate import AnnIndex, open_ann
from positionbias.dense.exact import Found, exact_search, queries_at_once
from positionbias.dense.queries import QUERY_BLOCK, DenseQueries, query_blocks
from positionbias.dense.settings import DENSE_DEPTH, MEMORY, ByVectors, DenseSearch
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vectors import Vectors, opened_everywhere
from positionbias.engine.choose import Engine
from positionbias.engine.per_process import PerProcess
from positionbias.firststage.bm25 import Ranked
from positionbias.firststage.own_passages import without_own
from positionbias.firststage.retrieval import Retrieval
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.loading import pick_device

Find = Callable[[np.ndarray], Iterator[Found]]
_TURNS = ".turns"
_NOTES = (
    "ties in the score go to the higher passage id",
    (
        "a query without text has no candidates; an empty passage is ranked by the vector of an "
        "empty text"
    ),
)


@dataclass(slots=True)
class DenseCounts:
    """The numbers of queries, candidates and queries without a text; of queries with fewer
    candidates than asked for and available (``short``), and of those that score all their
    candidates alike (``tied``). ``own`` are queries that found the passage with their own id.
    """

    queries: int = 0
    candidates: int = 0
    empty: int = 0
    short: int = 0
    tied: int = 0
    own: list[str] = field(default_factory=list)

    def add(self, ranking: Ranking, depth: int, *, empty: bool) -> None:
        """Count what is special of a ranking, which may have ``depth`` passages."""
        self.empty += empty
        self.short += len(ranking.passage_ids) < depth and not empty
        self.tied += len(ranking.scores) > 1 and bool(np.ptp(ranking.scores) == 0)
        if ranking.query_id in ranking.passage_ids:
            self.own.append(ranking.query_id)


class DenseRetrieved(NamedTuple):
    """The counts of a retrieval, under the run's name; the approximate index, if one was searched;
    the seconds of encoding queries and searching.
    """

    name: str
    counts: DenseCounts
    searched: AnnIndex | None
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
    map_shards: MapShards = map,
) -> DenseRetrieved:
    """Rank all passages for every query of a split by the inner product of their vectors, and write
    the run with its manifest.

    "exact" scores every vector, on the model's device; "hnsw" and "ivf" score those that an index
    finds, in this process. Queries are read and encoded in blocks, so that memory does not grow
    with their number.

    Raises:
        DependencyError: an approximate index needs faiss, which is not installed.
        InputError: no such split, or vectors of another model or of other passages.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        SettingError: too little memory, or a model with several vectors a text.
    """
    refuse_existing(out, overwrite=overwrite, folder=False)
    how, encoder = how or DenseSearch(), SingleVectors(checkpoint, config)
    vectors.check(checkpoint, collection)
    name, split, depth = wanted.name or checkpoint.name, wanted.split, wanted.depth or DENSE_DEPTH
    texts = collection.query_texts(split)
    first = list(islice(texts, 1))  # report a missing split before an index is built
    most = min(depth + wanted.without_own + len(vectors.missing), len(vectors))
    find: Find
    index, facts, at_once = None, dict[str, int](), QUERY_BLOCK
    if how.index == "exact" or not len(vectors):  # no vectors, no index
        memory = MEMORY if how.memory is None else how.memory
        at_once = queries_at_once(memory, most, vectors.dimension)
        device = encoder.model.device.type
        find = _Exact(opened_everywhere(vectors), most, memory, device)
    else:
        index = open_ann(vectors, how.index, how.ann)
        facts = how.ann.facts(how.index, len(vectors), most)
        find = partial(index.search, vectors, depth=most, kind=how.index, settings=how.ann)
        map_shards = map
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
            **facts,
            "shape": shape_of(checkpoint.model),
        },
        inputs=tuple(
            input_ref(role, path, checksum, artefact=out) for role, path, checksum in inputs
        ),
        licence=collection.manifest.licence,
        notes=(*checkpoint.manifest.notes, *_NOTES),
        versions=package_versions("torch", *(["faiss-cpu"] if index else [])),
    )
    job: JsonObject = {
        "command": "retrieve",
        "settings": manifest.settings,
        "inputs": [checksum for *_, checksum in inputs],
    }
    began, counts = time.perf_counter(), DenseCounts()
    with resumable_folder(out, job, overwrite=overwrite, folder=False) as folder:
        made, turns = folder / out.name, folder / _TURNS
        turns.mkdir(exist_ok=True)
        asked = query_blocks(encoder, chain(first, texts), at_once)
        searched = _rankings(asked, _Turn(find), turns, vectors, map_shards)
        rankings = _counted(searched, vectors, most, counts)
        if wanted.without_own:
            rankings = (without_own(ranking, depth) for ranking in rankings)
        counts.queries, counts.candidates = write_rankings(made, name, rankings, overwrite=True)
        seconds = time.perf_counter() - began
        counted = {
            "queries": counts.queries,
            "pairs": counts.candidates,
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
    return DenseRetrieved(name, counts, index, seconds)


@dataclass(frozen=True, slots=True)
class _Exact:
    """Exact search within ``memory`` GiB in any process, on this kind of device."""

    vectors: PerProcess[Vectors]
    depth: int
    memory: float
    device: str

    def __call__(self, queries: np.ndarray) -> Iterator[Found]:
        device = pick_device(self.device)
        return exact_search(self.vectors(), queries, self.depth, memory=self.memory, device=device)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A search for some queries, into a file."""

    find: Find

    def __call__(self, asked: DenseQueries, path: Path) -> int:
        every = list(self.find(asked.vectors))
        with open(path, "wb") as handle:
            np.save(handle, np.array([len(rows) for rows, _ in every], np.int64))
            np.save(handle, np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in every)]))
            np.save(
                handle, np.concatenate([np.empty(0, np.float32), *(scores for _, scores in every)])
            )
        return len(every)


def _read_turn(path: Path) -> Iterator[Found]:
    with open(path, "rb") as handle:
        counts, rows, scores = (np.load(handle) for _ in range(3))
    ends = np.cumsum(counts)[:-1]
    return zip(np.split(rows, ends), np.split(scores, ends), strict=True)


def _rankings(
    blocks: Iterable[DenseQueries],
    search: _Turn,
    folder: Path,
    vectors: Vectors,
    map_shards: MapShards,
) -> Iterator[tuple[Ranking, bool]]:
    """Yield the rankings of all queries, each with whether it has no text."""
    waiting = deque[DenseQueries]()

    def asked() -> Iterator[DenseQueries]:
        for block in blocks:
            waiting.append(block)
            yield block

    def target(turn: int) -> Path:
        return folder / f"{turn:05}"

    for turn, _ in enumerate(make_shards(int, search, asked(), target, map_shards)):
        block = waiting.popleft()
        for ranking in block.rankings(_read_turn(target(turn)), vectors.ids_at):
            yield ranking, ranking.query_id in block.empty


def _counted(
    rankings: Iterable[tuple[Ranking, bool]], vectors: Vectors, depth: int, counts: DenseCounts
) -> Iterator[Ranking]:
    """Count rankings, and leave out passages that have no vector."""
    depth -= len(vectors.missing)
    for ranking, empty in rankings:
        if vectors.missing:
            ids = ranking.passage_ids
            keep = [at for at, name in enumerate(ids) if name not in vectors.missing][:depth]
            known = [ids[at] for at in keep]
            ranking = ranking._replace(passage_ids=known, scores=ranking.scores[keep])
        counts.add(ranking, depth, empty=empty)
        yield ranking


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
    exact = index == "exact"
    with engine.open(gpus=exact and checkpoint.model.device.type == "cuda") as map_shards:
        name, counts, searched, seconds = retrieve_dense(
            checkpoint,
            opened,
            collection,
            wanted,
            out,
            how=replace(by.search, ann=ann),
            config=by.computing.config,
            overwrite=overwrite,
            map_shards=map_shards,
        )
    if searched is not None:
        size = searched.bytes / 1e6
        say(f"{index} index {searched.origin}, {size:,.1f} MB in memory and on disk")
    rate = counts.queries / max(1e-9, seconds)
    say(f"{len(opened):,} vectors searched ({index}) in {seconds:,.1f} s: {rate:,.1f} queries/s")
    of_all = f"of {counts.queries:,} queries"
    if counts.empty:
        say(f"{counts.empty:,} {of_all} have no text: no candidates")
    if counts.tied:
        say(
            f"{counts.tied:,} {of_all} score all their candidates alike: these stand in the order "
            "of their ids"
        )
    if counts.short:
        depth = min(wanted.depth or DENSE_DEPTH, len(opened))
        more = {"hnsw": "a wider hnsw_search_width", "ivf": "more ivf_probes"}[index]
        say(f"{counts.short:,} {of_all} have fewer than {depth:,} candidates: {more} may find them")
    if empty := opened.empty:
        say(f"{empty:,} passages are empty: they are ranked by the vector of an empty text")
    rows = {
        "queries": counts.queries,
        "candidates": counts.candidates,
        "queries without text": counts.empty,
        "queries with fewer candidates than asked for": counts.short,
        "queries that score all candidates alike": counts.tied,
    }
    return Ranked(name, rows, counts.own)
