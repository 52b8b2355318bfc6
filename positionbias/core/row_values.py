"""Read passages, queries and answers from table rows: by column where values have the usual forms,
else row by row.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any, Protocol

from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.csv_cells import is_number
from positionbias.core.errors import InputError
from positionbias.core.records import HIGHEST_GRADE, start_in
from positionbias.core.schema import NAME

__all__ = [
    "BATCH_ROWS",
    "NO_PASSAGE",
    "Answers",
    "Cells",
    "Objects",
    "RowBatch",
    "RowCounts",
    "Statements",
    "ValueReader",
    "id_text",
    "leads",
]

BATCH_ROWS = 4_096
NO_PASSAGE = "no passage"  # a cause
_NAMED = 12  # classes in an error
# a batch with unusual values is halved down to this many rows; only these are read one by one
_ROW_BY_ROW = 32
_MISSING = ("NAType", "NaTType")  # of pandas, named so as not to import it
_TOO_DEEP = object()  # a value nested beyond Python's stack
_NONE = type(None)
_PLAIN = {str, int, bool, _NONE, list, dict}  # what ``_plain`` leaves as it is


class RowBatch(Protocol):
    """Some rows of a table."""

    @property
    def numbers(self) -> Sequence[int]:
        """The row numbers in the table, from 1."""

    def column(self, name: str) -> Sequence[Any]:
        """Return a column's values, None for missing ones; a dot in the name leads into objects and
        lists.
        """


@dataclass(frozen=True, slots=True)
class Objects:
    """Rows as objects, in which keys may be missing."""

    numbers: Sequence[int]
    rows: Sequence[Mapping[str, Any]]

    def column(self, name: str) -> Sequence[Any]:
        return (
            [row.get(name) for row in self.rows]
            if "." not in name
            else [_value(row, name) for row in self.rows]
        )


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows as columns."""

    numbers: Sequence[int]
    columns: Mapping[str, Sequence[Any]]

    def column(self, name: str) -> Sequence[Any]:
        if name in self.columns:
            return self.columns[name]
        first, *steps = name.split(".")
        values = self.columns.get(first, [None] * len(self.numbers))
        for step in steps:
            values = [_at(value, step) for value in values]
        return values


@dataclass(slots=True)
class RowCounts:
    """Counts of rows, of repeated texts and pairs, and of skipped rows by cause."""

    rows: int = 0
    again: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)  # the first place of each cause
    unanswerable: int = 0  # queries with an empty list of answers
    not_relevant: int = 0  # pairs judged not relevant, whose answers were skipped
    moved: int = 0  # answers that are not at their given start
    # of the classes of labels, where these have grades
    grades: dict[str, int] = field(default_factory=dict)

    def leave_out(self, cause: str, place: str) -> None:
        """Count a row that is skipped."""
        self.left_out[cause] = self.left_out.get(cause, 0) + 1
        self.first.setdefault(cause, place)

    def met_again(self, what: str, count: int) -> None:
        """Count repetitions of earlier rows."""
        self.again[what] = self.again.get(what, 0) + count


Answers = Sequence[tuple[str, int | None]]  # texts, and their starts where known


@dataclass(slots=True)
class Statements:
    """The contents of rows by column, one passage each. Missing ids are empty, as is the query of a
    passage without one.
    """

    passage_ids: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    encoded: list[bytes] = field(default_factory=list)  # the passages in UTF-8
    query_ids: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    grades: list[int] = field(default_factory=list)
    answers: list[Answers] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)

    def columns(self) -> tuple[list[Any], ...]:
        """Return the columns in the order of the fields."""
        return (
            self.passage_ids,
            self.passages,
            self.encoded,
            self.query_ids,
            self.queries,
            self.grades,
            self.answers,
            self.splits,
        )

    def only(self, marked: Sequence[bool]) -> Statements:
        """Return the marked ones."""
        return (
            self
            if all(marked)
            else Statements(*(list(compress(column, marked)) for column in self.columns()))
        )

    def extend(self, other: Statements) -> None:
        """Append others."""
        for own, further in zip(self.columns(), other.columns(), strict=True):
            own.extend(further)


