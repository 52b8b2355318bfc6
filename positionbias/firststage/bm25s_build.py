"""Build a BM25 index: the passages with each term, and their scores, as one sparse matrix.

The arrays equal those of bm25s's own ``index()``, bit for bit, in the files that
``bm25s.BM25.load(mmap=True)`` reads. Only terms are numbered differently, in sorted order, so that
numbers do not depend on shards and a term is found in the mapped list.

    data.csc.index.npy     score of each posting, float32, by term, then row
    indices.csc.index.npy  its row, int32
    indptr.csc.index.npy   where each term's postings begin, int64
    params.index.json      bm25s's settings
    terms.arrow            the terms, sorted
    places.npy             each row's place when ids are in descending order, int32: the tie rule in
                           numbers
    bests.npy              each term's 100th, 1,000th and 10,000th best score, float32; 0 where it
                           has fewer postings

Memory: about 24 bytes a posting (5 GB for MS MARCO's 8.8 million passages).
"""

from __future__ import annotations

import json
import math
from array import array
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from scipy.sparse import csr_array

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject
from positionbias.core.progress import step
from positionbias.core.shards import ArrowFiles, read_shard
from positionbias.core.steps import MapShards
from positionbias.firststage.passage_order import places_by_id
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import Analyzer, TermNumbers

METHOD = "lucene"  # bm25s's name for Lucene's variant of the formula
DATA, INDICES, INDPTR = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMS, TERMS, PLACES, BESTS = "params.index.json", "terms.arrow", "places.npy", "bests.npy"
RANKS = (100, 1_000, 10_000)  # of a term's postings by score, whose scores ``BESTS`` has
_POSTINGS = 1 << 23  # scored or compared at a time
_TERM = pa.schema([("term", pa.large_string())])


def build_bm25s(
    collection: Collection, settings: Bm25Settings, folder: Path, map_shards: MapShards = map
) -> None:
    """Write the index into ``folder``.

    Raises:
        InputError: no passage of the collection has a word.
    """
    known: dict[str, int] = {}
    parts, columns = list[csr_array](), list[np.ndarray]()
    with step("Reading words", len(collection), unit="passages") as bar:
        for terms, counts in map_shards(count_terms, collection.shard_paths):
            numbers = [known.setdefault(term, len(known)) for term in terms]
            columns.append(np.array(numbers, np.int32)[counts.indices])
            parts.append(counts)
            bar.advance(counts.shape[0])
    if not known:
        raise InputError(
            f"{collection.path}: wanted passages with words to index; found none in "
            f"{len(collection):,} passages; check the import"
        )
    terms = sorted(known)
    sorted_number = np.empty(len(terms), np.int32)
    sorted_number[[known[term] for term in terms]] = np.arange(len(terms), dtype=np.int32)
    held = np.concatenate([np.diff(counts.indptr) for counts in parts])
    starts = np.concatenate([[0], np.cumsum(held, dtype=np.int64)])
    frequencies = np.concatenate([counts.data for counts in parts])
    parts.clear()
    rows = (frequencies, sorted_number[np.concatenate(columns)], starts)
    columns.clear()
    matrix = csr_array(rows, shape=(len(held), len(terms)))
    norms, by_term = _norms(matrix, settings), matrix.tocsc()
    del matrix, rows, frequencies
    np.save(folder / INDICES, by_term.indices.astype(np.int32))
    np.save(folder / INDPTR, by_term.indptr.astype(np.int64))
    scores = np.lib.format.open_memmap(folder / DATA, "w+", np.float32, (by_term.nnz,))
    inverse = _inverse_frequencies(np.diff(by_term.indptr), len(held))
    with step("Scoring", by_term.nnz, unit="postings") as bar:
        for start in range(0, by_term.nnz, _POSTINGS):
            part = slice(start, min(start + _POSTINGS, by_term.nnz))
            places = np.arange(part.start, part.stop)
            term = np.searchsorted(by_term.indptr, places, side="right") - 1
            often = by_term.data[part].astype(np.float32)
            scores[part] = inverse[term] * (often / (norms[by_term.indices[part]] + often))
            bar.advance(len(often))
    scores.flush()
    np.save(folder / BESTS, _bests(scores, by_term.indptr))
    with pa.OSFile(str(folder / TERMS), "wb") as sink, ipc.new_file(sink, _TERM) as writer:
        writer.write_batch(pa.record_batch([pa.array(terms, pa.large_string())], schema=_TERM))
    params = json.dumps(_params(settings, len(held)), indent=4)
    (folder / PARAMS).write_text(params, encoding="utf-8", newline="\n")
    np.save(folder / PLACES, places_by_id(collection))


