"""Small collections of invented text, and what is in the files that a search leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.overlap.find import FOLDER


def text_of(number: int, words: int = 30) -> str:
    """A text of its own: no two numbers share a run of words."""
    return " ".join(f"w{number}x{place}" for place in range(words))


def query_of(number: int) -> str:
    """A query of seven words."""
    return text_of(1_000 + number, 7)


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


def numbered(place: Path, numbers: Sequence[int], split: str = "train", more: str = "") -> Path:
    """A collection of queries, each with its passage, to whose text ``more`` is added."""
    passages = {f"d{n}": f"{text_of(n)} {more}".strip() for n in numbers}
    queries = {f"q{n}": query_of(n) for n in numbers}
    write_collection(
        place, passages, **{split: (queries, [Qrel(f"q{n}", f"d{n}", 1) for n in numbers])}
    )
    return place


def passages_only(place: Path, passages: Mapping[str, str]) -> Path:
    """A collection of passages without a split."""
    return write_collection(place, passages).path


def pairs_in(out: Path, name: str) -> list[dict[str, Any]]:
    """The pairs of a file of the output."""
    return [json.loads(line) for line in (out / FOLDER / f"{name}.jsonl").read_text().splitlines()]


def ids_in(out: Path, name: str) -> list[tuple[str, str]]:
    """The training and test ids in a file of the output."""
    return [(pair["train_id"], pair["test_id"]) for pair in pairs_in(out, name)]


def bytes_of(out: Path) -> dict[str, bytes]:
    """The pairs and rows of an output."""
    files = [*(out / FOLDER).iterdir(), out / "rows.parquet"]
    return {path.name: path.read_bytes() for path in files}
