"""Search bm25s's memory-mapped index: a query reads its terms' postings and one score per passage."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.collection import Collection
from positionbias.core.json_text import JsonObject
from positionbias.core.kept_index import open_or_build
from positionbias.core.manifest import Manifest, package_versions, provenance
from positionbias.core.records import Query
from positionbias.core.shard_work import MapShards
from positionbias.firststage.bm25s_build import METHOD, PLACES, TERMS, build_bm25s, check_bm25s
from positionbias.firststage.passage_order import StoredIds, order_checksum
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import ANALYSIS, Analyzer

__all__ = ["Bm25sIndex", "MappedIndex", "open_bm25s"]

FACTS = {"backend": "bm25s", "method": METHOD, "analysis": ANALYSIS}
_LAYOUT = 2
_CHUNK = 32  # queries per task of a worker
_BLOCK = 512  # scores per block; at first only a block's best is examined

Found = tuple[np.ndarray, np.ndarray]


class MappedIndex:
    """The mapped files of ``build_bm25s``; a process that receives one opens them again."""

    def __init__(self, folder: Path) -> None:
        import bm25s

        self.folder = folder
        self._scorer = bm25s.BM25.load(folder, mmap=True, load_corpus=False, load_vocab=False, show_progress=False)
        # Views of the mapped files as plain arrays: slicing numpy's memmap class costs more than the look-up.
        self._scorer.scores = {k: np.asarray(v) if isinstance(v, np.ndarray) else v for k, v in self._scorer.scores.items()}
        self._places = np.asarray(np.load(folder / PLACES, mmap_mode="r"))
        self._terms: pa.Array = ipc.open_file(pa.memory_map(str(folder / TERMS))).get_batch(0).column("term")
        self._analyzer = Analyzer()
        self._numbers: dict[str, int | None] = {}

    def __reduce__(self) -> tuple[type[MappedIndex], tuple[Path]]:
        return MappedIndex, (self.folder,)

    def _number(self, term: str) -> int | None:
        if term not in self._numbers:
            at = bisect_left(range(len(self._terms)), term, key=lambda index: self._terms[index].as_py())
            self._numbers[term] = at if at < len(self._terms) and self._terms[at].as_py() == term else None
        return self._numbers[term]

    def idf(self, term: str) -> float:
        """Return a term's idf in BM25 (``firststage.bm25``), also for a term in no passage."""
        number, postings = self._number(term), self._scorer.scores["indptr"]
        having = 0 if number is None else int(postings[number + 1] - postings[number])
        return math.log1p((len(self._places) - having + 0.5) / (having + 0.5))

    def rows(self, text: str, depth: int) -> Found:
        """Return the best rows for a query's text with their float32 scores, at most ``depth``, in rank order.

        Order: score descending, then passage id descending, also at the cut. A passage that shares no term with the query
        is not retrieved.
        """
        terms = [number for term in self._analyzer(text) if (number := self._number(term)) is not None]
        if not terms:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = self._scorer.get_scores_from_ids(terms)
        # every idf is positive, so 0 means no shared term; ties with the last one are sorted before the cut
        found = np.flatnonzero(scores >= max(_reached_by(scores, depth), np.nextafter(np.float32(0), np.float32(1))))
        order = np.lexsort((self._places[found], -scores[found]))[:depth]
        return found[order], scores[found[order]]


def _reached_by(scores: np.ndarray, count: int) -> np.float32:
    """Return a score that at least ``count`` scores reach, and few more; 0 if fewer are above 0.

    The ``count``-th best of the blocks' best scores is one, as that many blocks hold a score that high. Finding it first leaves few
    scores to sort.
    """
    best = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK))
    least = np.partition(best, -count)[-count] if count <= len(best) else np.float32(0)
    scores = scores[scores >= least] if least > 0 else scores[scores > 0]
    return np.partition(scores, -count)[-count] if count < len(scores) else least


class Bm25sIndex:
    """bm25s's index over one collection's passages.

    ``origin`` says where it came from: "built", "reused", or "built, not kept: REASON".
    """

    def __init__(self, mapped: MappedIndex, passage_ids: StoredIds, origin: str, map_shards: MapShards) -> None:
        self.mapped, self.origin = mapped, origin
        self.facts: JsonObject = FACTS
        self.versions: Mapping[str, str] = package_versions("bm25s", "PyStemmer")
        self.provenance: JsonObject = provenance()
        self._passage_ids, self._map_shards = passage_ids, map_shards

    def rankings(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, list[str], np.ndarray]]:
        """Yield each query's id, its best passages' ids and float32 scores, in rank order."""
        texts = iter([query.text for query in queries])
        chunks = iter(lambda: list(islice(texts, _CHUNK)), [])
        answers = (found for part in self._map_shards(partial(_search, self.mapped, depth), chunks) for found in part)
        for query, (rows, scores) in zip(queries, answers, strict=True):
            yield query.query_id, self._passage_ids.of(rows), scores


def _search(index: MappedIndex, depth: int, texts: Sequence[str]) -> list[Found]:
    return [index.rows(text, depth) for text in texts]


def _open(settings: Bm25Settings, passages: int, folder: Path) -> MappedIndex:
    check_bm25s(folder, settings, passages)
    return MappedIndex(folder)


def open_bm25s(collection: Collection, settings: Bm25Settings, map_shards: MapShards = map) -> Bm25sIndex:
    """Return the collection's index for these settings: from its cache if valid, else built and kept there.

    Raises:
        InputError: no passage of the collection has a word.
    """
    manifest = Manifest(
        kind="index",
        name="bm25s",
        command="retrieve",
        settings={**asdict(settings), **FACTS, "layout": _LAYOUT},
        # The collection's checksum ignores order, but the index refers to rows, so the ids' order is checked too.
        content={
            "passages_checksum": collection.passages_checksum,
            "order": order_checksum(collection),
        },
        versions=package_versions("bm25s", "PyStemmer"),
        provenance=provenance(),
    )
    folder = collection.cache / "bm25s" / f"k1-{settings.k1:g}-b-{settings.b:g}"
    build = partial(build_bm25s, collection, settings, map_shards=map_shards)
    passages = int(collection.shard_starts[-1])  # counted in its files, not only read from its manifest
    mapped, origin = open_or_build(folder, manifest, partial(_open, settings, passages), build)
    return Bm25sIndex(mapped, StoredIds(collection), origin, map_shards)
