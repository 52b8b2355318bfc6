"""A study of position without a training: systems whose values by query are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.records import Facts
from positionbias.evaluation.trainings import Repeat
from positionbias.papers.position_bias import MOVED, NO_REMEDY, RERANKER
from positionbias.papers.position_bias.measured import ALONE, BM25, PositionStudy, _Measuring
from positionbias.papers.position_bias.settings import PositionBiasSettings

NDCG = "nDCG@10"
TK = Facts(model="tk", training="original", role=RERANKER)
ROTATED = replace(TK, training="rotated")
NONE = replace(TK, variant=NO_REMEDY)
ONCE = replace(TK, variant="rotated once")
OFFSETS = replace(TK, variant="random offsets")
QUERIES = 200
# system, test passages, measure → values by query, of each seed and draw
MadeUp = Mapping[tuple[Facts, str, str], Mapping[Repeat, Sequence[float]]]


def collection(place: Path, command: str = "a test") -> Collection:
    """A passage that answers one query of each split."""
    with create_collection(place) as writer:
        writer.add_passages([Passage("a", "a lamp burns oil")])
        for split in ("train", "validation", "test"):
            name = f"{split}-0"
            writer.add_split(split, [Query(name, "lamp")], [Qrel(name, "a", 1)])
        writer.finish(Manifest("collection", place.name, command))
    return Collection(place)


def made_up(
    folder: Path,
    values: MadeUp,
    *,
    command: str = "a test",
    source: str = "",
    idle: Sequence[tuple[Facts, Repeat]] = (),
    settings: PositionBiasSettings | None = None,
) -> _Measuring:
    """Return the measurements of systems with these values; of a system that has none on rotated
    passages they are those on original ones. Baselines have 0.3 of every query.

    ``command`` is what made the collection, ``source`` what made that of an earlier training.
    """
    folder.mkdir(parents=True)
    tested = collection(folder / "tested", command)
    run = folder / "bm25.run"
    Run("bm25", [("test-0", ["a"], [1.0])]).save(run)
    first = collection(folder / "first", source).path if source else None
    given = settings or PositionBiasSettings(measures=(NDCG,))
    study = PositionStudy(tested.path, given, (run,), {}, [], source=first)
    measuring = _Measuring(study)
    tests = measuring.tests
    filled = {key: dict(own) for key, own in values.items()}
    for (facts, _, measure), own in values.items():
        if measure != MOVED:
            most = max(map(len, own.values()))
            filled.setdefault((facts, "rotated", measure), dict(own))
            for base, test in ((base, test) for base in (BM25, ALONE) for test in tests):
                filled.setdefault((base, test, measure), {(None, None): [0.3] * most})
    measuring.values = {
        (replace(facts, test=test), "test", measure): {
            repeat: {f"q{number}": float(value) for number, value in enumerate(of_queries)}
            for repeat, of_queries in own.items()
        }
        for (facts, test, measure), own in filled.items()
        if test in tests
    }
    measuring.systems = dict.fromkeys(facts for facts, _, _ in filled)
    measuring.idle = set(idle)
    return measuring


def spread(mean: float, seed: int = 1, noise: float = 0.05, queries: int = QUERIES) -> list[float]:
    """Values of queries about a mean."""
    return (mean + np.random.default_rng(seed).normal(0, noise, queries)).tolist()


def level(mean: float, seed: int = 1, noise: float = 0.02, queries: int = 40) -> list[float]:
    """Values of queries whose mean is exactly this."""
    values = np.array(spread(mean, seed, noise, queries))
    return (values + mean - values.mean()).tolist()


def remedies(
    means: Mapping[Facts, tuple[float, float]], seeds: Sequence[int] = (1, 2, 3)
) -> MadeUp:
    """Systems by remedy with these means of quality and of moved sentences."""
    return {
        (facts, "original", measure): {
            (seed, None): spread(mean, seed=10 * place + seed) for seed in seeds
        }
        for place, (facts, both) in enumerate(means.items())
        for measure, mean in zip((NDCG, MOVED), both, strict=True)
    }
