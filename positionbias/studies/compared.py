"""The comparisons of the position-bias study: of the test sets, of the trainings, and of every model with the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from positionbias.core.json_text import JsonObject
from positionbias.evaluation.significance import adjust, compare
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result
from positionbias.studies.over_trainings import ALL, BASELINE_FACTS, WHOLE
from positionbias.studies.systems import FIRST_STAGE, POSITION, SystemRuns, Values, values_of
from positionbias.studies.tested import Study

__all__ = ["comparisons"]


class Repeat:
    """The systems of one training seed and one rotation draw, compared on shared queries; p-values corrected within axis and measure."""

    def __init__(self, study: Study, seed: int, draw: int) -> None:
        self.study, self.whole = study, study.by_cut[draw][0]
        self.systems: dict[tuple[str, str], tuple[SystemRuns, Values]] = {}
        for item, results in study.systems:
            if item.facts.seed in (None, seed) and item.facts.rotation in (None, draw):
                self.systems[item.system, item.facts.test] = (item, values_of(results))
        self.models = list(dict.fromkeys(s for s, _ in self.systems if s not in (FIRST_STAGE, POSITION)))
        self.tests = list(dict.fromkeys(test for _, test in self.systems))

    def pairs(self, axis: str) -> list[tuple[tuple[str, str], tuple[str, str], str]]:
        """All comparisons of one axis: (system, test) of the baseline and of the candidate, and the subset of queries."""
        if axis == "test sets":
            subsets = (ALL, WHOLE) if self.whole else (ALL,)
            systems = (*self.models, POSITION)
            return [((system, "original"), (system, "rotated"), subset) for subset in subsets for system in systems]
        if axis == "trainings":
            return [((one, test), (other, test), ALL) for one, other in self._trained_on_both() for test in self.tests]
        bases = (FIRST_STAGE, POSITION)
        return [((base, test), (model, test), ALL) for model in self.models for test in self.tests for base in bases]

    def _trained_on_both(self) -> list[tuple[str, str]]:
        """Models that differ in the passages that they were trained on, and in nothing else: original, rotated."""
        facts = {model: replace(self.systems[model, "original"][0].facts, rotation=None) for model in self.models}
        return [
            (one, other)
            for one in self.models
            for other in self.models
            if facts[one].training == "original" and facts[other] == replace(facts[one], training="rotated")
        ]

    def compared(self, axis: str, measure: str) -> list[tuple[SystemRuns, SystemRuns, Result]]:
        """The comparisons of one axis as Results, with their corrected p-values."""
        chosen = [(self.systems[one], self.systems[other], subset) for one, other, subset in self.pairs(axis)]
        family = [self._compare(axis, measure, one, other, subset) for one, other, subset in chosen]
        return [
            (one[0], other[0], self._result(measure, comparison, other[0]))
            for (one, other, _), comparison in zip(chosen, adjust(family) if family else [], strict=True)
        ]

    def _compare(
        self, axis: str, measure: str, one: tuple[SystemRuns, Values], other: tuple[SystemRuns, Values], subset: str
    ) -> Comparison:
        columns = [values[measure] for _, values in (one, other)]
        if subset == WHOLE:
            columns = [{q: v for q, v in column.items() if q in self.whole} for column in columns]
        items = (one[0], other[0])
        names = [f"{item.system} on {self.study.passages(item.facts).name}" for item in items]
        notes: JsonObject = {
            "axis": axis,
            "systems": [i.system for i in items],
            "test_sets": [i.facts.test for i in items],
            BASELINE_FACTS: asdict(items[0].facts),
        }
        return compare(
            *columns,
            baseline_name=names[0],
            candidate_name=names[1],
            clusters=self.study.clusters,
            seed=self.study.seed,
            subset=subset,
            notes=notes,
        )

    def _result(self, measure: str, comparison: Comparison, candidate: SystemRuns) -> Result:
        between_tests = comparison.noted.axis == "test sets"
        return Result(
            measure=measure,
            collection=self.study.original.name if between_tests else self.study.passages(candidate.facts).name,
            split=self.study.label,
            system=candidate.system,
            seed=self.study.seed,
            value=comparison.difference,
            interval=comparison.difference_interval,
            count=comparison.noted.queries,
            payload=comparison,
            facts=candidate.facts,
        )


def comparisons(study: Study, names: Sequence[str]) -> list[Result]:
    """Every comparison once: one that a seed or draw plays no part in comes with the first of them."""
    seeds = list(dict.fromkeys(item.facts.seed for item, _ in study.systems if item.facts.seed is not None))
    repeats = [Repeat(study, seed, draw) for seed in seeds for draw in study.rotated]
    found: dict[tuple, Result] = {}
    for axis in ("test sets", "trainings", "baseline"):
        for name in names:
            for repeat in repeats:
                for one, other, result in repeat.compared(axis, name):
                    assert isinstance(result.payload, Comparison)
                    found.setdefault((axis, name, one, other, result.payload.subset), result)
    return list(found.values())