class ValueReader:
    """A reader of one source's rows; ``split`` is the split of rows without one."""

    def __init__(self, columns: Columns, split: str, source: str, counts: RowCounts) -> None:
        self._columns, self._split, self._source, self._counts = (
            columns.named(),
            split,
            source,
            counts,
        )
        self._grades = columns.grades
        if "query" not in self._columns:  # then nothing is judged
            self._columns.pop("label", None)

    def read(self, batch: RowBatch) -> Statements:
        """Return the contents of rows, one passage each; skipped rows are counted."""
        values = {
            what: _plain_column(batch.column(column)) for what, column in self._columns.items()
        }
        if "label" in values:
            values["label"] = self._graded(values["label"])
        return self._read(values, batch.numbers)

    def _graded(self, labels: Sequence[Any]) -> Sequence[Any]:
        """Return labels with the grades of their classes.

        Raises:
            InputError: classes with names that are no numbers, and no grades for them.
        """
        single = set(map(type, labels)) <= {str, int, float, bool, _NONE}
        distinct = (
            dict.fromkeys(labels)
            if single
            else (label for value in labels for label in _listed(value))
        )
        classes = dict.fromkeys(filter(None, map(_class_of, distinct)))
        if self._grades:
            grades = {name: self._grades.get(name, -1 if name == "-1" else 0) for name in classes}
            self._counts.grades |= grades
            return [_each_graded(value, grades) for value in labels]
        if words := [name for name in classes if not is_number(name)]:
            named = ", ".join(islice(classes, _NAMED)) + (" …" if len(classes) > _NAMED else "")
            raise InputError(
                f"{self._source.rpartition(', ')[0] or self._source}: the labels in "
                f"{self._columns['label']!r} are classes, not grades: {named}; give those that are "
                f"relevant a grade in posbias import, as in --grade {shlex.quote(f'{words[0]}=1')}"
            )
        return labels

    def _read(self, values: Mapping[str, Sequence[Any]], numbers: Sequence[int]) -> Statements:
        if "negative" in values or any(type(split) is list for split in values.get("split", ())):
            return self._by_row(values, numbers)  # one row gives several statements
        found = self._by_column(values, numbers)
        if found is not None:
            return found
        if len(numbers) <= _ROW_BY_ROW:
            return self._by_row(values, numbers)
        half, found = len(numbers) // 2, Statements()
        for part in (slice(half), slice(half, None)):
            found.extend(
                self._read({what: column[part] for what, column in values.items()}, numbers[part])
            )
        return found

    def _by_column(
        self, values: Mapping[str, Sequence[Any]], numbers: Sequence[int]
    ) -> Statements | None:
        """Read rows of texts and whole numbers; None if some have other or unusable values."""
        nothing = [None] * len(numbers)
        try:
            passages = _usual_texts(values["passage"])
            found = Statements(
                _usual_ids(values.get("passage_id", nothing)),
                passages,
                [text.encode() for text in passages],
                _usual_ids(values.get("query_id", nothing)),
                _in_unicode(_usual_texts(values.get("query", nothing))),
                _each(values.get("label", nothing), _grade),
                [()] * len(numbers),
                _each(values.get("split", nothing), self._split_of),
            )
        except (_UnusualError, _MisfitError, UnicodeEncodeError):
            return None
        if not all(found.passages):
            return None
        return (
            self._answer(found, values["answer"], values.get("answer_start", nothing), numbers)
            if "answer" in values
            else found
        )

    def _answer(
        self,
        found: Statements,
        values: Sequence[Any],
        starts: Sequence[Any],
        numbers: Sequence[int],
    ) -> Statements:
        """Add the answers of rows with one passage each; rows with an unusable answer are skipped
        and counted.
        """
        fits = [True] * len(numbers)
        rows = zip(values, starts, found.passages, found.queries, found.grades, strict=True)
        for row, (value, start, passage, query, grade) in enumerate(rows):
            if _is_absent(value):
                continue
            asked = query and grade
            if asked and type(value) is str and _stands(value, start, passage):
                found.answers[row] = ((value, start),)
                continue
            try:
                if _is_empty(value):
                    self._counts.unanswerable += bool(query)
                    found.queries[row] = ""
                elif asked:
                    found.answers[row] = self._answers(value, start, passage)
                else:
                    self._counts.not_relevant += bool(query)
            except (_MisfitError, RecursionError) as error:
                self._leave_out(error, numbers[row])
                fits[row] = False
        return found.only(fits)

    def _by_row(self, values: Mapping[str, Sequence[Any]], numbers: Sequence[int]) -> Statements:
        found: list[tuple[Any, ...]] = []
        for row, number in enumerate(numbers):
            try:
                found.extend(
                    self._statements({what: column[row] for what, column in values.items()})
                )
            except (_MisfitError, RecursionError) as error:
                self._leave_out(error, number)
        return Statements(*map(list, zip(*found, strict=True)))

    def _leave_out(self, error: Exception, number: int) -> None:
        cause = str(error) if isinstance(error, _MisfitError) else "lists within lists"
        self._counts.leave_out(cause, f"{self._source} {number:,}")

    def _statements(self, of: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the contents of one row for each of its passages, as the fields of
        ``Statements``.
        """
        if any(value is _TOO_DEEP for value in of.values()):
            raise RecursionError
        splits = self._splits_of(of.get("split"))
        query, query_id = _text(of.get("query"), "query"), _id(of.get("query_id"), "query id")
        texts, ids, labels = of["passage"], of.get("passage_id"), of.get("label")
        if not isinstance(texts, list):
            texts, ids, labels = [texts], [ids], [labels]
        negatives = list(map(_passage, _listed(of.get("negative"))))
        several = len(texts)
        ids, labels = (
            value if isinstance(value, list) else [value] * several for value in (ids, labels)
        )
        if not several == len(ids) == len(labels):
            raise _MisfitError("lists of passages, ids and labels of different lengths")
        for text, passage_id, label in zip(map(_passage, texts), ids, labels, strict=True):
            grade = _grade(label)
            answered = not _is_empty(of.get("answer"))
            # of several passages in a row, the answer belongs to the relevant ones
            self._counts.not_relevant += (
                bool(query)
                and not grade
                and several == 1
                and answered
                and not _is_absent(of.get("answer"))
            )
            answers = (
                self._answers(of.get("answer"), of.get("answer_start"), text)
                if query and grade and answered
                else ()
            )
            self._counts.unanswerable += bool(query) and not answered
            own = _id(passage_id, "passage id")
            for split in splits:
                yield (
                    own,
                    text,
                    text.encode(),
                    query_id,
                    query if answered else "",
                    grade,
                    answers,
                    split,
                )
        asked = "" if _is_empty(of.get("answer")) else query
        for text in negatives:
            for split in splits:
                yield "", text, text.encode(), query_id, asked, 0, (), split

    def _splits_of(self, value: Any) -> list[str]:
        """Return the splits that a row names, each once, or else the split of its table."""
        named = value if isinstance(value, list) else [value]
        return list(dict.fromkeys(map(self._split_of, named))) or [self._split]

    def _split_of(self, value: Any) -> str:
        split = _text(value, "split")
        split = SPLIT_WORDS.get(split.lower(), split)
        if split and not re.fullmatch(NAME, split):
            raise _MisfitError(
                "split: a name with characters other than letters, digits, '_', '.', '+' and '-'"
            )
        return split or self._split

    def _answers(self, value: Any, start: Any, passage: str) -> Answers:
        if value is _TOO_DEEP or start is _TOO_DEEP:
            raise RecursionError
        found = []
        for text, at in _spans(value, start, passage):
            stands = None if at is None else start_in(passage, text, at)
            self._counts.moved += stands != at
            found.append((text, stands))
        return found


class _UnusualError(Exception):
    """A column that must be read row by row."""


def _plain_column(values: Sequence[Any]) -> Sequence[Any]:
    return values if set(map(type, values)) <= _PLAIN else [_plain(value) for value in values]


def _usual_texts(values: Sequence[Any]) -> list[str]:
    """Return a column of texts; None and white space become empty."""
    if not set(map(type, values)) <= {str, _NONE}:
        raise _UnusualError
    texts = [value or "" for value in values]
    return (
        ["" if text.isspace() else text for text in texts]
        if any(map(str.isspace, texts))
        else texts
    )


def _in_unicode(texts: list[str]) -> list[str]:
    "".join(texts).encode()
    return texts


def _usual_ids(values: Sequence[Any]) -> list[str]:
    kinds = set(map(type, values))
    if kinds == {int}:
        return list(map(str, values))
    # pandas makes whole numbers floats where one is missing
    if float in kinds and kinds <= {int, float, _NONE}:
        return [_id(value, "id") for value in values]
    ids = _in_unicode(_usual_texts(values))
    if len(" ".join(ids).split()) != sum(map(bool, ids)):  # some contain white space
        raise _UnusualError
    return ids


def _each(values: Sequence[Any], read: Callable[[Any], Any]) -> list[Any]:
    """Convert a column of few distinct values, each once."""
    if not set(map(type, values)) <= {str, int, _NONE}:
        raise _UnusualError
    found = {value: read(value) for value in set(values)}
    return [found[value] for value in values]


def _stands(text: str, start: Any, passage: str) -> bool:
    """Return True for a usual answer: valid Unicode, at its start if it has one."""
    if text.isspace() or not (
        start is None or (type(start) is int and start >= 0 and passage.startswith(text, start))
    ):
        return False
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


class _MisfitError(Exception):
    """An unusable row; the text says why."""


def _value(row: Mapping[str, Any], column: str) -> Any:
    """Return an object's value in a column, or None."""
    if column in row:
        return row[column]
    value: Any = row
    for step in column.split("."):
        value = _at(value, step)
    return value


def _at(value: Any, step: str) -> Any:
    try:
        return _below(value, step)
    except RecursionError:
        return _TOO_DEEP


def _below(value: Any, step: str) -> Any:
    if value is _TOO_DEEP:
        return value
    value = _plain(value)
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    # objects of a list
    return [_below(item, step) for item in value] if isinstance(value, list) else None


def leads(value: Any, steps: Sequence[str]) -> bool | None:
    """Return True if the steps exist in a value, False if not, None if the value is too empty to
    tell.
    """
    value = _plain(value)
    if not steps:
        return True
    if value is None:
        return None
    step, *further = steps
    if isinstance(value, Mapping):
        return leads(value[step], further) if step in value else False
    if not isinstance(value, list):
        return False
    if step.isdecimal():
        return leads(value[int(step)], further) if int(step) < len(value) else None
    found = {leads(item, steps) for item in value}
    return True if True in found else None if found <= {None} else False


def _plain(value: Any) -> Any:
    """Turn arrays and tuples into lists, and missing numbers into None."""
    if value is None or type(value) is str:  # nearly all
        return value
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "tolist"):  # arrays, numpy's numbers, a pandas Series
        value = value.tolist()
    missing = type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)
    return None if missing else value


