"""About how long a study's steps take, for a dry run: rough rates, unless the study's own receipts know better."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.positions.rotate import Rotation
from positionbias.studies.step import Work
from positionbias.training.plan import TrainPlan

__all__ = ["measuring", "ordering", "probing", "reranking", "retrieving", "rotating", "training"]

# seconds of one, on one of two cores of an AMD EPYC
ROTATED_PASSAGE = {"blingfire": 4e-5, "whitespace": 1e-5}
INDEXED_PASSAGE = 2e-4
ORDERED_QUERY = 3e-3
MEASURED_INPUT = 5.0


def _constant(seconds: float) -> Callable[[], float]:
    return lambda: seconds


def rotating(collection: Collection, rotation: Rotation) -> Work:
    """Passages rotated."""
    return Work(f"passages rotated by {rotation.words}", len(collection), _constant(ROTATED_PASSAGE.get(rotation.words, 4e-5)))


def _queries(collection: Collection, split: str) -> int:
    return int(collection.manifest.content["splits"].get(split, {}).get("queries", 0))


def retrieving(collection: Collection, split: str) -> Work:
    """An index is built once, and each query reads postings in proportion to the passages."""
    queries = _queries(collection, split)
    return Work("BM25 passages × (queries + 1000)", len(collection) * (queries + 1000), _constant(INDEXED_PASSAGE / 1000))


def training(collection: Collection, plan: TrainPlan, state: Path | None) -> tuple[Work, str]:
    """Steps at most, less those that an interrupted training has behind it; and that in words."""
    done = int(state.name.rpartition("-")[2]) if state else 0
    steps = plan.training.max_steps
    note = f"at most {steps:,} steps" + (f", from {done:,}" if done else "")
    unit = f"training steps of {plan.kind}, {plan.training.batch_size} pairs each"
    return Work(unit, max(0, steps - done), lambda: None), note


def reranking(collection: Collection, split: str, model: Path, depth: int) -> Work:
    """Pairs to score."""
    return Work(f"pairs re-ranked by {model.name.partition('-')[0]}", _queries(collection, split) * depth, lambda: None)


def ordering(collection: Collection, split: str) -> Work:
    """Queries whose candidates are ordered by position."""
    return Work("queries ordered by position", _queries(collection, split), _constant(ORDERED_QUERY))


def probing(collection: Collection, passages: int | None, model: Path) -> Work:
    """Passages encoded."""
    return Work(
        f"passages probed of {model.name.partition('-')[0]}", min(passages or len(collection), len(collection)), lambda: None
    )


def measuring(inputs: int) -> Work:
    """Artefacts measured."""
    return Work("artefacts measured", inputs, _constant(MEASURED_INPUT))
