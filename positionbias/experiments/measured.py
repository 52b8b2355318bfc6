"""Systems of a study on its tests, as rows: effectiveness by query, comparisons, logs of trainings.

A system is named by its ``Facts``, the same for all its seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.evaluation.letters import is_significant
from positionbias.evaluation.significance import HOLM, adjust, clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    compare_trainings,
    mean_interval,
    query_means,
)
from positionbias.models.checkpoint import load_checkpoint
from positionbias.results.payloads import Comparison, TrainingCurve
from positionbias.results.result import Facts
from positionbias.training.train import training_result

__all__ = ["Compared", "Systems", "Tested", "against", "system_cells"]

_LATE = ("pair accuracy", "score margin", "loss")  # of a log, averaged over its last half


class Compared(StrEnum):
    """The answer of a comparison, after the correction for its family."""

    HIGHER = "significantly higher"
    LOWER = "significantly lower"
    NONE = "no significant difference"
    UNTESTED = "no test"
    UNFINISHED = "training not finished"


class Tested(NamedTuple):
    """Two systems on a test, by the trainings that both have; p-values are corrected within a
    ``family``.
    """

    family: str
    measure: str
    test: str
    base: Facts
    system: Facts
    repeats: Mapping[Repeat, tuple[Values, Values]]


def system_cells(facts: Facts) -> dict[str, Any]:
    """Return the cells that name a system.

    Example:
        >>> cells = system_cells(Facts(model="tk", variant="original", role="re-ranker"))
        >>> {name: cell for name, cell in cells.items() if cell}
        {'model': 'tk', 'role': 're-ranker', 'variant': 'original', 'finished': True}
    """
    named = ("model", "role", "training", "source", "variant", "loss", "test")
    cells: dict[str, Any] = {name: getattr(facts, name) for name in named}
    seeds = {"seed": facts.seed, "rotation": facts.rotation}
    return {**cells, "start": facts.pretrained, "finished": not facts.unfinished, **seeds}


def against(base: Facts, system: Facts) -> str:
    """Return how a baseline differs from the system that is compared with it.

    Example:
        >>> against(Facts(model="tk", variant="original"), Facts(model="tk", variant="cleaned"))
        'variant=original'
    """
    first, second = system_cells(base), system_cells(system)
    apart = [name for name in first if first[name] != second[name] and name != "finished"]
    filled = [name for name in apart if first[name]]
    return ", ".join(f"{name}={first[name] or ''}" for name in filled or apart)


class Systems:
    """The values of a study's systems by query, and the rows that are made of them.

    ``qrels`` has the judgements of each test; queries that share a relevant passage are one cluster
    in intervals.
    """

    def __init__(
        self, made: Collected, qrels: Mapping[str, Sequence[Qrel]], *, relevant_from: int, seed: int
    ) -> None:
        self.made, self.qrels, self.seed = made, qrels, seed
        self.clusters = {
            test: clusters_by_passage(own, level=relevant_from) for test, own in qrels.items()
        }
        # by system, test, measure
        self.values: dict[tuple[Facts, str, str], Mapping[Repeat, Values]] = {}

    def estimate(
        self, test: str, repeats: Mapping[Repeat, Values], *, changes: bool = False
    ) -> tuple[float, Interval | None, dict[str, Any]]:
        """Return the mean over trainings and queries of a measure, or of ``changes`` of it, its
        interval, and the cells that say what it is over.
        """
        values = query_means(repeats)
        bounds = mean_interval(repeats, self.clusters[test], seed=self.seed, changes=changes)
        cells = {"split": test, "count": len(values), "counted": "queries", **over(repeats)}
        return float(np.mean(list(values.values()))), bounds, cells

    def mean(
        self, measure: str, test: str, facts: Facts, repeats: Mapping[Repeat, Values], **cells: Any
    ) -> float:
        """Add a system's mean, a query's value being its mean over trainings; return it."""
        mean, bounds, own = self.estimate(test, repeats)
        named = {**system_cells(facts), **own, **cells}
        by_query, clusters = query_means(repeats), self.clusters[test]
        self.made.add(measure, "mean", mean, bounds, items=by_query, cluster_of=clusters, **named)
        return mean

    def compare(self, tests: Iterable[Tested]) -> None:
        """Add comparisons of systems, with p-values after Holm's correction over each family."""
        families: dict[str, list[Tested]] = {}
        for test in tests:
            families.setdefault(test.family, []).append(test)
        for tested in families.values():
            compared = [self._comparison(test) for test in tested]
            for test, comparison in zip(tested, adjust(compared, [HOLM]), strict=True):
                self._add(test, comparison)

    def _comparison(self, tested: Tested) -> Comparison:
        return compare_trainings(
            tested.repeats,
            names=[f"{facts.model} {facts.variant}" for facts in (tested.base, tested.system)],
            clusters=self.clusters[tested.test],
            seed=self.seed,
        )

    def _add(self, tested: Tested, comparison: Comparison) -> None:
        noted, p = comparison.noted, comparison.p_adjusted.get(HOLM)
        cells: dict[str, Any] = {
            **system_cells(tested.system),
            "split": tested.test,
            "against": against(tested.base, tested.system),
            "family": tested.family,
        }
        made, measure = self.made, tested.measure
        unfinished = tested.base.unfinished or tested.system.unfinished
        made.add(
            measure,
            "difference",
            comparison.difference,
            comparison.difference_interval,
            **cells,
            **over(tested.repeats),
            count=noted.queries,
            counted="queries",
            p=comparison.p,
            p_adjusted=p,
            answer=Compared.UNFINISHED if unfinished else _answer(comparison.difference, p),
        )
        seeds = dict.fromkeys(seed for seed, _ in tested.repeats)
        for seed, value in zip(seeds, noted.by_seed, strict=False):
            made.add(measure, "difference", value, **{**cells, "seed": seed})
        bounds = comparison.relative_interval
        made.add(measure, "relative", comparison.relative, bounds, **cells)
        made.add(measure, "baseline mean", comparison.baseline_mean, **cells)
        made.add(measure, "candidate mean", comparison.candidate_mean, **cells)
        made.add(measure, "effect size", comparison.effect_size, **cells)
        made.add(measure, "Student's t", None, p=comparison.p_t, **cells)
        made.add(measure, "Wilcoxon", None, p=comparison.p_wilcoxon, **cells)

    def training(self, facts: Facts, seed: int, checkpoint: Path) -> dict[str, float]:
        """Add the log of a training, its end, and what it logged in the last half of its steps;
        return the latter.
        """
        curve = training_result(load_checkpoint(checkpoint), "").payload
        assert isinstance(curve, TrainingCurve)
        cells: dict[str, Any] = {**system_cells(facts), "seed": seed}
        for name, series in curve.series.items():
            for step, value in zip(curve.steps, series, strict=False):
                place = {**cells, "axis": "step", "at": float(step), "label": str(step)}
                self.made.add(name, "log", value, **place)
        notes, ending = curve.notes, curve.ending
        numbers = {
            "steps": notes.steps,
            "step kept": notes.best_step if notes.best_step is not None else notes.steps,
            "groups": notes.training_groups,
            "depth": ending.depth,
            "validation": ending.ndcg,
            "validation of the first stage": ending.first_stage,
        }
        logged = {name: number for name in _LATE if (number := late(curve, name)) is not None}
        for statistic, number in {**numbers, **logged}.items():
            if number is not None:
                self.made.add("training", statistic, number, **cells)
        cells |= {"answer": ending.finish.value, "reason": notes.stopped}
        self.made.add("training", "end", None, **cells)
        return logged


def over(repeats: Mapping[Repeat, object]) -> dict[str, Any]:
    """Return the cells that say how many trainings there are, and what an interval is over."""
    trainings = len({seed for seed, _ in repeats if seed is not None})
    several = "trainings and queries" if trainings > 1 else "queries"
    return {"trainings": trainings or None, "interval": several}


def _answer(difference: float, p: float | None) -> Compared:
    if p is None:
        return Compared.UNTESTED
    if not is_significant(p):
        return Compared.NONE
    return Compared.HIGHER if difference > 0 else Compared.LOWER


def late(curve: TrainingCurve, name: str) -> float | None:
    """Return the mean of a log over the last half of the steps; None if it was not logged."""
    logged = [
        (step, value)
        for step, value in zip(curve.steps, curve.series.get(name, ()), strict=False)
        if value is not None
    ]
    values = [value for step, value in logged if 2 * step >= logged[-1][0]]
    return sum(values) / len(values) if values else None
