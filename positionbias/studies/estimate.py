"""About how long a study's steps take, for a dry run: rough rates, unless the study's own receipts know better."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.models.kinds import has_term_vectors
from positionbias.positions.rotate import Rotation
from positionbias.studies.calibrate import Calibration, Rates
from positionbias.studies.step import Work
from positionbias.training.plan import TrainPlan

__all__ = [
    "drawing",
    "encoding",
    "joining",
    "measuring",
    "ordering",
    "probing",
    "reranking",
    "retrieving",
    "rotating",
    "searching",
    "training",
]

# seconds of one, on one of two cores of an AMD EPYC
ROTATED_PASSAGE = {"blingfire": 4e-5, "whitespace": 1e-5}
INDEXED_PASSAGE = 2e-4
ORDERED_QUERY = 3e-3
SEARCHED_VECTOR = 5e-8
DRAWN_INSTANCE = 1e-3
MEASURED_QUERY = 1e-3  # of one input, with its share of the bootstrap


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


def training(
    collection: Collection, plan: TrainPlan, state: Path | None, calibration: Calibration, groups: int | None = None
) -> tuple[Work, str]:
    """Steps at most, less those that an interrupted training has behind it; and that in words.

    A validation, where there is one, scores its candidates to the deepest depth and probes a sample of passages; the share of all of them, and of
    the last, which looks at all queries, is in each step's time. ``groups`` is how many there are in the training set; of candidates it is about the number of queries.
    """
    done = int(state.name.rpartition("-")[2]) if state else 0
    config = plan.training
    steps = max(1, config.steps(groups if groups is not None else _queries(collection, plan.split or "train")))
    queries = _queries(collection, plan.validation_split)
    watched = min(queries, config.validation_queries or queries)
    looks = steps / config.validate_every + 1  # the first before the first step

    def each() -> float | None:
        rates = calibration.rates(plan, collection)
        if rates is None:
            return None
        probed = config.probe_passages if has_term_vectors(plan.kind) else 0
        if plan.validation_candidates is None:
            return rates.step
        look, last = (_scoring(rates, number * config.most_depth, len(collection)) for number in (watched, queries))
        return rates.step + (looks * look + last + (looks + 1) * probed * rates.passage) / steps

    validated = f"validated every {config.validate_every}" if plan.validation_candidates else "without validation"
    unit = f"steps of {_named(plan)}, {config.batch_size} groups of {config.group_size} each, {validated}"
    note = f"at most {steps:,} steps" + (f", from {done:,}" if done else "")
    return Work(unit, max(0, steps - done), each), note


def _scoring(rates: Rates, pairs: int, passages: int) -> float:
    """Seconds for these pairs: no passage is encoded twice."""
    return max(pairs * rates.pair + min(pairs, passages) * rates.passage, 1e-3)


def reranking(
    collection: Collection, split: str, plan: TrainPlan | None, depth: int, calibration: Calibration, queries: int | None = None
) -> Work | None:
    """Pairs to score, down to a model's depth, or the deepest that it may be given; of ``queries`` of the split (None: all)."""
    asked = _queries(collection, split)
    pairs = (asked if queries is None else min(asked, queries)) * depth
    if plan is None or not pairs:
        return None

    def each() -> float | None:
        rates = calibration.rates(plan, collection)
        return None if rates is None else _scoring(rates, pairs, len(collection)) / pairs

    return Work(f"pairs re-ranked by {_named(plan)}", pairs, each)


def _named(plan: TrainPlan) -> str:
    """A model by what its speed depends on, beside its shape: of two encoders one may be far larger."""
    return f"{plan.kind} over {Path(plan.encoder).name}" if plan.encoder else plan.kind


def drawing(instances: int) -> Work:
    """Instances of a training set drawn and written, with their share of reading what they are drawn from."""
    return Work("training instances drawn", instances, _constant(DRAWN_INSTANCE))


def joining(collection: Collection, split: str) -> Work:
    """Queries whose candidates leaked passages are joined to."""
    return Work("queries joined with leaked passages", _queries(collection, split), _constant(ORDERED_QUERY))


def probing(collection: Collection, passages: int | None, plan: TrainPlan | None, calibration: Calibration) -> Work | None:
    """Passages encoded, and about as much for what is done with their terms."""
    if plan is None:
        return None

    def each() -> float | None:
        rates = calibration.rates(plan, collection)
        return None if rates is None else 2 * rates.passage

    return Work(f"passages probed of {plan.kind}", min(passages or len(collection), len(collection)), each)


def encoding(collection: Collection, plan: TrainPlan | None, calibration: Calibration) -> Work | None:
    """Passages encoded."""
    if plan is None:
        return None

    def each() -> float | None:
        rates = calibration.rates(plan, collection)
        return None if rates is None else rates.passage

    return Work(f"passages encoded by {_named(plan)}", len(collection), each)


def searching(collection: Collection, split: str) -> Work:
    """Every query against every vector."""
    return Work("vectors × queries", len(collection) * _queries(collection, split), _constant(SEARCHED_VECTOR))


def ordering(collection: Collection, split: str) -> Work:
    """Queries whose candidates are ordered by position."""
    return Work("queries ordered by position", _queries(collection, split), _constant(ORDERED_QUERY))


def measuring(collection: Collection | None, inputs: int) -> Work:
    """Artefacts measured, by the queries that are not trained on."""
    splits = collection.splits if collection else []
    queries = sum(_queries(collection, split) for split in splits if split != "train") if collection else 0
    return Work("queries of artefacts measured", inputs * max(queries, 1), _constant(MEASURED_QUERY))
