"""Small training and test sets of invented text, in the forms that users have, and what is in the
files that a search leaves.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.overlap.lines import FOLDER

Row = Mapping[str, Any]


def text_of(number: int, words: int = 30) -> str:
    """A text of its own: no two numbers share a run of words."""
    return " ".join(f"w{number}x{place}" for place in range(words))


def query_of(number: int) -> str:
    """A query of seven words."""
    return text_of(1_000 + number, 7)


def triplets(numbers: Sequence[int]) -> list[Row]:
    """Rows as sentence-transformers train on: an anchor, its positive and a negative, which every
    second row lacks.
    """
    return [
        {
            "anchor": query_of(n),
            "positive": text_of(n),
            "negative_1": text_of(2_000 + n) if n % 2 else None,
        }
        for n in numbers
    ]


def write_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_csv(path: Path, rows: Sequence[Row]) -> Path:
    with open(path, "w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_beir(folder: Path, numbers: Sequence[int], split: str = "test") -> Path:
    """A folder in BEIR's form, each query with its passage, and two passages that no judgement
    names.
    """
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{n}", "title": "", "text": text_of(n)} for n in [*numbers, 901, 902]]
    write_lines(folder / "corpus.jsonl", corpus)
    write_lines(folder / "queries.jsonl", [{"_id": f"q{n}", "text": query_of(n)} for n in numbers])
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in numbers)]
    (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def write_collection(
    place: Path, passages: Mapping[str, str], **splits: tuple[Mapping[str, str], Sequence[Qrel]]
) -> Collection:
    """A collection of passages by id, with queries by id and judgements of each split."""
    with create_collection(place) as writer:
        writer.add_passages(Passage(*one) for one in passages.items())
        for split, (queries, qrels) in splits.items():
            writer.add_split(split, [Query(*one) for one in queries.items()], qrels)
        writer.finish(
            Manifest("collection", place.name, "a test", licence="invented"), allow_absent=True
        )
    return Collection(place)


def pairs_in(out: Path, name: str) -> list[dict[str, Any]]:
    """The pairs of a file of the output."""
    return [json.loads(line) for line in (out / FOLDER / f"{name}.jsonl").read_text().splitlines()]


def ids_in(out: Path, name: str) -> list[tuple[str, str]]:
    """The training and test ids in a file of the output."""
    return [(pair["train_id"], pair["test_id"]) for pair in pairs_in(out, name)]


def bytes_of(out: Path) -> dict[str, bytes]:
    """The pairs and results of an output."""
    files = [*(out / FOLDER).iterdir(), out / "results.json"]
    return {path.name: path.read_bytes() for path in files}
