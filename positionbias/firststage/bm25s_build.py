"""Build bm25s's index shard by shard: each shard's postings are a pure function of its passages;
then one merge.

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

Disk while building: 8 bytes per posting for the shards and 8 for the index. Memory: one shard's
postings in each worker; in the merge about 40 bytes per posting of ``RANGE_POSTINGS``, 24 bytes per
passage, and 8 bytes per term and shard.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.files import read_json, remove
from positionbias.core.json_text import JsonObject
from positionbias.core.progress import step
from positionbias.core.shards import ArrowFiles, read_shard
from positionbias.core.steps import MapShards, make_shards
from positionbias.firststage.passage_order import places_by_id
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import Analyzer, TermNumbers

METHOD = "lucene"  # bm25s's name for Lucene's variant of the formula
DATA, INDICES, INDPTR = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMS, TERMS, PLACES, BESTS = "params.index.json", "terms.arrow", "places.npy", "bests.npy"
RANKS = (100, 1_000, 10_000)  # of a term's postings by score, whose scores ``BESTS`` has
RANGE_POSTINGS = 1 << 23
_CHECKED = 1 << 20  # postings compared at a time
_POSTINGS = pa.schema(
    [
        ("term", pa.large_string()),
        ("rows", pa.large_list(pa.int32())),
        ("frequencies", pa.large_list(pa.int32())),
    ]
)
_TERM = pa.schema([("term", pa.large_string())])


class _Shard(NamedTuple):
    """One shard's mapped postings: for the i-th sorted term ``rows[offsets[i]:offsets[i + 1]]`` and
    their frequencies.
    """

    first_row: int
    passages: int
    terms: pa.Array
    offsets: np.ndarray
    rows: np.ndarray
    frequencies: np.ndarray


def build_bm25s(
    collection: Collection, settings: Bm25Settings, folder: Path, map_shards: MapShards = map
) -> None:
    """Write the index into ``folder``; postings of an interrupted run are verified and reused.

    Raises:
        InputError: no passage of the collection has a word.
    """
    postings = folder / "postings"
    postings.mkdir(exist_ok=True)
    made = []
    with step("Reading words", len(collection), unit="passages") as bar:
        for facts in make_shards(
            _Made,
            write_postings,
            collection.shard_paths,
            lambda index: postings / f"{index:05d}.arrow",
            map_shards,
        ):
            made.append(facts)
            bar.advance(facts.passages)
    if not sum(facts.postings for facts in made):
        raise InputError(
            f"{collection.path}: wanted passages with words to index; found none in "
            f"{len(collection):,} passages; check the import"
        )
    firsts = np.cumsum([0, *(facts.passages for facts in made)])
    shards = [
        _mapped(postings / f"{index:05d}.arrow", int(first), facts.passages)
        for index, (first, facts) in enumerate(zip(firsts[:-1], made, strict=True))
    ]
    _merge(shards, settings, folder)
    np.save(folder / PLACES, places_by_id(collection))
    remove(postings)


@dataclass(frozen=True, slots=True)
class _Made:
    """Counts of a shard's passages and postings."""

    passages: int
    postings: int


def write_postings(shard: Path, out: Path) -> _Made:
    """Write one passage shard's postings with sorted terms; a pure function of the shard."""
    analyzer = Analyzer()
    known = TermNumbers(analyzer)
    found, lengths = array("i"), array("q")
    for chunk in read_shard(shard).column("text").chunks:
        for text in chunk.to_pylist():
            words = analyzer.words(text)
            found.extend(map(known.__getitem__, words))
            lengths.append(len(words))
    terms = sorted(known.terms)
    ranks = np.empty(len(terms) + 1, np.int64)
    ranks[[known.terms[term] for term in terms]] = np.arange(len(terms))
    ranks[-1] = -1  # stop words have the number −1
    numbers = ranks[np.frombuffer(found, np.int32)] if found else np.empty(0, np.int64)
    rows = (
        np.repeat(np.arange(len(lengths)), np.frombuffer(lengths, np.int64))
        if lengths
        else np.empty(0, np.int64)
    )
    kept = numbers >= 0
    # one number per (term, row): sorted, they give the postings' order; their counts are the
    # frequencies
    keys, frequencies = np.unique(
        numbers[kept] * max(1, len(lengths)) + rows[kept], return_counts=True
    )
    term_of, row_of = np.divmod(keys, max(1, len(lengths)))
    offsets = np.searchsorted(term_of, np.arange(len(terms) + 1))
    columns = [
        pa.LargeListArray.from_arrays(offsets, pa.array(values, pa.int32()))
        for values in (row_of, frequencies)
    ]
    _write_arrow(out, [pa.array(terms, pa.large_string()), *columns], _POSTINGS)
    return _Made(len(lengths), len(keys))


def _write_arrow(path: Path, columns: Sequence[pa.Array], schema: pa.Schema) -> None:
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))


def _mapped(path: Path, first_row: int, passages: int) -> _Shard:
    batch = ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    rows, frequencies = batch.column("rows"), batch.column("frequencies")
    offsets = rows.offsets.to_numpy()
    return _Shard(
        first_row,
        passages,
        batch.column("term"),
        offsets,
        rows.values.to_numpy(),
        frequencies.values.to_numpy(),
    )


