"""Search bm25s's memory-mapped index: a query reads its terms' postings and one score per
passage.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.collection import Collection
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.steps import MapShards
from positionbias.firststage.best_postings import Found, Postings
from positionbias.firststage.bm25s_build import METHOD, TERMS, build_bm25s, check_bm25s
from positionbias.firststage.kept_index import open_or_build
from positionbias.firststage.passage_order import StoredIds, order_checksum
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import ANALYSIS, Analyzer

FACTS = {"backend": "bm25s", "method": METHOD, "analysis": ANALYSIS}
_LAYOUT = 3
_CHUNK = 32  # queries per task of a worker


class MappedIndex:
    """The mapped files of ``build_bm25s``; a process that receives one opens them again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._postings = Postings(folder)
        self._terms: pa.Array = (
            ipc.open_file(pa.memory_map(str(folder / TERMS))).get_batch(0).column("term")
        )
        self._analyzer = Analyzer()
        self._numbers: dict[str, int | None] = {}

    def __reduce__(self) -> tuple[type[MappedIndex], tuple[Path]]:
        return MappedIndex, (self.folder,)

    def _number(self, term: str) -> int | None:
        if term not in self._numbers:
            at = bisect_left(
                range(len(self._terms)), term, key=lambda index: self._terms[index].as_py()
            )
            self._numbers[term] = (
                at if at < len(self._terms) and self._terms[at].as_py() == term else None
            )
        return self._numbers[term]

    def idf(self, term: str) -> float:
        """Return a term's idf in BM25 (``firststage.bm25``), also for a term in no passage."""
        number = self._number(term)
        having = 0 if number is None else self._postings.held_by(number)
        return math.log1p((len(self._postings) - having + 0.5) / (having + 0.5))

    def rows(self, text: str, depth: int) -> Found:
        """Return the best rows for a query's text with their float32 scores, at most ``depth``, in
        rank order.

        Order: score descending, then passage id descending, also at the cut. A passage that shares
        no term with the query is not retrieved.
        """
        terms = [
            number for term in self._analyzer(text) if (number := self._number(term)) is not None
        ]
        if not terms:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return self._postings.best(terms, depth)


class Bm25sIndex:
    """bm25s's index over one collection's passages.

    ``origin`` says where it came from: "built", "reused", or "built, not kept: REASON".
    """

    def __init__(
        self, mapped: MappedIndex, passage_ids: StoredIds, origin: str, map_shards: MapShards
    ) -> None:
        self.mapped, self.origin = mapped, origin
        self.facts: JsonObject = FACTS
        self.versions: Mapping[str, str] = package_versions("bm25s", "PyStemmer")
        self.provenance: JsonObject = provenance()
        self._passage_ids, self._map_shards = passage_ids, map_shards

    def run(self, name: str, queries: Sequence[Query], depth: int) -> Run:
        """Return the best passages of each query."""
        texts = iter([query.text for query in queries])
        chunks = iter(lambda: list(islice(texts, _CHUNK)), [])
        answers = (
            found
            for part in self._map_shards(partial(_search, self.mapped, depth), chunks)
            for found in part
        )
        rankings = (
            (query.query_id, rows, scores)
            for query, (rows, scores) in zip(queries, answers, strict=True)
        )
        named = self._passage_ids
        return Run.of_rows(
            name, track(rankings, "BM25", len(queries), unit="queries"), len(named), named.of
        )


def _search(index: MappedIndex, depth: int, texts: Sequence[str]) -> list[Found]:
    return [index.rows(text, depth) for text in texts]


def _open(settings: Bm25Settings, passages: int, folder: Path) -> MappedIndex:
    check_bm25s(folder, settings, passages)
    return MappedIndex(folder)


def open_bm25s(
    collection: Collection, settings: Bm25Settings, map_shards: MapShards = map
) -> Bm25sIndex:
    """Return the collection's index for these settings: from its cache if valid, else built and
    kept there.

    Raises:
        InputError: no passage of the collection has a word.
    """
    manifest = Manifest(
        kind="index",
        name="bm25s",
        command="retrieve",
        settings={**asdict(settings), **FACTS, "layout": _LAYOUT},
        # The collection's checksum ignores order, but the index refers to rows, so the ids' order
        # is checked too.
        content={
            "passages_checksum": collection.passages_checksum,
            "order": order_checksum(collection),
        },
        versions=package_versions("bm25s", "PyStemmer"),
        provenance=provenance(),
    )
    folder = collection.cache / "bm25s" / f"k1-{settings.k1:g}-b-{settings.b:g}"
    build = partial(build_bm25s, collection, settings, map_shards=map_shards)
    # counted in its files, not only read from its manifest
    passages = int(collection.shard_starts[-1])
    mapped, origin = open_or_build(folder, manifest, partial(_open, settings, passages), build)
    return Bm25sIndex(mapped, StoredIds(collection), origin, map_shards)
