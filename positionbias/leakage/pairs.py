"""Pairs of a training and a test text: found by ``leakage find`` or ``overlap``, in a sheet that
people fill in, or labelled by the authors of the leakage paper; and whether they count as leaks.

A file has one pair a line, as JSON objects or as TSV below a header. Both name ``train_id`` and
``test_id``, and optionally scores and what else a ``Pair`` has. The keys of the published
annotations (``msmarco_query_id``, ``topic_id``, ``sbert_cosine`` …) are synonyms.

The 5 labels are those of the leakage paper's Table 2b (reformulation types of Jansen, Booth, Spink
2009, and pairs of different topics). The published annotations give several labels per pair, one
for the topic's title and one for its nearest variant: any "different topic" decides, else the
title's type, else the variant's [decision]. Counted this way, the published files give the paper's
numbers for Robust04 (648 true, 93 false).
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from positionbias.core.blocks import file_lines
from positionbias.core.csv_cells import read_cell, write_rows
from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import parse_json
from positionbias.core.publish import atomic_file

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
DIFFERENT = "different topic"
UNTYPED = "leak"  # a leak of unknown type
TYPES = ("identical", "generalization", "specialization", "reformulation")
LABELS = (*TYPES, UNTYPED, DIFFERENT)  # in the order of Table 2b
_LABELLED = ("", "title", "variant", "description")  # the field whose label counts, in this order
_ALSO = {
    "generalisation": "generalization",
    "specialisation": "specialization",
    **dict.fromkeys(("different", "no leak", "no", "false", "0"), DIFFERENT),
    **dict.fromkeys(("yes", "true", "1"), UNTYPED),
}
_IDS = ("train_id", "test_id")
_COLUMNS = ("source", "field", *_IDS, "train_text", "test_text")


class Ids(NamedTuple):
    """The identity of a pair: the source and its two ids."""

    source: str
    train_id: str
    test_id: str


class Pair(msgspec.Struct, frozen=True):
    """A training text and a test text, mostly queries, with their known texts, scores and label.

    ``field`` is the field of the test text that matched; ``label`` is one of ``LABELS``, or "".
    ``weight`` is the number of pairs that a drawn pair represents. ``place`` and ``line`` are its
    file and line; ``source`` is the training query's source if there are several. ``found_by``
    names the detectors that found it, empty if unknown.
    """

    train_id: Annotated[str, msgspec.Meta(min_length=1)]
    test_id: Annotated[str, msgspec.Meta(min_length=1)]
    scores: Mapping[str, Annotated[float, msgspec.Meta(ge=-2, le=2)]]
    train_text: str = ""
    test_text: str = ""
    field: str = ""
    label: str = ""
    weight: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    line: int = 0
    source: str = ""
    place: str = "pairs"
    found_by: tuple[Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(DETECTORS)})$")], ...] = ()

    @property
    def leaks(self) -> bool:
        """Return True if it is labelled as a leak."""
        return self.label not in ("", DIFFERENT)

    @property
    def ids(self) -> Ids:
        """Return the identity of the pair, independent of its field."""
        return Ids(self.source, self.train_id, self.test_id)


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


def label_names() -> str:
    """Return the known labels, for messages."""
    return f"{', '.join(LABELS)}, or yes and no"


def parse_labels(texts: Iterable[Any]) -> str:
    """Combine labels, in any case, each optionally after its field and a hyphen; "" without any.

    >>> parse_labels(["Generalisation"]), parse_labels(["Variant-Identical", "Different Topic"])
    ('generalization', 'different topic')

    Raises:
        ValueError: an unknown label.
    """
    known: dict[str, str] = {}
    for text in map(str, texts):
        field, _, name = text.rpartition("-")
        label = " ".join(name.casefold().replace("_", " ").split())
        if (label := _ALSO.get(label, label)) not in ("", *LABELS):
            raise ValueError(f"the label {name!r}, none of {label_names()}")
        if label:
            known.setdefault(DIFFERENT if label == DIFFERENT else field.strip().casefold(), label)
    return next((known[place] for place in (DIFFERENT, *_LABELLED) if place in known), "")


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
    record["label"] = parse_labels(labels if isinstance(labels, list) else [labels])
    return msgspec.convert({**record, "place": place, "line": line}, Pair, strict=False)


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
    lines = [[*cells, pair.label] for cells, pair in zip(body, pairs, strict=True)]
    with (
        atomic_file(out, overwrite=overwrite) as partial,
        open(partial, "w", encoding="utf-8", newline="") as handle,
    ):
        write_rows(handle, [[*columns, "label"], *lines], delimiter="\t")


def _record(pair: Pair) -> dict[str, Any]:
    known = {name: cell for name in _COLUMNS if (cell := getattr(pair, name))}
    weight = {"weight": pair.weight} if pair.weight != 1 else {}
    return {**known, **pair.scores, "found_by": pair.found_by, **weight}


class Cause(StrEnum):
    """A cause for not counting a pair as a leak."""

    DIFFERENT_TOPIC = "pairs_of_different_topics"
    WORDS_ALONE = "pairs_found_by_words_alone"
    BELOW = "pairs_below_threshold"


def set_aside(pair: Pair, threshold: float | None = None, *, lexical: bool = False) -> Cause | None:
    """Return why a pair does not count, or None if it does: where it is labelled as a leak, or has
    no label and a cosine of at least ``threshold``.

    Without a threshold every pair counts except those found by words alone, whose precision is
    unknown; ``lexical`` counts these too, with any score.

    Raises:
        InputError: a pair without label and cosine (with its line) if a threshold is given.
    """
    if pair.label:
        return None if pair.leaks else Cause.DIFFERENT_TOPIC
    if pair.found_by == (LEXICAL,):
        reached = threshold is not None and pair.scores.get("cosine", -math.inf) >= threshold
        return None if lexical or reached else Cause.WORDS_ALONE
    if threshold is None:
        return None
    if "cosine" not in pair.scores:
        wanted, do = "a cosine or a label", "leave the threshold out, or add one of them"
        raise bad_input(pair.place, line=pair.line, wanted=wanted, found="neither", do=do)
    return Cause.BELOW if pair.scores["cosine"] < threshold else None


def leaked_tests(pairs: Iterable[Pair]) -> set[str]:
    """Return the test queries of all pairs, except those labelled "different topic"; the training
    queries may be of any source.

    Raises:
        InputError: no such pair.
    """
    found = {pair.test_id for pair in pairs if pair.label != DIFFERENT}
    if not found:
        raise InputError("wanted pairs with leaked test queries; found none; check the file")
    return found
