"""Pairs of a training and a test text: found by ``leakage find`` or ``overlap``, in a sheet that
people fill in, or labelled by the authors of the leakage paper.

A file has one pair a line, as JSON objects or as TSV below a header. Both name ``train_id`` and
``test_id``, and optionally scores and what else a ``Pair`` has. The keys of the published
annotations (``msmarco_query_id``, ``topic_id``, ``sbert_cosine`` …) are synonyms.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from positionbias.core.blocks import file_lines
from positionbias.core.csv_cells import read_cell, write_rows
from positionbias.core.errors import bad_input
from positionbias.core.json_text import parse_json
from positionbias.core.publish import atomic_file
from positionbias.leakage.labels import Label, parse_labels

__all__ = [
    "DETECTORS",
    "LEXICAL",
    "OVERLAP_DETECTORS",
    "OVERLAP_SCORES",
    "PAIRS",
    "SCORES",
    "SEMANTIC",
    "Ids",
    "Pair",
    "best_by_pair",
    "pairs_file",
    "read_pairs",
    "write_pairs",
    "write_sheet",
]

PAIRS = "pairs.jsonl"  # in a folder written by ``find``
SEMANTIC, LEXICAL = "semantic", "lexical"  # the detectors of ``find``
OVERLAP_DETECTORS = ("exact", "ngram")
DETECTORS = (SEMANTIC, LEXICAL, *OVERLAP_DETECTORS)
OVERLAP_SCORES = ("of_test", "of_train")  # shares of one text's runs of words that the other has
SCORES = ("cosine", "jaccard", "containment", *OVERLAP_SCORES)
_TOPIC_TEXTS = ("title", "variant", "description", "narrative")
_SAME = {
    "msmarco_query_id": "train_id",
    "msmarco_query": "train_text",
    "topic_id": "test_id",
    "sbert_cosine": "cosine",
    "label": "labels",
}
_IDS = ("train_id", "test_id", "train_passage_id", "test_passage_id")
_COLUMNS = ("source", "field", "train_id", "test_id", "train_text", "test_text", *_IDS[2:])


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


class Pair(msgspec.Struct, frozen=True):
    """A training text and a test text, mostly queries, with their known texts, scores and label.

    ``field`` is the field of the test text that matched. ``weight`` is the number of pairs that a
    drawn pair represents. ``place`` and ``line`` are its file and line; ``source`` is the training
    query's source if there are several. ``found_by`` names the detectors that found it, empty if
    unknown. A pair of two queries with their passages has the ids of these.
    """

    train_id: Annotated[str, msgspec.Meta(min_length=1)]
    test_id: Annotated[str, msgspec.Meta(min_length=1)]
    scores: Mapping[str, Annotated[float, msgspec.Meta(ge=-2, le=2)]]
    train_text: str = ""
    test_text: str = ""
    field: str = ""
    label: Label | None = None
    weight: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    line: int = 0
    source: str = ""
    place: str = "pairs"
    found_by: tuple[Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(DETECTORS)})$")], ...] = ()
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
    first = next((line.lstrip() for _, line in file_lines(path) if line.strip()), "")
    for number, record in (_json if first[:1] in ("{", "[") else _tsv)(path):
        with _named(path, number):
            pair = _pair(record, str(path), number)
        yield pair


@contextmanager
def _named(path: Path, number: int) -> Iterator[None]:
    """Name the line in errors."""
    try:
        yield
    except (ValueError, RecursionError, csv.Error) as error:
        found = str(error).replace("$.", "")
        raise bad_input(
            path, line=number, wanted="a pair of texts", found=found, do="fix the line"
        ) from None


def _json(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in file_lines(path):
        if line.strip():
            with _named(path, number):
                record = parse_json(line)
                if not isinstance(record, dict):
                    raise ValueError(f"a {type(record).__name__}, not an object")
            yield number, record


def _tsv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows by header; spreadsheet quoting lets a row span several lines."""
    rows = csv.reader((f"{line}\n" for _, line in file_lines(path)), delimiter="\t", strict=True)
    head: list[str] = []
    while True:
        with _named(path, rows.line_num + 1):
            row = next(rows, None)
            if row is None:
                return
            if head and row and len(row) != len(head):
                raise ValueError(f"{len(row)} columns; the header has {len(head)}")
        cells = [read_cell(cell.strip()) for cell in row]
        if head and any(cells):
            yield rows.line_num, dict(zip(head, cells, strict=True))
        head = head or cells


def _pair(given: Mapping[str, Any], place: str, line: int) -> Pair:
    record = {_SAME.get(name, name): cell for name, cell in given.items() if cell not in (None, "")}
    record |= {name: str(record[name]) for name in _IDS if type(record.get(name)) is int}
    record["scores"] = {name: record[name] for name in SCORES if name in record}
    texts = (record[name] for name in ("test_text", *_TOPIC_TEXTS) if name in record)
    record["test_text"] = next(texts, "")
    if isinstance(names := record.get("found_by"), str):
        record["found_by"] = names.split()
    labels = record.pop("labels", [])
    label = parse_labels(labels if isinstance(labels, list) else [labels])
    return msgspec.convert(
        {**record, "place": place, "line": line, "label": label}, Pair, strict=False
    )


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
            do = "give another --score, or add it"
            raise bad_input(pair.place, line=pair.line, wanted=f"a {score}", found=found, do=do)
        known = best.setdefault(pair.ids, pair)
        if pair.scores[score] > known.scores[score]:
            best[pair.ids] = pair
    return list(best.values())


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write found pairs as JSON lines."""
    with open(path, "w", encoding="utf-8", newline="\n") as lines:
        for pair in pairs:
            lines.write(json.dumps(_record(pair), ensure_ascii=False, allow_nan=False) + "\n")


def write_sheet(out: Path | str, pairs: Sequence[Pair], *, overwrite: bool = False) -> None:
    """Write pairs as TSV, with a last column for labels, and without empty columns; runs of white
    space in a text become one space.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    rows = [{**_record(pair), "found_by": " ".join(pair.found_by)} for pair in pairs]
    used = {name for row in rows for name, cell in row.items() if cell not in ("", None)}
    columns = [name for name in (*_COLUMNS, *SCORES, "found_by", "weight") if name in used]
    body = [[" ".join(str(row.get(name, "")).split()) for name in columns] for row in rows]
    labels = [pair.label.name if pair.label else "" for pair in pairs]
    with (
        atomic_file(out, overwrite=overwrite) as partial,
        open(partial, "w", encoding="utf-8", newline="") as handle,
    ):
        lines = [[*cells, label] for cells, label in zip(body, labels, strict=True)]
        write_rows(handle, [[*columns, "label"], *lines], delimiter="\t")


def _record(pair: Pair) -> dict[str, Any]:
    known = {name: cell for name in _COLUMNS if (cell := getattr(pair, name))}
    weight = {"weight": pair.weight} if pair.weight != 1 else {}
    return {**known, **pair.scores, "found_by": pair.found_by, **weight}
