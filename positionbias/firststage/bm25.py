"""BM25 by bm25s, with an index kept in the collection's cache and our tie rule.

    score(q, p) = Σ_{t in q} idf(t) · f / (f + k1 · (1 − b + b · |p| / mean|p|)),   idf(t) = ln(1 + (N − n + ½) / (n + ½))

f: how often t stands in p; |p|: the terms of p; N: passages; n: passages with t. A term that the query repeats counts
as often. This is bm25s's method "lucene": Lucene's scores, without its rounding of lengths to a byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, PositionBiasError, SettingError, StorageError
from positionbias.core.files import atomic_folder, refuse_existing, sha256_file
from positionbias.core.manifest import (
    MANIFEST,
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    read_manifest,
    write_manifest,
)
from positionbias.core.progress import step, track
from positionbias.core.records import Query
from positionbias.core.result import Result, Statistics
from positionbias.core.run import Run, write_run
from positionbias.firststage.terms import ANALYSIS, Analyzer, TermLists

__all__ = ["PRESETS", "Bm25Index", "Bm25Settings", "Retrieved", "open_index", "retrieve", "retrieve_run"]

_METHOD = "lucene"
_PLACES = "places.npy"


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """k1 (term-frequency saturation, ≥ 0) and b (length normalisation, 0 to 1); the defaults are Anserini's.

    Raises:
        SettingError: one of them is outside its range.
    """

    k1: float = 0.9
    b: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.k1 < float("inf"):
            raise SettingError(f"--k1: wanted a number from 0; found {self.k1}; Anserini's default is 0.9")
        if not 0 <= self.b <= 1:
            raise SettingError(f"--b: wanted a number from 0 to 1; found {self.b}; Anserini's default is 0.4")


# anserini: its defaults; msmarco-passage: tuned there (position-bias paper's first stage); robertson: the classic
# 1.2 / 0.75 (contaminated-distillation paper's).
PRESETS: Mapping[str, Bm25Settings] = {
    "anserini": Bm25Settings(0.9, 0.4),
    "msmarco-passage": Bm25Settings(0.82, 0.68),
    "robertson": Bm25Settings(1.2, 0.75),
}


class Bm25Index:
    """A BM25 index over the passages of one collection, in memory or memory-mapped.

    ``origin`` says where it came from: "built", "reused", or "built, not kept: REASON".
    """

    def __init__(self, scorer: Any, places: np.ndarray, passage_ids: Sequence[str], origin: str) -> None:
        # A view of the mapped file as a plain array: slicing numpy's memmap class costs more than the look-up.
        scorer.scores = {k: np.asarray(v) if isinstance(v, np.ndarray) else v for k, v in scorer.scores.items()}
        self.origin = origin
        self._scorer, self._places, self._passage_ids = scorer, np.asarray(places), passage_ids
        self._analyzer = Analyzer()

    def rows(self, text: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """The best rows for a query's text with their float32 scores, at most ``depth``, in rank order.

        Order: score falling, then passage id descending, at the cut as well. A passage that shares no term with the query
        is not retrieved.
        """
        terms = self._scorer.get_tokens_ids(self._analyzer(text))
        if not terms:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = self._scorer.get_scores_from_ids(terms)
        least = np.partition(scores, -depth)[-depth] if depth < len(scores) else np.float32(0)
        # all that tie with the last one are sorted before the cut; every idf is positive, so 0 means no shared term
        found = np.flatnonzero(scores >= least if least > 0 else scores > 0)
        order = np.lexsort((self._places[found], -scores[found]))[:depth]
        return found[order], scores[found[order]]

    def search(self, queries: Sequence[Query], depth: int, *, name: str = "bm25") -> Run:
        """The Run of these queries; a query without a known term gets an empty ranking.

        Raises:
            SettingError: ``depth`` is below 1.
        """
        if depth < 1:
            raise SettingError(f"--depth: wanted at least 1; found {depth}; give how many passages to keep a query")
        return Run(name, self._rankings(queries, depth))

    def _rankings(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, list[str], np.ndarray]]:
        for query in track(queries, "BM25", unit="queries"):
            rows, scores = self.rows(query.text, depth)
            yield query.query_id, [self._passage_ids[row] for row in rows.tolist()], scores


def retrieve(
    collection: Collection, queries: Sequence[Query], depth: int, settings: Bm25Settings, *, name: str = "bm25"
) -> Run:
    """Rank the collection's passages for each query by BM25, the best ``depth`` of each.

    Queries without a known term get an empty ranking.

    Raises:
        InputError: the collection holds no passage with a word in it.
        SettingError: ``depth`` is below 1.
    """
    return open_index(collection, settings).search(queries, depth, name=name)


class Retrieved(NamedTuple):
    """A run, where its index came from, and how many queries had no known term: their ranking is empty."""

    run: Run
    index_origin: str
    without_known_term: int

    def result(self, collection: str, split: str) -> Result:
        """The counts as a Result; its value is the number of candidates a query, on average."""
        queries = len(self.run)
        rows = {
            "queries": queries,
            "candidates": self.run.pairs,
            "depth": self.run.depth,
            "queries without a known term": self.without_known_term,
            "index": self.index_origin,
        }
        mean = self.run.pairs / queries if queries else None
        return Result("candidates", collection, split, self.run.name, None, mean, None, queries, Statistics(rows))


def retrieve_run(
    collection: Collection,
    split: str,
    depth: int,
    settings: Bm25Settings,
    out: Path,
    *,
    name: str = "bm25",
    overwrite: bool = False,
) -> Retrieved:
    """Rank the passages for every query of a split, and write the run with its manifest beside it.

    Raises:
        InputError: no such split, or no passage with a word in it.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        SettingError: ``depth`` is below 1.
    """
    refuse_existing(out, overwrite=overwrite)
    queries = collection.queries(split)
    index = open_index(collection, settings)
    run = index.search(queries, depth, name=name)
    without = sum(not ranking.passage_ids for ranking in run.rankings())
    write_run(out, run, overwrite=overwrite)
    manifest = Manifest(
        kind="run",
        name=name,
        command="retrieve",
        settings={"split": split, "depth": depth, **asdict(settings), "method": _METHOD, "analysis": ANALYSIS},
        inputs=(input_ref("collection", collection.path, collection.checksum, artefact=out),),
        content={
            "checksum": sha256_file(out),
            "queries": len(queries),
            "pairs": run.pairs,
            "queries_without_known_term": without,
        },
        licence=collection.manifest.licence,
        notes=("ties in the score go to the higher passage id; passages without a term of the query are not retrieved",),
        versions=package_versions("bm25s", "PyStemmer"),
        provenance=provenance(),
    )
    write_manifest(manifest_path(out), manifest)
    return Retrieved(run, index.origin, without)


def open_index(collection: Collection, settings: Bm25Settings) -> Bm25Index:
    """The collection's BM25 index: from its cache where the manifest matches, else built and kept there.

    Raises:
        InputError: the collection holds no passage with a word in it.
    """
    passage_ids = collection.passage_ids()
    folder = collection.cache / "bm25" / f"k1-{settings.k1:g}-b-{settings.b:g}"
    manifest = _manifest(collection, passage_ids, settings)
    loaded = _load(folder, manifest)
    if loaded is not None:
        return Bm25Index(*loaded, passage_ids, "reused")
    scorer = _build(collection, settings)
    places = _places_by_id(passage_ids)
    origin = "built"
    try:
        _keep(folder, scorer, places, manifest)
    except StorageError as error:
        # A cache that cannot be written (a read-only collection, a full disk) must not stop the search.
        origin = f"built, not kept: {error}"
    return Bm25Index(scorer, places, passage_ids, origin)


def _manifest(collection: Collection, passage_ids: Sequence[str], settings: Bm25Settings) -> Manifest:
    # The collection's checksum does not depend on order, but the index speaks in rows: so the ids' order is checked too.
    order = hashlib.blake2b("\n".join(passage_ids).encode(), digest_size=16).hexdigest()
    return Manifest(
        kind="index",
        name="bm25",
        command="bm25",
        settings={**asdict(settings), "method": _METHOD, "analysis": ANALYSIS},
        content={"passages_checksum": collection.manifest.content["passages_checksum"], "order": order},
        versions=package_versions("bm25s", "PyStemmer"),
        provenance=provenance(),
    )


def _load(folder: Path, manifest: Manifest) -> tuple[Any, np.ndarray] | None:
    """The kept index, or None where there is none, it was made otherwise, or it is damaged."""
    import bm25s

    try:
        if read_manifest(folder, kind="index").comparable() != manifest.comparable():
            return None
        scorer = bm25s.BM25.load(folder, mmap=True, load_corpus=False, show_progress=False)
        return scorer, np.load(folder / _PLACES, mmap_mode="r")
    except (PositionBiasError, OSError, ValueError, KeyError, EOFError, TypeError):
        return None


def _build(collection: Collection, settings: Bm25Settings) -> Any:
    import bm25s

    texts = (passage.text for passage in collection.passages())
    lists = TermLists(track(texts, "Reading words", len(collection), unit="passages"), Analyzer())
    if not lists.vocab:
        raise InputError(
            f"{collection.path}: wanted passages with words to index; found none in {len(collection):,} passages; "
            "check what was imported"
        )
    scorer = bm25s.BM25(k1=settings.k1, b=settings.b, method=_METHOD, backend="numpy", csc_backend="numpy")
    with step("Indexing for BM25", None):
        scorer.index(lists, create_empty_token=False, show_progress=False)
    return scorer


def _places_by_id(passage_ids: Sequence[str]) -> np.ndarray:
    """For each row its place when passage ids are sorted in descending order, (passages,) int64: the tie rule in numbers."""
    places = np.empty(len(passage_ids), np.int64)
    places[sorted(range(len(passage_ids)), key=passage_ids.__getitem__, reverse=True)] = np.arange(len(passage_ids))
    return places


def _keep(folder: Path, scorer: Any, places: np.ndarray, manifest: Manifest) -> None:
    with atomic_folder(folder, overwrite=True) as partial:
        scorer.save(partial, show_progress=False)
        np.save(partial / _PLACES, places)
        write_manifest(partial / MANIFEST, manifest)
