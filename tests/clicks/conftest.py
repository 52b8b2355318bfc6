"""A small collection of clicks with its candidates, and what the tests make of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from positionbias.clicks.settings import ClickSettings
from positionbias.clicks.trainset import write_click_set
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.seal import MANIFEST

QUERIES, PASSAGES, DEPTH = 30, 80, 25


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path]:
    """30 queries with 25 candidates each; query n has 1 + n mod 3 clicks among them, one shown and
    not clicked, and a third grade in another set.
    """
    folder = tmp_path_factory.mktemp("clicks")
    lines, qrels, further = [], [], []
    for number in range(QUERIES):
        ranked = [f"p{(number * 7 + rank * 3) % PASSAGES}" for rank in range(DEPTH)]
        lines += [
            f"q{number} Q0 {item} {rank} {50 - rank} bm25\n" for rank, item in enumerate(ranked, 1)
        ]
        qrels += [Qrel(f"q{number}", ranked[2 * place], 1) for place in range(1 + number % 3)]
        qrels.append(Qrel(f"q{number}", ranked[1], 0))
        further.append(Qrel(f"q{number}", ranked[5], 2))
    qrels += [Qrel("q0", "gone", 1), Qrel("alone", "p3", 1)]
    with create_collection(folder / "tiny") as writer:
        writer.add_passages(
            Passage(f"p{n}", f"text\tof\n{n}" if n else "") for n in range(PASSAGES)
        )
        queries = [
            *(Query(f"q{n}", f"question {n}") for n in range(QUERIES)),
            Query("alone", "x"),
            Query("unjudged", "y"),
        ]
        writer.add_split("train", queries, qrels)
        writer.add_qrels("train", "dctr", further)
        writer.finish(Manifest("collection", "tiny", "a test"), allow_absent=True)
    (folder / "train.run").write_text("".join(lines))
    return Collection(folder / "tiny"), folder / "train.run"


def draw(place: Path, clicks: tuple[Collection, Path], **settings: Any) -> Groups:
    return write_click_set(place, *clicks, ClickSettings(**settings))


def contents(folder: Path) -> Mapping[str, str]:
    """Checksums of all files but the manifests, which say when and how they were made."""
    return {
        str(path.relative_to(folder)): sha256_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
