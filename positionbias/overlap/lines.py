"""Write pairs as JSON lines, in the form that ``leakage.pairs`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.overlap.detectors import SCORES, Texts
from positionbias.overlap.found import Found
from positionbias.overlap.joined import Joined
from positionbias.overlap.settings import DETECTORS

__all__ = ["FOLDER", "file_of", "joined_records", "records", "write_records"]

FOLDER = "pairs"
_AT_ONCE = 4_096


def file_of(test_set: str, unit: str) -> str:
    """Return the file of a test set's pairs of a unit, within the artefact."""
    return f"{FOLDER}/{test_set}.{unit}.jsonl"


def records(
    found: Found, places: np.ndarray, tests: Texts, sources: Sequence[str]
) -> Iterable[dict[str, Any]]:
    """Yield the pairs at these places, with ids and texts, in order."""
    for start in range(0, len(places), _AT_ONCE):
        part = places[start : start + _AT_ONCE]
        taken = found.take(part)
        for place, train_id, text in zip(part.tolist(), *taken, strict=True):
            test = int(found.tests[place])
            yield {
                "source": sources[found.sources[place]],
                "train_id": train_id,
                "test_id": tests.ids[test],
                "train_text": text,
                "test_text": tests.texts[test],
                **_evidence(found.found_by[place], found.scores[place]),
            }


def joined_records(
    found: Joined, queries: Iterable[Mapping[str, Any]], passages: Iterable[Mapping[str, Any]]
) -> Iterable[dict[str, Any]]:
    """Yield joined pairs, from the records of their queries and their passages."""
    for place, (query, passage) in enumerate(zip(queries, passages, strict=True)):
        ids = {"train_passage_id": passage["train_id"], "test_passage_id": passage["test_id"]}
        named = {
            name: query[name]
            for name in ("source", "train_id", "test_id", "train_text", "test_text")
        }
        yield {**named, **_evidence(found.found_by[place], found.scores[place]), **ids}


def _evidence(found_by: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    by_name = {name: round(score, 6) for name, score in zip(SCORES, scores.tolist(), strict=True)}
    return {
        "found_by": [name for name, by in zip(DETECTORS, found_by, strict=True) if by],
        **by_name,
    }


def write_records(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        for line in lines:
            handle.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
