"""Measurements shared by papers' studies: systems by query and training, means with intervals,
families of tests.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.interval import Interval
from positionbias.core.json_text import JsonObject
from positionbias.core.records import Qrel
from positionbias.evaluation.significance import CORRECTIONS, adjust, clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    compare_trainings,
    mean_interval,
    query_means,
)
from positionbias.experiments.systems import point
from positionbias.results.payloads import Comparison, Payload, PerQuery
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result

__all__ = ["Measuring", "Tested", "Trial", "own_judgements", "trial_inputs"]


class Trial(NamedTuple):
    """A system of one seed. ``facts`` are the same for all seeds, ``name`` is the model's in the
    study, ``runs`` are by split, ``trained`` is the checkpoint (None for an ensemble)."""

    name: str
    facts: Facts
    seed: int
    runs: Mapping[str, Path]
    trained: Path | None


def trial_inputs(trials: Iterable[Trial]) -> dict[str, Path]:
    """Return the runs and checkpoints of trials by name, as the inputs of a step."""
    known = list(trials)
    runs = {path.stem: path for trial in known for path in trial.runs.values()}
    return {
        **runs,
        **{trial.trained.name: trial.trained for trial in known if trial.trained is not None},
    }


def own_judgements(collection: Collection, split: str, judgements: str | None = None) -> list[Qrel]:
    """Return the judgements of a split's own queries."""
    own = {query_id for query_id, _ in collection.query_texts(split)}
    return [qrel for qrel in collection.qrels(split, judgements) if qrel.query_id in own]


class Tested(NamedTuple):
    """A comparison of two systems on a test."""

    measure: str
    test: str
    facts: Facts
    comparison: Comparison


class Measuring:
    """The systems of a study on its tests, and their results; a system is named by its ``Facts``,
    the same for all seeds.

    ``qrels`` has the judgements of each test; queries that share a relevant passage are one cluster
    in its intervals.
    """

    def __init__(
        self,
        collection: Collection,
        qrels: Mapping[str, Sequence[Qrel]],
        *,
        relevant_from: int,
        seed: int,
    ) -> None:
        self.collection, self.qrels, self.seed = collection, qrels, seed
        self.clusters = {
            test: clusters_by_passage(of, level=relevant_from) for test, of in qrels.items()
        }
        # system, test, measure
        self.values: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}

    def name(self, facts: Facts) -> str:
        """Return a system's name in results."""
        raise NotImplementedError

    def result(
        self,
        measure: str,
        test: str,
        facts: Facts,
        payload: Payload,
        *,
        value: float | None = None,
        interval: Interval | None = None,
        count: int = 0,
    ) -> Result:
        """Return a result of a system."""
        name = self.name(facts)
        return Result(
            measure,
            self.collection.name,
            test,
            name,
            self.seed,
            value,
            interval,
            count,
            payload,
            facts,
        )

    def per_query(
        self,
        measure: str,
        test: str,
        facts: Facts,
        repeats: Mapping[Repeat, Values],
        notes: JsonObject,
    ) -> Result:
        """Return a system's effectiveness: a query's value is its mean over trainings."""
        values = query_means(repeats)
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        interval = mean_interval(repeats, self.clusters[test], seed=self.seed)
        payload = PerQuery(query_ids, found, notes)
        return self.result(
            measure,
            test,
            facts,
            payload,
            value=float(np.mean(found)),
            interval=interval,
            count=len(found),
        )

    def point(self, test: str, repeats: Mapping[Repeat, Values], *, changes: bool) -> Point:
        """Return a mean of a measure, or of ``changes`` of it, over trainings and queries of a
        test, with its interval.
        """
        return point(repeats, self.clusters[test], seed=self.seed, changes=changes)

    def compare(
        self,
        axis: str,
        base: Facts,
        system: Facts,
        repeats: Mapping[Repeat, tuple[Values, Values]],
        test: str,
        more: JsonObject = MappingProxyType({}),
    ) -> Comparison:
        """Compare a system with a base on a test, over the trainings that both have; ``more`` are
        notes.
        """
        names = [self.name(base), self.name(system)]
        return compare_trainings(
            repeats,
            names=names,
            clusters=self.clusters[test],
            seed=self.seed,
            notes={"axis": axis, "systems": names, "test_sets": [test] * 2, **more},
        )

    def corrected(
        self, tests: Iterable[tuple[Hashable, Tested]], methods: Sequence[str] = CORRECTIONS
    ) -> list[Result]:
        """Return comparisons as results, with p-values corrected within each family; every test
        comes with its family's key.
        """
        families: dict[Hashable, list[Tested]] = {}
        for key, test in tests:
            families.setdefault(key, []).append(test)
        found = []
        for family in families.values():
            for of, payload in zip(
                family, adjust([of.comparison for of in family], methods), strict=True
            ):
                value, interval, count = (
                    payload.difference,
                    payload.difference_interval,
                    payload.noted.queries,
                )
                found.append(
                    self.result(
                        of.measure,
                        of.test,
                        of.facts,
                        payload,
                        value=value,
                        interval=interval,
                        count=count,
                    )
                )
        return found
