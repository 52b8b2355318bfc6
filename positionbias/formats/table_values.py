"""Read passages, queries and answers from the values of a table's row, and count the rows that do
not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from positionbias.core.json_text import NAME
from positionbias.core.records import HIGHEST_GRADE
from positionbias.formats.columns import SPLIT_WORDS
from positionbias.text.formatting import plural

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
        again = ", ".join(f"{what} {number:,}" for what, number in self.again.items() if number)
        yield plural(self.rows, "row") + (f"; standing again: {again}" if again else "")
        if self.grades:
            yield "grades: " + ", ".join(
                f"{name} {'left out' if grade < 0 else grade}"
                for name, grade in self.grades.items()
            )
        for cause, number in self.left_out.items():
            yield f"{plural(number, 'row')} left out, {cause}; the first: {self.first[cause]}"
        for number, what, became in (
            (self.unanswerable, "query", "with an empty list of answers left out; passages stay"),
            (self.not_relevant, "pair", "judged not relevant, answers left out"),
            (
                self.moved,
                "answer",
                "not where given: searched in the passage, else without a place",
            ),
        ):
            if number:
                yield f"{plural(number, what)} {became}"


class MisfitError(Exception):
    """A value that cannot be used; the text says why."""


class Row(NamedTuple):
    """A passage, and the query that it was judged for; a missing id is empty, as is the query of a
    passage alone. Answers are texts with their starts, None where unknown.
    """

    passage_id: str
    passage: str
    query_id: str
    query: str
    grade: int
    split: str
    answers: Sequence[tuple[str, int | None]] = ()


def read_row(
    values: Mapping[str, Any], counts: RowCounts, split: str, grades: Mapping[str, int]
) -> list[Row]:
    """Return the passages of a row's values by meaning: several where the passage or the split is a
    list, or with negatives. ``grades`` are those of classes that labels name, ``split`` that of a
    row without one.

    Raises:
        MisfitError: a value that cannot be used.
    """
    row = values
    if not _SIMPLE.issuperset(map(type, values.values())):
        row = {what: _plain(value) for what, value in values.items()}
    answer, texts = row.get("answer"), row.get("passage")
    query = text_in(row.get("query"), "query")
    if query and _is_empty(answer):
        counts.unanswerable, query = counts.unanswerable + 1, ""
    answered = answer is not None and not (isinstance(answer, str) and not answer)
    beside = [row.get("passage_id"), row.get("label")]
    if isinstance(texts, list):
        lists = [value if isinstance(value, list) else [value] * len(texts) for value in beside]
        if {len(texts)} != {*map(len, lists)}:
            raise MisfitError("lists of passages, ids and labels of different lengths")
        pieces = [tuple(map(_plain, piece)) for piece in zip(texts, *lists, strict=True)]
        pieces = pieces or [(None, None, None)]
    else:
        pieces = [(texts, *beside)]
    negatives = [(text, None, 0) for text in _listed(row.get("negative"))]
    splits = [_split(name) or split for name in _listed(row.get("split")) or [None]]
    alone = len(pieces) == len(splits) == 1 and not negatives
    query_id, rows = id_in(row.get("query_id"), "query id"), []
    for number, (text, passage_id, label) in enumerate(pieces + negatives):
        passage, answers = text_in(text, "passage"), list[tuple[str, int | None]]()
        if not passage:
            raise MisfitError("no passage")
        grade = _grade(label, grades, counts)
        if query and answered and number < len(pieces):
            if grade:  # of several passages in a row, the answer belongs to the relevant ones
                answers = _located(answer, row.get("answer_start"), passage, counts)
            else:
                counts.not_relevant += alone
        judged = (id_in(passage_id, "passage id"), passage, query_id, query, grade)
        rows += [Row(*judged, name, answers) for name in splits]
    return rows


def _plain(value: Any) -> Any:
    """Return a value with lists for arrays, and None for what is missing."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "tolist"):  # arrays, numpy's numbers, a pandas Series
        value = value.tolist()
    missing = value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return None if missing else value


def _is_empty(value: Any) -> bool:
    """Return True for an empty list of answers: the passage has none, as in SQuAD 2.0."""
    value = _plain(value.get("text", "") if isinstance(value, dict) else value)
    return isinstance(value, list) and not value


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
    try:
        for text, given in _spans(value, start, passage):
            place = None if given is None else start_in(passage, text, given)
            counts.moved += place != given
            answers.append((text, place))
    except RecursionError:
        raise MisfitError("lists within lists") from None
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
    if not isinstance(value, list):
        text = text_in(str(value) if type(value) in (int, float) else value, "answer")
        start = start[0] if isinstance(start, list) and len(start) == 1 else start
        missing = start is None or start == ""
        place = -1 if missing else _whole(start, "answer start: not a whole number")
        return [(text, place if place >= 0 else None)] if text else []  # -1 means unknown
    value = list(map(_plain, value))
    if len(value) > 1 and {*map(type, value)} <= {int, float}:
        return [_span(value, passage)]
    starts = start if isinstance(start, list) else [start] * len(value)
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


def text_in(value: Any, what: str) -> str:
    """Return a text; None and white space become empty.

    Raises:
        MisfitError: it is no text, or none in Unicode.
    """
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


def id_in(value: Any, what: str) -> str:
    """Return an id as text, empty for None.

    Raises:
        MisfitError: neither a text without white space nor a whole number.
    """
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    text = text_in(value, what)
    if text and text.split() != [text]:
        raise MisfitError(f"{what}: white space in it")
    return text


def _grade(label: Any, grades: Mapping[str, int], counts: RowCounts) -> int:
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
    name = text_in(value, "split")
    if name and not re.fullmatch(NAME, name):
        raise MisfitError(
            "split: a name with characters other than letters, digits, '_', '.', '+' and '-'"
        )
    return SPLIT_WORDS.get(name.lower(), name)


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, one value as a list of it, and None as an empty list."""
    return value if isinstance(value, list) else [] if value is None else [value]


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
