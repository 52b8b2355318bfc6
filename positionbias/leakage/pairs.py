"""Read pairs of a training and a test text: from ``find`` or ``overlap``, hand-filled sheets or the
published labels.

The first character identifies one of two forms. JSON lines: an object a line with ``train_id``,
``test_id`` and optionally ``field``, ``source``, ``train_text``, ``test_text``, ``label`` (or
``labels``, a list), ``found_by``, ``weight``, the scores, and for a query with its passage
``train_passage_id`` and ``test_passage_id``; the keys of the published annotations
(``msmarco_query_id``, ``topic_id``, ``sbert_cosine`` …) are synonyms. TSV: a header with the same
names.
"""

from __future__ import annotations

import csv
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core.blocks import file_lines
from positionbias.core.csv_cells import read_cell
from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import JsonObject, parse_json
from positionbias.leakage.labels import Label, label_names, parse_labels

__all__ = [
    "LEXICAL",
    "OVERLAP_DETECTORS",
    "OVERLAP_SCORES",
    "PAIRS",
    "SCORES",
    "SEMANTIC",
    "TOPIC_TEXTS",
    "Ids",
    "Pair",
    "best_by_pair",
    "pairs_file",
    "read_pairs",
]

PAIRS = "pairs.jsonl"  # in a folder written by ``find``
SEMANTIC, LEXICAL = "semantic", "lexical"  # the detectors of a pair
OVERLAP_DETECTORS = ("exact", "ngram")
OVERLAP_SCORES = ("of_test", "of_train")  # shares of one text's runs of words that the other has
SCORES = ("cosine", "jaccard", "containment", *OVERLAP_SCORES)
_NARRATIVE = "narrative"
_PASSAGE_IDS = ("train_passage_id", "test_passage_id")
TOPIC_TEXTS = ("title", "variant", "description", _NARRATIVE)
_SAME = {
    "msmarco_query_id": "train_id",
    "msmarco_query": "train_text",
    "topic_id": "test_id",
    "sbert_cosine": "cosine",
}

Record = JsonObject