def _text(value: Any, what: str) -> str:
    """Return a text; None and white space become empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _MisfitError(f"{what}: not a text")
    if not value.isascii():  # which is quick to check
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _MisfitError(f"{what}: text that is not valid Unicode") from None
    return "" if not value or value.isspace() else value


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, one value as a list of it, and None as an empty list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _passage(value: Any) -> str:
    text = _text(value, "passage")
    if not text:
        raise _MisfitError(NO_PASSAGE)
    return text


def _id(value: Any, what: str) -> str:
    text = str(int(value)) if _is_whole(value) else _text(value, what)
    if text and text.split() != [text]:
        raise _MisfitError(f"{what}: white space in it")
    return text


def id_text(value: Any) -> str:
    """Return an id as text; empty for None and for anything else."""
    try:
        return _id(_plain(value), "id")
    except _MisfitError:
        return ""


def _grade(value: Any) -> int:
    if value is None:
        return 1
    grade = _whole(value)
    if grade == -1:
        raise _MisfitError("unlabelled (label -1)")
    if grade is None or not 0 <= grade <= HIGHEST_GRADE:
        raise _MisfitError(f"label: not a whole number from 0 to {HIGHEST_GRADE:,}")
    return grade


def _class_of(label: Any) -> str:
    """Return the name of a label's class: its text, or its number as text; empty for None and for
    anything else.
    """
    label = _plain(label)
    if isinstance(label, str):
        return label.strip()
    return str(int(label) if _is_whole(label) else label) if isinstance(label, int | float) else ""


def _each_graded(label: Any, grades: Mapping[str, int]) -> Any:
    """Return the grade of a label, or those of a list; a label without a class stays."""
    return (
        [_each_graded(item, grades) for item in label]
        if isinstance(label, list)
        else grades.get(_class_of(label), label)
    )


def _is_whole(value: Any) -> bool:
    """Return True for a whole number of any type, except texts and booleans."""
    value = _plain(value)
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value)


def _is_empty(value: Any) -> bool:
    """Return True for an empty list of answers, which in SQuAD 2.0 and others means that the
    passage has none.
    """
    value = _plain(value.get("text", "") if isinstance(value, Mapping) else value)
    return isinstance(value, list) and not value


def _spans(value: Any, start: Any, passage: str) -> list[tuple[str, int | None]]:
    """Return the texts and starts of the answers in a value of any usual form."""
    value, start = _plain(value), _plain(start)
    if _is_absent(value):
        return []
    if isinstance(value, Mapping):
        if "text" in value:
            return _spans(value["text"], value.get("answer_start", value.get("start")), passage)
        if value and not value.keys() & {"start", "end"}:
            raise _MisfitError("answer: an object without text, start or end")
        value = [_plain(value.get("start")), _plain(value.get("end"))]
        if value != [None, None] and not all(map(_is_whole, value)):
            raise _MisfitError("answer: offsets that are not whole numbers")
    if not isinstance(value, list):
        text = _answer(value)
        return [(text, _start(start))] if text else []
    if len(value) > 1 and all(type(item) in (int, float) for item in map(_plain, value)):
        return [_span(value, passage)]
    starts = start if isinstance(start, list) else [start] * len(value)
    if len(starts) != len(value):
        raise _MisfitError("answer: not as many starts as texts")
    return [
        span for item, at in zip(value, starts, strict=True) for span in _spans(item, at, passage)
    ]


def _span(places: Sequence[Any], passage: str) -> tuple[str, int]:
    """Return the text between two offsets, and its start."""
    if len(places) != 2:
        raise _MisfitError("answer: more offsets than a start and an end")
    if not all(map(_is_whole, places)):
        raise _MisfitError("answer: offsets that are not whole numbers")
    first, end = map(int, places)
    if not 0 <= first < end <= len(passage):
        raise _MisfitError("answer: offsets outside the passage")
    if passage[first:end].isspace():
        raise _MisfitError("answer: offsets of white space")
    return passage[first:end], first


def _answer(value: Any) -> str:
    return (
        str(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else _text(value, "answer")
    )


def _start(value: Any) -> int | None:
    if value is None:
        return None
    start = _whole(value[0] if isinstance(value, list) and len(value) == 1 else value)
    if start is None:
        raise _MisfitError("answer start: not a whole number")
    return start if start >= 0 else None  # -1 means unknown


def _whole(value: Any) -> int | None:
    """Return a number, or a text of one, as a whole number; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None