def _merge(shards: Sequence[_Shard], settings: Bm25Settings, folder: Path) -> None:
    """Write bm25s's arrays, by ranges of terms, so that memory does not grow with the postings."""
    terms, numbers = _numbered(shards)
    holding = np.zeros(len(terms), np.int64)
    for shard, known in zip(shards, numbers, strict=True):
        holding[known] += np.diff(shard.offsets)
    starts = np.concatenate([[0], np.cumsum(holding)])
    passages = shards[-1].first_row + shards[-1].passages
    inverse, norms = _inverse_frequencies(holding, passages), _norms(shards, settings)
    bests = np.zeros((len(RANKS), len(terms)), np.float32)
    with (
        open(folder / DATA, "wb") as data,
        open(folder / INDICES, "wb") as indices,
        step("Merging", int(starts[-1])) as bar,
    ):
        _npy_header(data, np.float32, int(starts[-1]))
        _npy_header(indices, np.int32, int(starts[-1]))
        for low, high in _ranges(starts, RANGE_POSTINGS):
            rows, frequencies = _gather(shards, numbers, starts, low, high)
            weights = np.repeat(inverse[low:high], holding[low:high])
            scores = (weights * (frequencies / (norms[rows] + frequencies))).astype(np.float32)
            bests[:, low:high] = _bests(scores, holding[low:high])
            data.write(scores.data)
            indices.write(rows.data)
            bar.advance(len(rows))
    np.save(folder / INDPTR, starts)
    np.save(folder / BESTS, bests)
    _write_arrow(folder / TERMS, [terms], _TERM)
    (folder / PARAMS).write_text(
        json.dumps(_params(settings, passages), indent=4), encoding="utf-8", newline="\n"
    )


def _bests(scores: np.ndarray, holding: np.ndarray) -> np.ndarray:
    """Return the scores at ``RANKS`` of each term's postings, ``(ranks, terms)`` float32;
    ``holding``: postings of each term.
    """
    starts = np.concatenate([[0], np.cumsum(holding)])
    bests = np.zeros((len(RANKS), len(holding)), np.float32)
    for term in np.flatnonzero(holding >= RANKS[0]).tolist():
        places = holding[term] - np.array([rank for rank in RANKS if rank <= holding[term]])
        bests[: len(places), term] = np.partition(scores[starts[term] : starts[term + 1]], places)[
            places
        ]
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
    if (
        terms.batches != 1
        or wrong
        or bests.dtype != np.float32
        or bests.shape != (len(RANKS), len(terms))
    ):
        raise ValueError(f"{folder}: arrays of other types or shapes")
    terms.batch(0)
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
            rows[low + 1 : low + _CHECKED + 1] <= rows[low : low + _CHECKED][: rows.size - low - 1]
        )
        for low in range(0, rows.size, _CHECKED)
    )
    return bool(falls == np.count_nonzero(rows[firsts] <= rows[firsts - 1]))


def _numbered(shards: Sequence[_Shard]) -> tuple[pa.Array, list[np.ndarray]]:
    """Return all terms, sorted, and each shard's terms as numbers in that list (increasing, as a
    shard's terms are sorted too).
    """
    encoded = pa.chunked_array(
        [shard.terms for shard in shards], pa.large_string()
    ).dictionary_encode()
    every = encoded.chunk(0).dictionary  # the same in every chunk
    order = pc.sort_indices(every)
    ranks = np.empty(len(every), np.int32)
    ranks[order.to_numpy()] = np.arange(len(every), dtype=np.int32)
    chunks = iter(encoded.chunks)  # only shards with terms have one
    none = np.empty(0, np.int32)
    return every.take(order), [
        ranks[next(chunks).indices.to_numpy()] if len(shard.terms) else none for shard in shards
    ]


def _inverse_frequencies(holding: np.ndarray, passages: int) -> np.ndarray:
    """Return the idf of each term, computed in float64 and rounded to float32 as in bm25s."""
    distinct, where = np.unique(holding, return_inverse=True)
    values = [math.log(1 + (passages - held + 0.5) / (held + 0.5)) for held in distinct.tolist()]
    return np.array(values, np.float32).astype(np.float64)[where]


def _norms(shards: Sequence[_Shard], settings: Bm25Settings) -> np.ndarray:
    """Return k1 · (1 − b + b · |p| / mean|p|) of each passage, float64, in bm25s's order of
    operations.
    """
    lengths = np.concatenate(
        # exact: integers
        [
            np.bincount(shard.rows, weights=shard.frequencies, minlength=shard.passages)
            for shard in shards
        ]
    )
    return settings.k1 * ((1 - settings.b) + settings.b * lengths / lengths.mean())


def _ranges(starts: np.ndarray, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of terms with at most ``size`` postings, or of a single term."""
    low, terms = 0, len(starts) - 1
    while low < terms:
        high = int(np.searchsorted(starts, starts[low] + size, side="right")) - 1
        high = min(max(high, low + 1), terms)
        yield low, high
        low = high


def _gather(
    shards: Sequence[_Shard], numbers: Sequence[np.ndarray], starts: np.ndarray, low: int, high: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and frequencies of the terms ``[low, high)``, by term, then row."""
    heads = starts[low:high] - starts[low]  # the place of each term's next posting
    rows = np.empty(int(starts[high] - starts[low]), np.int32)
    frequencies = np.empty(len(rows), np.float32)
    for shard, known in zip(shards, numbers, strict=True):
        first, last = np.searchsorted(known, [low, high])
        terms, offsets = known[first:last] - low, shard.offsets[first : last + 1]
        counts, begin, end = np.diff(offsets), int(offsets[0]), int(offsets[-1])
        targets = np.repeat(heads[terms] - (offsets[:-1] - begin), counts) + np.arange(end - begin)
        rows[targets] = shard.rows[begin:end] + np.int32(shard.first_row)
        frequencies[targets] = shard.frequencies[begin:end]
        heads[terms] += counts
    return rows, frequencies


def _npy_header(handle: Any, dtype: type, length: int) -> None:
    description = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": (length,),
    }
    np.lib.format.write_array_header_1_0(handle, description)