class Ids(NamedTuple):
    """The identity of a pair: the source, its two ids, and those of the passages if it is one of
    queries with their passages.
    """

    source: str
    train_id: str
    test_id: str
    train_passage_id: str = ""
    test_passage_id: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """Return the key of random draws: without passages the first three."""
        return self if self.train_passage_id or self.test_passage_id else self[:3]


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A training text and a test text, mostly queries, with their known texts, scores and label.

    ``test_texts`` are by field; ``field`` is the matching one. ``weight`` is the number of pairs
    that a drawn pair represents. ``place`` and ``line`` are its file and line; ``source`` is the
    training query's source if there are several. ``found_by`` names the detectors that found it,
    empty if unknown. A pair of two queries with their passages has the ids of these.
    """

    train_id: str
    test_id: str
    scores: Mapping[str, float]
    train_text: str = ""
    test_texts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    field: str = ""
    label: Label | None = None
    weight: float = 1.0
    line: int = 0
    source: str = ""
    place: str = "pairs"
    found_by: tuple[str, ...] = ()
    train_passage_id: str = ""
    test_passage_id: str = ""

    @property
    def by_words_alone(self) -> bool:
        """Return True if only the lexical detector found it; the precision of such pairs is
        unknown.
        """
        return self.found_by == (LEXICAL,)

    @property
    def ids(self) -> Ids:
        """Return the identity of the pair, independent of its field."""
        return Ids(
            self.source, self.train_id, self.test_id, self.train_passage_id, self.test_passage_id
        )

    def searched(self) -> list[str]:
        """Return the test query's texts to compare with a training query: all, without a narrative
        if there are other fields.
        """
        return [text for name, text in self.test_texts.items() if name != _NARRATIVE] or list(
            self.test_texts.values()
        )


def pairs_file(place: Path | str) -> Path:
    """Return the file of pairs at a path: the path itself, or the file in a folder of ``find``.

    Raises:
        InputError: a folder without one.
    """
    place = Path(place)
    if not place.is_dir():
        return place
    if not (place / PAIRS).is_file():
        do = "give a file of pairs, or the --out of posbias leakage find"
        raise bad_input(place, wanted=f"a folder with {PAIRS}", found="none", do=do)
    return place / PAIRS


def read_pairs(place: Path | str) -> Iterator[Pair]:
    """Stream the pairs of a file, plain or compressed, or of a folder of ``find``.

    Raises:
        InputError: a line that is not a pair, a score that is not a number, or an unknown label
            (with the line).
    """
    path = pairs_file(place)
    lines = file_lines(path)
    first = next((item for item in lines if item[1].strip()), None)
    if first is None:
        return
    form = _json_records if first[1].lstrip()[0] in "{[" else _tsv_records
    for number, record in form(path, chain([first], lines)):
        yield _pair(path, number, record)


def _json_records(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Record]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise _bad(path, number, "one JSON object a line", str(error)) from None
        if not isinstance(record, dict):
            raise _bad(path, number, "one JSON object a line", f"a {type(record).__name__}")
        yield number, record


def _tsv_records(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Record]]:
    """Yield the rows by header; spreadsheet quoting lets a row span several lines."""
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for number, line in lines:
            at = number
            yield f"{line}\n"  # kept in a quoted cell of several lines

    rows = csv.reader(texts(), delimiter="\t", strict=True)
    try:
        head = [name.strip() for name in next(rows)]
        columns = [_SAME.get(name, name) for name in head]
        for wanted in ("train_id", "test_id"):
            if columns.count(wanted) != 1:
                raise _bad(
                    path,
                    at,
                    "a header with train_id and test_id, each once",
                    ", ".join(head) or "nothing",
                )
        before = at
        for row in rows:
            number, before = before + 1, at
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(columns):
                raise _bad(path, number, f"{len(columns)} columns, as in the header", f"{len(row)}")
            yield number, dict(zip(columns, (read_cell(cell.strip()) for cell in row), strict=True))
    except csv.Error as error:
        raise _bad(path, at, "rows of a TSV file", str(error)) from None


def _bad(path: Path, line: int, wanted: str, found: str) -> InputError:
    return bad_input(path, line=line, wanted=wanted, found=found, do="fix the line")


def _pair(path: Path, line: int, given: Record) -> Pair:
    record = {_SAME.get(name, name): value for name, value in given.items()}
    ids = [_id(path, line, record, name) for name in ("train_id", "test_id")]
    field = _text(path, line, record, "field")
    texts = {name: text for name in TOPIC_TEXTS if (text := _text(path, line, record, name))}
    if text := _text(path, line, record, "test_text"):
        texts.setdefault(field or "text", text)
    numbers = {
        name: _number(path, line, record[name], name)
        for name in (*SCORES, "weight")
        if record.get(name) not in (None, "")
    }
    weight = numbers.pop("weight", 1.0)
    if weight <= 0:
        raise _bad(path, line, "a weight above 0", f"{weight:g}")
    train_text, source = (_text(path, line, record, name) for name in ("train_text", "source"))
    label, found_by = _label(path, line, record), _found_by(path, line, record)
    passages = [
        _id(path, line, record, name) if record.get(name) not in (None, "") else ""
        for name in _PASSAGE_IDS
    ]
    return Pair(
        ids[0],
        ids[1],
        numbers,
        train_text,
        texts,
        field,
        label,
        weight,
        line,
        source,
        str(path),
        found_by,
        *passages,
    )


def _id(path: Path, line: int, record: Record, name: str) -> str:
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise _bad(path, line, f"{name!r}, an id", "none" if value in (None, "") else repr(value))
    return value


def _text(path: Path, line: int, record: Record, name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _bad(path, line, f"{name!r} as text", f"a {type(value).__name__}")
    return value


def _number(path: Path, line: int, value: Any, name: str) -> float:
    try:
        number = (
            float(value)
            if isinstance(value, str | int | float) and not isinstance(value, bool)
            else math.nan
        )
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _bad(path, line, f"{name!r} as a number", repr(value))
    return number


def _found_by(path: Path, line: int, record: Record) -> tuple[str, ...]:
    """Return the detectors, given as a list or as words in a sheet."""
    value = record.get("found_by") or []
    names = tuple(
        value.split() if isinstance(value, str) else value if isinstance(value, list) else [value]
    )
    known = (SEMANTIC, LEXICAL, *OVERLAP_DETECTORS)
    if wrong := [name for name in names if name not in known]:
        raise _bad(path, line, f"'found_by' of {', '.join(known)}", repr(wrong[0]))
    return names


def _label(path: Path, line: int, record: Record) -> Label | None:
    value = record.get("labels", record.get("label"))
    given = value if isinstance(value, list) else [] if value is None else [value]
    named = [item for item in given if isinstance(item, str)]
    try:
        if len(named) < len(given):
            raise ValueError(next(item for item in given if not isinstance(item, str)))
        return parse_labels(named)
    except ValueError as error:
        raise _bad(path, line, f"a label: {label_names()}", repr(error.args[0])) from None


def best_by_pair(pairs: Iterable[Pair], score: str) -> list[Pair]:
    """Keep each pair once, with its highest score (the first of ties), as a training query may
    match several fields.

    Raises:
        InputError: a pair without that score (with its line).
    """
    best: dict[Ids, Pair] = {}
    for pair in pairs:
        if score not in pair.scores:
            found = ", ".join(pair.scores) or "no score"
            raise bad_input(
                pair.place,
                line=pair.line,
                wanted=f"a {score}",
                found=found,
                do="give another --score, or add it",
            )
        known = best.get(pair.ids)
        if known is None or pair.scores[score] > known.scores[score]:
            best[pair.ids] = pair
    return list(best.values())
