"""Rows of passage, query and answer as a collection: what the columns of a table are taken for, and what does not fit, counted by cause.

A row judges one passage for one query, or is a passage alone. Where a row has no ids they are hashes of the texts. Passages, queries, pairs
and answers that stand in several rows are kept once. Nothing is held but hashes: about 50 bytes a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
import xxhash

from positionbias.core.collection_writer import SplitWriter
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.errors import bad_input
from positionbias.core.key_map import KeyMap
from positionbias.core.records import HIGHEST_GRADE, Answer, Passage, Qrel, Query, start_in
from positionbias.core.seeds import TEXT, keys128

__all__ = ["Numbered", "RowCounts", "RowReader"]

Numbered = tuple[int, Mapping[str, Any]]  # a row, and its number in its source, from 1
_BATCH = 4_096
_MISSING = ("NAType", "NaTType")  # of pandas, which need not be imported for it


@dataclass(slots=True)
class RowCounts:
    """Counts of rows, of what stood in several of them, and of rows that were left out, by cause."""

    rows: int = 0
    again: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)  # the place of the first of each cause
    unanswerable: int = 0  # queries with an empty list of answers
    moved: int = 0  # answers that do not stand where their start says

    def leave_out(self, cause: str, place: str) -> None:
        """Count something that does not fit."""
        self.left_out[cause] = self.left_out.get(cause, 0) + 1
        self.first.setdefault(cause, place)

    def met_again(self, what: str, count: int) -> None:
        """Count what stood in an earlier row."""
        self.again[what] = self.again.get(what, 0) + count


class _Pair(NamedTuple):
    """A row's statement about one passage; ids are empty where they are to be made, ``query`` where the passage stands alone."""

    passage_id: str
    text: str
    query_id: str
    query: str
    grade: int
    answers: Sequence[tuple[str, int | None]]
    split: str


@dataclass(slots=True)
class _Split:
    """The writer of a split, and hashes of what it has."""

    writer: SplitWriter
    queries: KeyMap = field(default_factory=KeyMap)
    pairs: KeyMap = field(default_factory=lambda: KeyMap(np.int32))
    answers: KeyMap = field(default_factory=lambda: KeyMap(np.bool_))