def count_terms(shard: Path) -> tuple[list[str], csr_array]:
    """Count the terms of each passage of a shard: the terms, and ``(passages, terms)`` int32."""
    analyzer = Analyzer()
    known = TermNumbers(analyzer)
    numbers, lengths = array("i"), array("q", [0])
    for chunk in read_shard(shard).column("text").chunks:
        for text in chunk.to_pylist():
            words = analyzer.words(text)
            numbers.extend(number for word in words if (number := known[word]) >= 0)
            lengths.append(len(numbers))
    occurrences = np.ones(len(numbers), np.int32)
    rows = (occurrences, np.array(numbers, np.int32), np.array(lengths, np.int64))
    counts = csr_array(rows, shape=(len(lengths) - 1, len(known.terms)))
    counts.sum_duplicates()
    return list(known.terms), counts


def _bests(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the scores at ``RANKS`` of each term's postings, ``(ranks, terms)`` float32."""
    holding = np.diff(starts)
    bests = np.zeros((len(RANKS), len(holding)), np.float32)
    for term in np.flatnonzero(holding >= RANKS[0]).tolist():
        places = holding[term] - np.array([rank for rank in RANKS if rank <= holding[term]])
        own = np.partition(scores[starts[term] : starts[term + 1]], places)
        bests[: len(places), term] = own[places]
    return bests


def _params(settings: Bm25Settings, passages: int) -> JsonObject:
    """Return the settings in bm25s's own form."""
    return {
        "k1": settings.k1,
        "b": settings.b,
        "delta": 0.5,
        "method": METHOD,
        "idf_method": METHOD,
        "dtype": "float32",
        "int_dtype": "int32",
        "num_docs": passages,
        "backend": "numpy",
        "csc_backend": "numpy",
    }


def _inverse_frequencies(holding: np.ndarray, passages: int) -> np.ndarray:
    """Return the idf of each term, computed in float64 and rounded to float32 as in bm25s."""
    distinct, where = np.unique(holding, return_inverse=True)
    values = [math.log(1 + (passages - held + 0.5) / (held + 0.5)) for held in distinct.tolist()]
    return np.array(values, np.float32).astype(np.float64)[where]


def _norms(counts: csr_array, settings: Bm25Settings) -> np.ndarray:
    """Return k1 · (1 − b + b · |p| / mean|p|) of each passage, float64, in bm25s's order of
    operations.
    """
    lengths = np.asarray(counts.sum(axis=1), np.float64)
    return settings.k1 * ((1 - settings.b) + settings.b * lengths / lengths.mean())


def check_bm25s(folder: Path, settings: Bm25Settings, passages: int) -> None:
    """Check that the files of an index fit together, so that a search never reads outside them.

    Raises:
        ValueError, OSError, InputError: they do not.
    """
    terms = ArrowFiles([folder / TERMS], _TERM, do="it is built again")
    data, rows, starts, places, bests = (
        np.load(folder / name, mmap_mode="r") for name in (DATA, INDICES, INDPTR, PLACES, BESTS)
    )
    shapes = (
        (data, np.float32, rows.size),
        (rows, np.int32, rows.size),
        (starts, np.int64, len(terms) + 1),
        (places, np.int32, passages),
    )
    wrong = any(array.dtype != kind or array.shape != (length,) for array, kind, length in shapes)
    wrong |= bests.dtype != np.float32 or bests.shape != (len(RANKS), len(terms))
    if len([*terms]) != 1 or wrong:
        raise ValueError(f"{folder}: arrays of other types or shapes")
    rising = starts[0] == 0 and starts[-1] == rows.size and (starts[1:] > starts[:-1]).all()
    if (
        not rising
        or (rows.size and not 0 <= rows.min() <= rows.max() < passages)
        or not _rise(rows, starts)
    ):
        raise ValueError(f"{folder}: postings of other passages")
    if read_json(folder / PARAMS) != _params(settings, passages):
        raise ValueError(f"{folder}: an index by other settings")


def _rise(rows: np.ndarray, starts: np.ndarray) -> bool:
    """Check that each term's rows rise, as a search by ranges of rows wants them to."""
    firsts = starts[1:-1]
    falls = sum(
        np.count_nonzero(
            rows[low + 1 : low + _POSTINGS + 1]
            <= rows[low : low + _POSTINGS][: rows.size - low - 1]
        )
        for low in range(0, rows.size, _POSTINGS)
    )
    return bool(falls == np.count_nonzero(rows[firsts] <= rows[firsts - 1]))
