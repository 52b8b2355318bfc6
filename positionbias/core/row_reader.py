"""Turn table rows of passage, query and answer into a collection, and count skipped rows by cause.

A row judges one passage for one query, or is just a passage. Missing ids are hashes of the texts.
Passages, queries, pairs and answers that occur in several rows are kept once. Only hashes are held
in memory, about 45 bytes a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import xxhash

from positionbias.core.collection_writer import SplitWriter, Texts
from positionbias.core.columns import Columns
from positionbias.core.errors import bad_input
from positionbias.core.key_map import KeyMap
from positionbias.core.row_values import RowBatch, RowCounts, Statements, ValueReader
from positionbias.core.seeds import TEXT, keys64

__all__ = ["RowReader"]

# odd factors that spread hashes over 64 bits before their sum becomes the hash of a pair or an
# answer
_PASSAGE, _TEXT, _START = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)


@dataclass(slots=True)
class _Split:
    """The writer of a split, and hashes of its content."""

    writer: SplitWriter
    queries: KeyMap = field(default_factory=lambda: KeyMap(np.uint32))
    pairs: KeyMap = field(default_factory=lambda: KeyMap(np.int32))
    answers: KeyMap = field(default_factory=lambda: KeyMap(np.bool_))


@dataclass(frozen=True, slots=True)
class _Named:
    """Texts with their ids, hashes of the ids ``(n,)`` uint64, and a mask of new ones ``(n,)``
    bool.
    """

    ids: Sequence[bytes]
    keys: np.ndarray
    new: np.ndarray

    def only(self, marked: Sequence[bool]) -> _Named:
        """Return the marked ones."""
        return (
            self
            if all(marked)
            else _Named(list(compress(self.ids, marked)), self.keys[marked], self.new[marked])
        )


class RowReader:
    """A reader of rows that yields their passages, and writes their queries, judgements and answers
    by split.

    ``split_writer`` opens a split at its first row.
    """

    def __init__(self, split_writer: Callable[[str], SplitWriter]) -> None:
        self.counts = RowCounts()
        self._open = split_writer
        self._passages = KeyMap(np.uint32)
        self._splits: dict[str, _Split] = {}

    def passages(
        self, batches: Iterable[RowBatch], columns: Columns, *, split: str, source: str, unit: str
    ) -> Iterator[Texts]:
        """Yield the new passages of rows. ``split`` is the split of rows without one; ``unit`` is
        what row numbers count.

        Raises:
            InputError: an id with two texts, or an invalid split name.
        """
        reader = ValueReader(columns, split, f"{source}, {unit}", self.counts)
        for batch in batches:
            self.counts.rows += len(batch.numbers)
            found = reader.read(batch)
            named = self._name(self._passages, "passage", found.passage_ids, found.encoded, source)
            ids, texts, lengths = map(
                list, _only(named.new, named.ids, found.encoded, list(map(len, found.passages)))
            )
            yield Texts(ids, texts, lengths)
            asked = [
                own if query else "" for own, query in zip(found.splits, found.queries, strict=True)
            ]
            for name in dict.fromkeys(asked):
                if name:
                    marked = [own == name for own in asked]
                    self._judge(name, found.only(marked), named.only(marked), source)

    def _judge(self, name: str, found: Statements, passages: _Named, source: str) -> None:
        """Write a split's queries, judgements and answers."""
        if name not in self._splits:
            self._splits[name] = _Split(self._open(name))
        split = self._splits[name]
        encoded = [text.encode() for text in found.queries]
        queries = self._name(split.queries, "query", found.query_ids, encoded, source)
        pairs = queries.keys + passages.keys * _PASSAGE
        new, clash = split.pairs.add(pairs, np.array(found.grades, np.int32))
        self.counts.met_again("pairs", int((~new).sum()))
        self.counts.met_again("pairs with another label; the first is used", int(clash.sum()))
        answers = [(row, *answer) for row, own in enumerate(found.answers) for answer in own]
        rows, texts, starts = zip(*answers, strict=True) if answers else ((), (), ())
        after = np.array([0 if start is None else start + 1 for start in starts], np.uint64)
        encoded_answers = [text.encode() for text in texts]
        keys = pairs[list(rows)] + _hashes(encoded_answers) * _TEXT + after * _START
        fresh = split.answers.add(keys).new
        self.counts.met_again("answers", int((~fresh).sum()))
        split.writer.add_columns(
            queries=_only(queries.new, queries.ids, encoded, [[]] * len(queries.ids)),
            qrels=_only(new, queries.ids, passages.ids, found.grades),
            answers=_only(
                fresh,
                [queries.ids[row] for row in rows],
                [passages.ids[row] for row in rows],
                encoded_answers,
                starts,
                [
                    None if start is None else start + len(text)
                    for text, start in zip(texts, starts, strict=True)
                ],
            ),
        )

    def _name(
        self, known: KeyMap, what: str, given: Sequence[str], encoded: Sequence[bytes], source: str
    ) -> _Named:
        """Give texts their ids, given or hashed, and mark new ones; an id may have only one
        text.
        """
        ids = [own.encode() for own in given]
        if not all(ids):  # as ``text_id`` makes them
            made, form = keys64(0, TEXT, encoded).tolist(), f"{what[0]}%016x".encode()
            ids = [own or form % key for own, key in zip(ids, made, strict=True)]
        keys = _hashes(ids)
        new, clash = known.add(keys, _hashes(encoded))
        if clash.any():
            found = f"{what} {ids[int(clash.argmax())].decode()!r} with two texts"
            do = (
                f"name another column with --{what}-id; for chunks, use the chunk's id, not the "
                "document's"
            )
            raise bad_input(source, wanted=f"one text a {what} id", found=found, do=do)
        self.counts.met_again("queries" if what == "query" else f"{what}s", int((~new).sum()))
        return _Named(ids, keys, new)


def _only(marked: np.ndarray, *columns: Sequence[Any]) -> list[Iterable[Any]]:
    chosen = marked.tolist()
    return list(columns) if all(chosen) else [compress(column, chosen) for column in columns]


def _hashes(encoded: Sequence[bytes]) -> np.ndarray:
    """Return 64-bit hashes, used only within one import: ``(n,)`` uint64."""
    return np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), np.uint64, len(encoded))