class RowReader:
    """Takes rows, gives their passages to be written, and writes their queries, judgements and answers by split.

    ``split_writer`` opens a split the first time that a row is in it.
    """

    def __init__(self, split_writer: Callable[[str], SplitWriter]) -> None:
        self.counts = RowCounts()
        self._open = split_writer
        self._passages = KeyMap()
        self._splits: dict[str, _Split] = {}

    def passages(self, rows: Iterable[Numbered], columns: Columns, *, split: str, source: str, unit: str) -> Iterator[Passage]:
        """Yield the passages of rows that did not come before; ``split`` is that of rows which name none, ``unit`` what numbers count.

        Raises:
            InputError: an id with two texts, or a name that no split can have.
        """
        reader = _Reader(columns, split, f"{source}, {unit}", self.counts)
        stream = iter(rows)
        while batch := list(islice(stream, _BATCH)):
            self.counts.rows += len(batch)
            pairs = [pair for number, row in batch for pair in reader.read(number, row)]
            hashes, given = _hashes(pair.text for pair in pairs), [pair.passage_id for pair in pairs]
            passage_ids = _ids("p", given, hashes)
            new = self._new(self._passages, given, passage_ids, hashes, "passage", source)
            yield from (Passage(passage_ids[place], pairs[place].text) for place in np.flatnonzero(new).tolist())
            by_split: dict[str, list[tuple[str, _Pair]]] = {}
            for passage_id, pair in zip(passage_ids, pairs, strict=True):
                if pair.query:
                    by_split.setdefault(pair.split, []).append((passage_id, pair))
            for name, judged in by_split.items():
                self._judge(name, judged, source)

    def _judge(self, name: str, judged: Sequence[tuple[str, _Pair]], source: str) -> None:
        if name not in self._splits:
            self._splits[name] = _Split(self._open(name))
        split, pairs = self._splits[name], [pair for _, pair in judged]
        hashes, given = _hashes(pair.query for pair in pairs), [pair.query_id for pair in pairs]
        query_ids = _ids("q", given, hashes)
        new = self._new(split.queries, given, query_ids, hashes, "query", source)
        queries = [Query(query_ids[place], pairs[place].query) for place in np.flatnonzero(new).tolist()]
        grades = np.array([pair.grade for pair in pairs], np.int32)
        ids = [(query_id, passage_id) for query_id, (passage_id, _) in zip(query_ids, judged, strict=True)]
        new, clash = split.pairs.add(_keys(map("\t".join, ids)), grades)
        self.counts.met_again("pairs", int((~new).sum()))
        self.counts.met_again("pairs with another label, of which the first counts", int(clash.sum()))
        qrels = [Qrel(*ids[place], int(grades[place])) for place in np.flatnonzero(new).tolist()]
        answers = [
            Answer(*pair_ids, text, start, None if start is None else start + len(text))
            for pair_ids, pair in zip(ids, pairs, strict=True)
            for text, start in pair.answers
        ]
        fresh = split.answers.add(_keys(f"{a[0]}\t{a[1]}\t{a[3]}\t{a[2]}" for a in answers)).new
        self.counts.met_again("answers", int((~fresh).sum()))
        split.writer.add(queries, qrels, list(compress(answers, fresh)))

    def _new(
        self, known: KeyMap, given: Sequence[str], ids: Sequence[str], hashes: np.ndarray, what: str, source: str
    ) -> np.ndarray:
        """Mark what occurs for the first time: by the given id, whose text must be one, or by the text."""
        named = np.array(list(map(bool, given)), bool)
        keys = np.where(named, _keys(ids), hashes[:, 0])
        new, clash = known.add(keys, np.where(named, hashes[:, 0], hashes[:, 1]))
        if clash.any():
            found = f"{what} {ids[int(clash.argmax())]!r} with two texts"
            do = f"name another column with --{what}-id; of chunks, that of the chunk and not of its document"
            raise bad_input(source, wanted=f"one text a {what} id", found=found, do=do)
        plural = "queries" if what == "query" else f"{what}s"
        self.counts.met_again(plural, int((~new).sum()))
        return new


def _hashes(texts: Iterable[str]) -> np.ndarray:
    return keys128(0, TEXT, [text.encode() for text in texts])


def _keys(texts: Iterable[str]) -> np.ndarray:
    """Return 64-bit hashes that stay within one import: ``(n,)`` uint64."""
    return np.fromiter(map(xxhash.xxh3_64_intdigest, [text.encode() for text in texts]), np.uint64)


def _ids(letter: str, given: Sequence[str], hashes: np.ndarray) -> list[str]:
    """Return the ids given, and ``text_id`` where there is none."""
    return [own or f"{letter}{made:016x}" for own, made in zip(given, hashes[:, 0].tolist(), strict=True)]


class _Reader:
    """Reads the rows of one source."""

    def __init__(self, columns: Columns, split: str, source: str, counts: RowCounts) -> None:
        self._split, self._source, self._counts = split, source, counts
        self._value = {what: _getter(column) for what, column in columns.named().items()}

    def read(self, number: int, row: Mapping[str, Any]) -> Iterator[_Pair]:
        """Yield what a row says of each of its passages; what does not fit is counted."""
        place = f"{self._source} {number:,}"
        try:
            yield from self._pairs(row)
        except _MisfitError as misfit:
            self._counts.leave_out(str(misfit), place)
        except RecursionError:
            self._counts.leave_out("lists within lists", place)

    def _pairs(self, row: Mapping[str, Any]) -> Iterator[_Pair]:
        of = {what: _plain(value(row)) for what, value in self._value.items()}
        split = _text(of.get("split"), "split")
        query, query_id = _text(of.get("query"), "query"), _id(of.get("query_id"), "query id")
        texts, ids, labels = of["passage"], of.get("passage_id"), of.get("label")
        if not isinstance(texts, list):
            texts, ids, labels = [texts], [ids], [labels]
        several = len(texts)
        ids, labels = (value if isinstance(value, list) else [value] * several for value in (ids, labels))
        if not several == len(ids) == len(labels):
            raise _MisfitError("lists of passages, ids and labels of different lengths")
        for text, passage_id, label in zip(map(_passage, texts), ids, labels, strict=True):
            grade = _grade(label)
            answered = not _is_empty(of.get("answer"))
            answers = self._answers(of.get("answer"), of.get("answer_start"), text) if query and grade and answered else []
            self._counts.unanswerable += bool(query) and not answered
            yield _Pair(
                _id(passage_id, "passage id"),
                text,
                query_id,
                query if answered else "",
                grade,
                answers,
                SPLIT_WORDS.get(split, split) or self._split,
            )

    def _answers(self, value: Any, start: Any, passage: str) -> list[tuple[str, int | None]]:
        found = []
        for text, at in _spans(value, start, passage):
            stands = None if at is None else start_in(passage, text, at)
            self._counts.moved += stands != at
            found.append((text, stands))
        return found


