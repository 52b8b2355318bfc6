"""Read passages, queries and answers from the values of a table's rows, and count the rows that do
not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from positionbias.core.formatting import plural
from positionbias.core.json_text import NAME
from positionbias.core.records import HIGHEST_GRADE
from positionbias.formats.columns import SPLIT_WORDS

MOST_CLASSES = 20  # of labels without a grade that are named

_SIMPLE = {str, int, bool, type(None), list, dict}  # what ``_plain`` leaves as it is


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
    grades: dict[str, int] = field(default_factory=dict)  # of the classes of labels

    def leave_out(self, cause: str, place: str) -> None:
        """Count a row that is skipped."""
        self.left_out[cause] = self.left_out.get(cause, 0) + 1
        self.first.setdefault(cause, place)

    def met_again(self, what: str, count: int) -> None:
        """Count repetitions of earlier rows."""
        self.again[what] = self.again.get(what, 0) + count

    def remarks(self) -> Iterator[str]:
        """Yield what became of the rows, in sentences."""
        again = ", ".join(_again(what, number) for what, number in self.again.items() if number)
        yield plural(self.rows, "row") + (f"; standing again: {again}" if again else "")
        if self.grades:
            yield "grades: " + ", ".join(
                f"{name} {'left out' if grade < 0 else grade}"
                for name, grade in self.grades.items()
            )
        for cause, number in self.left_out.items():
            yield f"{plural(number, 'row')} left out, {cause}; the first: {self.first[cause]}"
        if self.unanswerable:
            yield (
                f"{plural(self.unanswerable, 'query')} with an empty list of answers left out; "
                "their passages stay"
            )
        if self.not_relevant:
            yield f"answers of {plural(self.not_relevant, 'pair')} judged not relevant left out"
        if self.moved:
            said = (
                "does not stand at its start" if self.moved == 1 else "do not stand at their start"
            )
            yield (
                f"{plural(self.moved, 'answer')} {said}: searched in the passage, else without a "
                "place"
            )


def _again(what: str, number: int) -> str:
    first, _, rest = what.partition(" ")
    return (
        f"{plural(number, 'query' if first == 'queries' else first.removesuffix('s'))}"
        f"{rest and ' '}{rest}"
    )


class MisfitError(Exception):
    """A value that cannot be used; the text says why."""


def read_rows(
    frame: pd.DataFrame,
    counts: RowCounts,
    *,
    place: str,
    split: str = "",
    grades: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Return the contents of rows, one passage and split each: columns passage, passage_id, query,
    query_id, label, split, and answers as (text, start or None).

    ``frame`` has columns by meaning and the rows' numbers as its index; ``grades`` are those of
    classes that labels name, ``split`` that of rows without one. A missing id is empty, as is the
    query of a passage alone. Rows that do not fit are left out and counted, with the first
    ``place`` and number of each cause.
    """
    misfits: dict[int, str] = {}
    frame = _plain_columns(frame)
    if "answer" in frame and "query" in frame:
        empty = [type(value) is not str and _is_empty(value) for value in frame["answer"].tolist()]
        counts.unanswerable += int(frame["query"][empty].count())
        if any(empty):
            pairs = zip(frame["query"].tolist(), empty, strict=True)
            queries = [None if none else query for query, none in pairs]
            frame = frame.assign(query=pd.Series(queries, frame.index, object))
    frame = _one_passage_a_row(frame, misfits)
    numbers = frame.index.tolist()

    def read(what: str, value_of: Callable[[Any], Any]) -> list[Any]:
        if what not in frame:
            return [value_of(None)] * len(frame)
        if _are_usual(values := frame[what].tolist(), what):
            return values
        results = []
        for number, value in zip(numbers, values, strict=True):
            try:
                results.append(value_of(value))
            except MisfitError as error:
                misfits.setdefault(number, str(error))
                results.append(None)
        return results

    columns = {
        "passage": read("passage", _passage),
        "query": read("query", lambda value: _text(value, "query")),
        "label": read("label", lambda value: _grade(value, grades, counts)),
        "split": read("split", lambda value: _split(value) or split),
        "passage_id": read("passage_id", lambda value: id_of(value, "passage id")),
        "query_id": read("query_id", lambda value: id_of(value, "query id")),
    }
    columns["answers"] = _read_answers(frame, columns, misfits, counts)
    for number in sorted(misfits):
        counts.leave_out(misfits[number], f"{place} {number:,}")
    columns = {name: pd.Series(column, frame.index, object) for name, column in columns.items()}
    rows = pd.DataFrame(columns)
    return rows[~rows.index.isin(list(misfits))] if misfits else rows


