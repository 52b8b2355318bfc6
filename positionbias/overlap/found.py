"""Merge what blocks found: the best pairs of each test text, and their order; nothing depends on
how blocks were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc

from positionbias.overlap.detectors import SCORES

__all__ = ["HITS", "Found", "best_rows", "merged", "strengths"]

HITS = pa.schema(
    [
        ("detector", pa.int8()),
        ("test", pa.int32()),
        ("shared", pa.bool_()),
        *((name, pa.float64()) for name in SCORES),
        ("train_id", pa.string()),
        ("train_text", pa.large_string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs of a unit, by test text, falling score, source and training id.

    ``sources``, ``tests`` and ``shared`` are ``(p,)``, ``found_by (p, detectors)`` bool,
    ``scores (p, 2)`` float64 in the order of ``SCORES``. ``rows`` are the places of their ids and
    texts in ``table``.
    """

    sources: np.ndarray
    tests: np.ndarray
    shared: np.ndarray
    found_by: np.ndarray
    scores: np.ndarray
    rows: np.ndarray
    table: pa.Table

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self) -> list[str]:
        """Return the training ids."""
        found: list[str] = self.table["train_id"].take(pa.array(self.rows)).to_pylist()
        return found

    def take(self, places: np.ndarray) -> tuple[list[str], list[str]]:
        """Return the training ids and texts of the pairs at these places."""
        taken = self.table.select(["train_id", "train_text"]).take(pa.array(self.rows[places]))
        return taken["train_id"].to_pylist(), taken["train_text"].to_pylist()


def merged(paths: Sequence[Path], sources: Sequence[int], detectors: int, kept: int) -> Found:
    """Return the pairs of all blocks, given the file of each and the number of its training set."""
    tables = [_mapped(path) for path in paths]
    table = pa.concat_tables([HITS.empty_table(), *tables])
    source = np.repeat(np.array(sources, np.int64), [len(one) for one in tables])
    rows = best_rows(table, kept, source)
    ids = _ranks(table["train_id"].take(pa.array(rows)))
    tests, source = table["test"].to_numpy()[rows], source[rows]
    order = np.lexsort((ids, source, tests))
    rows, ids, tests, source = rows[order], ids[order], tests[order], source[order]
    new = np.ones(len(rows), bool)
    new[1:] = (ids[1:] != ids[:-1]) | (tests[1:] != tests[:-1]) | (source[1:] != source[:-1])
    first = np.flatnonzero(new)
    by = np.zeros((len(first), detectors), bool)
    by[np.cumsum(new) - 1, table["detector"].to_numpy()[rows]] = True
    scores = _scores(table)[rows]
    best = np.maximum.reduceat(scores, first) if len(first) else scores
    strength = strengths(best)
    order = np.lexsort((ids[first], source[first], -strength, tests[first]))
    rows = rows[first][order]
    shared = table["shared"].to_numpy()[rows]
    return Found(
        source[first][order], tests[first][order], shared, by[order], best[order], rows, table
    )


def _mapped(path: Path) -> pa.Table:
    """Return a block's hits, mapped: their texts are read when they are written. The file itself is
    closed, as there may be thousands.
    """
    with pa.memory_map(str(path)) as file:
        return ipc.open_file(file).read_all()


def best_rows(table: pa.Table, kept: int, sources: np.ndarray | None = None) -> np.ndarray:
    """Return the rows of the ``kept`` best hits of each source, detector and test text, each
    training id once, and all of a shared corpus.
    """
    ids, texts = (_ranks(table[name]) for name in ("train_id", "train_text"))
    detectors, tests, shared = (table[name].to_numpy() for name in ("detector", "test", "shared"))
    groups = np.stack(
        [tests, detectors, np.zeros(len(table), np.int64) if sources is None else sources]
    )
    strength = strengths(_scores(table))
    by_id = np.lexsort((texts, -strength, ids, *groups))
    once = by_id[_new(np.vstack([groups, ids])[:, by_id])]
    order = once[np.lexsort((ids[once], -strength[once], shared[once], *groups[:, once]))]
    starts = np.flatnonzero(_new(groups[:, order]))
    place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    return order[(place < kept) | shared[order]]


def strengths(scores: np.ndarray) -> np.ndarray:
    """Return the larger containment of each pair ``(p,)``, by which pairs are ordered."""
    larger: np.ndarray = scores.max(axis=1)
    return larger


def _scores(table: pa.Table) -> np.ndarray:
    return np.stack([table[name].to_numpy() for name in SCORES], axis=1)


def _ranks(strings: pa.ChunkedArray) -> np.ndarray:
    """Return the place of each string among the distinct ones in order."""
    if not len(strings):
        return np.zeros(0, np.int64)
    coded = pc.dictionary_encode(strings.combine_chunks())
    coded = coded if isinstance(coded, pa.DictionaryArray) else coded.combine_chunks()
    place = np.empty(len(coded.dictionary), np.int64)
    place[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(place))
    return place[coded.indices.to_numpy()]


def _new(keys: np.ndarray) -> np.ndarray:
    """Return True where a column of ``keys (k, r)`` differs from the one before it."""
    new = np.ones(keys.shape[1], bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return new
