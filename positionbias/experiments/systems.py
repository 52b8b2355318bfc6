"""The systems of a study, models and baselines: their names in results, runs, and values per
query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.convergence import ended_name
from positionbias.core.records import Qrel
from positionbias.core.run import Run, read_run
from positionbias.evaluation.measures import evaluate_run
from positionbias.evaluation.trainings import Repeat, mean_interval, query_means
from positionbias.evaluation.trainings import Values as PerQueryValues
from positionbias.experiments.artefacts import as_ended
from positionbias.models.checkpoint import load_checkpoint
from positionbias.results.payloads import Finding, PerQuery
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result
from positionbias.training.train import training_result

__all__ = [
    "FIRST_STAGE",
    "POSITION",
    "Subject",
    "SystemRuns",
    "Values",
    "curve_of",
    "evaluated",
    "finding",
    "point",
    "split_label",
    "subject_of",
    "system_name",
    "values_of",
]

FIRST_STAGE, POSITION = "bm25", "position-only"


class Subject(NamedTuple):
    """A trained model: its name (the same for all seeds and draws) and facts in results, and its
    checkpoint.
    """

    system: str
    facts: Facts
    path: Path


class SystemRuns(NamedTuple):
    """A system on one set of test passages: a run per test split."""

    system: str
    facts: Facts
    runs: tuple[Path, ...]


def subject_of(facts: Facts, path: Path) -> Subject:
    """Return a trained model, named by these facts, with the ending of its training."""
    facts = as_ended(facts, path)
    return Subject(system_name(facts), facts, path)


def system_name(facts: Facts) -> str:
    """Name a model's training in results, the same for all seeds and draws."""
    return ended_name(
        f"{facts.model}-{facts.training}" + (f", {facts.variant}" if facts.variant else ""),
        facts.unfinished,
    )


def split_label(tests: Sequence[str]) -> str:
    """Name several test splits in results."""
    return "+".join(tests)


def joined(name: str, runs: Sequence[Path]) -> Run:
    """Join the rankings of several splits, which share no query, to one run."""
    return Run(
        name,
        chain.from_iterable(
            ((r.query_id, r.passage_ids, r.scores) for r in read_run(p).rankings()) for p in runs
        ),
    )


def evaluated(
    item: SystemRuns,
    qrels: Sequence[Qrel],
    measures: Sequence[str],
    *,
    collection: str,
    split: str,
    clusters: Mapping[str, str],
    seed: int,
) -> list[Result]:
    """Return a Result per measure, with the system's facts."""
    run = joined(item.system, item.runs)
    found = evaluate_run(
        run, qrels, measures, collection=collection, split=split, seed=seed, clusters=clusters
    )
    return [replace(result, facts=item.facts) for result in found]


Values = Mapping[str, Mapping[str, float]]  # measure → query → value


def values_of(results: Sequence[Result]) -> Values:
    """Return the per-query values of one system by measure."""
    found = {}
    for result in results:
        assert isinstance(result.payload, PerQuery)
        found[result.measure] = result.payload.by_query
    return found


def curve_of(subject: Subject, collection: str) -> Result:
    """Return the log of a training under the system's name."""
    return replace(
        training_result(load_checkpoint(subject.path), collection),
        system=subject.system,
        facts=subject.facts,
    )


def finding(collection: str, split: str, sentence: Finding, seed: int) -> Result:
    """Return a sentence as a Result."""
    return Result("finding", collection, split, "", seed, None, None, 0, sentence)


def point(
    repeats: Mapping[Repeat, PerQueryValues],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
    changes: bool = False,
) -> Point:
    """Return a mean of a measure, or of ``changes`` of it, over trainings and queries with its
    interval.
    """
    interval, values = (
        mean_interval(repeats, clusters, seed=seed, changes=changes),
        list(query_means(repeats).values()),
    )
    return Point(float(np.mean(values)), interval, len(values))