class _MisfitError(Exception):
    """A row that does not fit; the text says why."""


def _getter(column: str) -> Callable[[Any], Any]:
    """Return a function from a row to its value in a column, None where there is none."""
    steps = column.split(".")
    if len(steps) == 1:
        return lambda row: row.get(column)

    def value(row: Any) -> Any:
        if column in row:
            return row[column]
        for step in steps:
            row = _at(row, step)
        return row

    return value


def _at(value: Any, step: str) -> Any:
    value = _plain(value)
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    return [_at(item, step) for item in value] if isinstance(value, list) else None  # objects of a list


def _plain(value: Any) -> Any:
    """Return lists for arrays and tuples, and None for a number that is none."""
    if value is None or type(value) is str:  # nearly all
        return value
    if isinstance(value, np.ndarray | tuple):
        return list(value)
    if isinstance(value, np.generic):
        value = value.item()
    missing = type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)
    return None if missing else value


def _text(value: Any, what: str) -> str:
    """Return a text; empty for nothing, and for white space alone."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _MisfitError(f"{what}: no text")
    if not value.isascii():  # which it knows without looking
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _MisfitError(f"{what}: text that is not Unicode") from None
    return "" if not value or value.isspace() else value


def _passage(value: Any) -> str:
    text = _text(value, "passage")
    if not text:
        raise _MisfitError("no passage")
    return text


def _id(value: Any, what: str) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value, what)
    if text and text.split() != [text]:
        raise _MisfitError(f"{what}: white space in it")
    return text


def _grade(value: Any) -> int:
    if value is None:
        return 1
    grade = _whole(value)
    if grade is None or not 0 <= grade <= HIGHEST_GRADE:
        raise _MisfitError(f"label: no whole number from 0 to {HIGHEST_GRADE:,}")
    return grade


def _is_empty(value: Any) -> bool:
    """Return True for an empty list of answers, by which SQuAD 2.0 and others say that the passage has none."""
    value = _plain(value.get("text", "") if isinstance(value, Mapping) else value)
    return isinstance(value, list) and not value


def _spans(value: Any, start: Any, passage: str) -> list[tuple[str, int | None]]:
    """Return the texts and starts of the answers in a value, which may have any of the usual forms."""
    value, start = _plain(value), _plain(start)
    if value is None or value == "":
        return []
    if isinstance(value, Mapping):
        if "text" in value:
            return _spans(value["text"], value.get("answer_start", value.get("start")), passage)
        value = [value.get("start"), value.get("end")]
    if not isinstance(value, list):
        return [(_answer(value), _start(start))]
    if len(value) == 2 and all(type(item) is int for item in value):
        first, end = value
        if not 0 <= first < end <= len(passage):
            raise _MisfitError("answer: offsets outside of the passage")
        return [(passage[first:end], first)]
    starts = start if isinstance(start, list) else [start] * len(value)
    if len(starts) != len(value):
        raise _MisfitError("answer: texts and starts of different numbers")
    return [span for item, at in zip(value, starts, strict=True) for span in _spans(item, at, passage)]


def _answer(value: Any) -> str:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _text(value, "answer")


def _start(value: Any) -> int | None:
    if value is None:
        return None
    start = _whole(value[0] if isinstance(value, list) and len(value) == 1 else value)
    if start is None:
        raise _MisfitError("answer start: no whole number")
    return start if start >= 0 else None  # -1 stands for unknown


def _whole(value: Any) -> int | None:
    """Return a number, perhaps as text, as a whole one; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None