def _plain_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns with lists for arrays, and None for what is missing."""
    mixed = [name for name in frame if not set(map(type, frame[name].tolist())) <= _SIMPLE]
    plain = {name: pd.Series(list(map(_plain, frame[name])), frame.index, object) for name in mixed}
    return frame.assign(**plain) if plain else frame


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "tolist"):  # arrays, numpy's numbers, a pandas Series
        value = value.tolist()
    missing = value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return None if missing else value


def _one_passage_a_row(frame: pd.DataFrame, misfits: dict[int, str]) -> pd.DataFrame:
    """Return a row for each passage and split: of lists of passages, with the lists of ids and
    labels beside them, of negatives, and of lists of splits.
    """
    several = [name for name in ("passage", "split") if name in frame]
    if "negative" not in frame and not any(_is_list(v) for n in several for v in frame[n].tolist()):
        return frame
    beside = [name for name in ("passage", "passage_id", "label") if name in frame]
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, *row in frame.itertuples(name=None):
        record = dict(zip(frame.columns, row, strict=True))
        pieces, texts = [record], record["passage"]
        if _is_list(texts):
            lists = [
                record[name] if _is_list(record[name]) else [record[name]] * len(texts)
                for name in beside
            ]
            if set(map(len, lists)) != {len(texts)}:
                misfits[number] = "lists of passages, ids and labels of different lengths"
            parts = [dict(zip(beside, part, strict=True)) for part in zip(*lists, strict=False)]
            pieces = [record | part for part in parts or [{"passage": None}]]
        shared = {name: record.get(name) for name in ("query", "query_id")}
        negatives = _listed(record.get("negative"))
        pieces += [{**shared, "passage": text, "label": 0} for text in negatives]
        splits = _listed(record.get("split")) or [None]
        records += [{**piece, "split": split} for split in splits for piece in pieces]
        numbers += [number] * (len(records) - len(numbers))
    names = dict.fromkeys((*frame.columns, "label", "split"))
    columns = {name: [record.get(name) for record in records] for name in names}
    return _plain_columns(pd.DataFrame(columns, numbers, dtype=object))


def _read_answers(
    frame: pd.DataFrame,
    columns: Mapping[str, Sequence[Any]],
    misfits: dict[int, str],
    counts: RowCounts,
) -> list[Sequence[tuple[str, int | None]]]:
    """Return the answers of each row of a query with a relevant passage."""
    answers: list[Sequence[tuple[str, int | None]]] = [()] * len(frame)
    if "answer" not in frame:
        return answers
    starts = frame["answer_start"].tolist() if "answer_start" in frame else [None] * len(frame)
    alone = ~frame.index.duplicated(keep=False)
    read = (columns[name] for name in ("passage", "query", "label"))
    for row, (value, start, number, single, passage, query, grade) in enumerate(
        zip(
            frame["answer"].tolist(),
            starts,
            frame.index.tolist(),
            alone.tolist(),
            *read,
            strict=True,
        )
    ):
        if value is None or not query or number in misfits or (type(value) is str and not value):
            continue
        if not grade:  # of several passages in a row, the answer belongs to the relevant ones
            counts.not_relevant += bool(single)
            continue
        if type(value) is str and value.isprintable() and not value.isspace():  # nearly all
            start = int(start) if type(start) is str and start.isdecimal() else start
            if type(start) is int and start >= 0 and passage.startswith(value, start):
                answers[row] = ((value, start),)
                continue
        try:
            answers[row] = _located(value, start, passage, counts)
        except MisfitError as error:
            misfits[number] = str(error)
        except RecursionError:
            misfits[number] = "lists within lists"
    return answers


def start_in(passage: str, text: str, start: int) -> int | None:
    """Return ``start`` if an answer's text stands there, else the one place where it does; None
    where there is none, or several.

    >>> (
    ...     start_in("oil, green oil", "oil", 11),
    ...     start_in("green oil", "oil", 0),
    ...     start_in("oil, green oil", "oil", 1),
    ... )
    (11, 6, None)
    """
    if start >= 0 and passage[start : start + len(text)] == text:
        return start
    return passage.find(text) if passage.count(text) == 1 else None


def _located(
    value: Any, start: Any, passage: str, counts: RowCounts
) -> list[tuple[str, int | None]]:
    """Return answers with the starts where they stand in the passage, None where unknown."""
    answers = []
    for text, given in _spans(value, start, passage):
        place = None if given is None else start_in(passage, text, given)
        counts.moved += place != given
        answers.append((text, place))
    return answers


def _spans(value: Any, start: Any, passage: str) -> list[tuple[str, int | None]]:
    """Return the texts and starts of the answers in a value of any usual form."""
    value, start = _plain(value), _plain(start)
    if isinstance(value, dict) and "text" in value:
        return _spans(value["text"], value.get("answer_start", value.get("start")), passage)
    if isinstance(value, dict):
        if not value.keys() & {"start", "end"}:
            raise MisfitError("answer: an object without text, start or end")
        return [_span([value.get("start"), value.get("end")], passage)]
    if not _is_list(value):
        text = _text(str(value) if type(value) in (int, float) else value, "answer")
        start = start[0] if _is_list(start) and len(start) == 1 else start
        missing = start is None or start == ""
        place = -1 if missing else _whole(start, "answer start: not a whole number")
        return [(text, place if place >= 0 else None)] if text else []  # -1 means unknown
    value = list(map(_plain, value))
    if len(value) > 1 and {*map(type, value)} <= {int, float}:
        return [_span(value, passage)]
    starts = start if _is_list(start) else [start] * len(value)
    if len(starts) != len(value):
        raise MisfitError("answer: not as many starts as texts")
    return [
        span for item, at in zip(value, starts, strict=True) for span in _spans(item, at, passage)
    ]


def _span(places: Sequence[Any], passage: str) -> tuple[str, int]:
    """Return the text between two offsets, and its start."""
    if len(places) != 2:
        raise MisfitError("answer: more offsets than a start and an end")
    first, end = (_whole(place, "answer: offsets that are not whole numbers") for place in places)
    if not 0 <= first < end <= len(passage):
        raise MisfitError("answer: offsets outside the passage")
    if passage[first:end].isspace():
        raise MisfitError("answer: offsets of white space")
    return passage[first:end], first


def _are_usual(values: Sequence[Any], what: str) -> bool:
    """Return True for texts or ids that would be read as they are, which saves much time."""
    if set(map(type, values)) != {str} or not all(values):
        return False
    joined = "".join(values)
    if what in ("passage_id", "query_id"):
        return joined.isascii() and joined.split() == [joined]
    return what in ("passage", "query") and joined.isascii() and not any(map(str.isspace, values))


def _text(value: Any, what: str) -> str:
    """Return a text; None and white space become empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MisfitError(f"{what}: not a text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MisfitError(f"{what}: text that is not valid Unicode") from None
    return "" if value.isspace() else value


def _passage(value: Any) -> str:
    if text := _text(value, "passage"):
        return text
    raise MisfitError("no passage")


def id_of(value: Any, what: str) -> str:
    """Return an id as text, empty for None.

    Raises:
        MisfitError: neither a text without white space nor a whole number.
    """
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    text = _text(value, what)
    if text and text.split() != [text]:
        raise MisfitError(f"{what}: white space in it")
    return text


def _grade(label: Any, grades: Mapping[str, int] | None, counts: RowCounts) -> int:
    if label is None or label == "":
        return 1
    if grades:
        name = label.strip() if isinstance(label, str) else str(label).removesuffix(".0")
        counts.grades[name] = label = grades.get(name, -1 if name == "-1" else 0)
    cause = (
        f"label: not a whole number from 0 to {HIGHEST_GRADE:,}; classes need --grade CLASS=GRADE"
    )
    try:
        grade = _whole(label, cause)
    except MisfitError:
        if isinstance(label, str) and len(counts.grades) < MOST_CLASSES:
            counts.grades[label.strip()] = -1
        raise
    if grade == -1:
        raise MisfitError("unlabelled (label -1)")
    if not 0 <= grade <= HIGHEST_GRADE:
        raise MisfitError(cause)
    return grade


def _split(value: Any) -> str:
    name = _text(value, "split")
    if name and not re.fullmatch(NAME, name):
        raise MisfitError(
            "split: a name with characters other than letters, digits, '_', '.', '+' and '-'"
        )
    return SPLIT_WORDS.get(name.lower(), name)


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, one value as a list of it, and None as an empty list."""
    return value if _is_list(value) else [] if value is None else [value]


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_empty(value: Any) -> bool:
    """Return True for an empty list of answers: the passage has none, as in SQuAD 2.0."""
    value = _plain(value.get("text", "") if isinstance(value, dict) else value)
    return isinstance(value, list) and not value


def _whole(value: Any, cause: str) -> int:
    """Return a number, or a text of one, as a whole number.

    Raises:
        MisfitError: anything else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise MisfitError(cause) from None
    if not number.is_integer():
        raise MisfitError(cause)
    return int(number)
