"""Search by BM25 in Lucene as Anserini does: same analysis, indexed passages and bag-of-words
queries.

One index serves every k1 and b. Lucene itself breaks ties by our rule: hits are sorted by score,
then by passage id descending, so the cut is right too. Lucene's scores differ from bm25s's in two
ways: a passage's length is rounded to fit a byte, and passages without a term do not count in the
mean length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, StorageError
from positionbias.core.files import remove
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, package_versions, provenance
from positionbias.core.progress import step, track
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.firststage.java import anserini_jar, java_class, jnius_library
from positionbias.firststage.kept_index import open_or_build
from positionbias.firststage.settings import Bm25Settings

ANALYSIS = (
    "Anserini's DefaultEnglishAnalyzer: Lucene's standard tokens, lower case, English possessives "
    "and stop words, Porter stemmer"
)
FACTS = {"backend": "lucene", "analysis": ANALYSIS}
BUFFER_MEGABYTES = 256.0
_BATCH = 4_096
_INDEX = "index"
# removed by Java's trim(): Anserini drops a document that is then empty
_JAVA_BLANK = "".join(map(chr, range(0x21)))


class _Searcher:
    """Lucene's searcher over one index folder, with Anserini's analysis; k1 and b are set for each
    search.
    """

    def __init__(self, folder: Path) -> None:
        with _lucene_errors(folder):
            directory = java_class("org.apache.lucene.store.FSDirectory").open(
                _path(folder / _INDEX)
            )
            self.reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
        self.searcher = java_class("org.apache.lucene.search.IndexSearcher")(
            jnius_library().cast("org.apache.lucene.index.IndexReader", self.reader)
        )
        field, kind = (
            java_class("org.apache.lucene.search.SortField"),
            java_class("org.apache.lucene.search.SortField$Type"),
        )
        self.order = java_class("org.apache.lucene.search.Sort")(
            field.FIELD_SCORE, field("id", kind.STRING_VAL, True)
        )
        self.analyzer = java_class(
            "io.anserini.analysis.DefaultEnglishAnalyzer"
        ).newDefaultInstance()
        self.queries = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self.hits_class = java_class("io.anserini.search.ScoredDocs")

    def set(self, settings: Bm25Settings) -> None:
        similarity = java_class("org.apache.lucene.search.similarities.BM25Similarity")
        self.searcher.setSimilarity(similarity(settings.k1, settings.b))

    def search(self, text: str, depth: int) -> tuple[list[str], np.ndarray]:
        """Return the best passages' ids and float32 scores: score descending, then id descending,
        also at the cut.
        """
        query = self.queries.buildQuery("contents", self.analyzer, text)
        found = self.hits_class.fromTopDocs(
            self.searcher.search(query, depth, self.order, True), self.searcher
        )
        return list(found.docids), np.array(found.scores, np.float32)


class LuceneIndex:
    """A Lucene index over one collection's passages.

    ``origin`` says where it came from: "built", "reused", or "built, not kept: REASON".
    """

    def __init__(
        self, searcher: _Searcher, settings: Bm25Settings, origin: str, threads: int
    ) -> None:
        self.origin = origin
        self.facts: JsonObject = FACTS
        self.versions: Mapping[str, str] = _versions()
        self.provenance: JsonObject = provenance(java=_java_version())
        self._searcher, self._threads = searcher, threads
        searcher.set(settings)

    def run(self, name: str, queries: Sequence[Query], depth: int) -> Run:
        """Return the best passages of each query."""
        return Run(
            name, track(self._rankings(queries, depth), "BM25", len(queries), unit="queries")
        )

    def _rankings(
        self, queries: Sequence[Query], depth: int
    ) -> Iterator[tuple[str, list[str], np.ndarray]]:
        """Yield each query's id, its best passages' ids and float32 scores, in rank order."""
        if self._threads == 1:
            for query in queries:
                yield query.query_id, *self._searcher.search(query.text, depth)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            found = pool.map(lambda query: self._searcher.search(query.text, depth), queries)
            for query, (passage_ids, scores) in zip(queries, found, strict=True):
                yield query.query_id, passage_ids, scores


def open_lucene(collection: Collection, settings: Bm25Settings, threads: int = 1) -> LuceneIndex:
    """Return the collection's Lucene index: from its cache if valid, else built and kept there.

    Raises:
        DependencyError: Pyserini or Java is missing.
        InputError: no passage of the collection has text.
    """
    manifest = Manifest(
        kind="index",
        name="lucene",
        command="retrieve",
        settings=FACTS,
        content={"passages_checksum": collection.passages_checksum},
        versions=_versions(),
        provenance=provenance(),
    )
    folder = collection.cache / "lucene" / "english"
    searcher, origin = open_or_build(
        folder, manifest, _Searcher, lambda place: build_lucene(collection, place, threads)
    )
    return LuceneIndex(searcher, settings, origin, threads)


def build_lucene(collection: Collection, folder: Path, threads: int = 1) -> None:
    """Write the index into ``folder`` with Anserini's indexer; Java takes about 0.5 GB for any
    number of passages.

    Raises:
        InputError: no passage of the collection has text.
        StorageError: Lucene could not write the index, or left passages out.
    """
    place = folder / _INDEX
    remove(place)  # from an interrupted run
    wanted = 0
    with (
        _lucene_errors(folder),
        step("Indexing for Lucene", len(collection), unit="passages") as bar,
    ):
        indexer = java_class("io.anserini.index.SimpleIndexer")(str(place), False, threads)
        try:
            # Anserini's own 2 GB is too much for a laptop
            indexer.writer.getConfig().setRAMBufferSizeMB(BUFFER_MEGABYTES)
            passages = collection.passages()
            while batch := list(islice(passages, _BATCH)):
                # as JSON in ASCII: pyjnius does not pass every character of a string, and Anserini
                # reads JSON anyway
                documents = [
                    json.dumps({"id": passage.passage_id, "contents": passage.text})
                    for passage in batch
                    if passage.text.strip(_JAVA_BLANK)
                ]
                if documents:
                    indexer.addRawDocuments(documents)
                wanted += len(documents)
                bar.advance(len(batch))
        except BaseException:
            indexer.writer.rollback()
            raise
        indexer.close()
        (place / "write.lock").unlink(missing_ok=True)
    if not wanted:
        raise InputError(
            f"{collection.path}: wanted passages with text to index; found none in "
            f"{len(collection):,} passages; check the import"
        )
    indexed = _Searcher(folder).reader.numDocs()
    if indexed != wanted:
        raise StorageError(
            f"{folder}: wanted an index of {wanted:,} passages; found {indexed:,}; check the disk "
            "space, then run again"
        )


@contextmanager
def _lucene_errors(folder: Path) -> Iterator[None]:
    """Turn Java's errors while it writes or opens an index into one clear line."""
    try:
        yield
    except jnius_library().JavaException as error:
        reason = " ".join(str(error).split())
        raise StorageError(
            f"{folder}: wanted a Lucene index here; found: {reason}; check the disk, then run again"
        ) from error


def _path(path: Path) -> Any:
    return java_class("java.io.File")(str(path.absolute())).toPath()


def _versions() -> dict[str, str]:
    lucene = java_class("org.apache.lucene.util.Version").LATEST.toString()
    anserini = anserini_jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")
    return {**package_versions("pyserini"), "anserini": anserini, "lucene": lucene}


def _java_version() -> str:
    return str(java_class("java.lang.System").getProperty("java.version"))
