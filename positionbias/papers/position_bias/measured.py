"""Measure every study of position from finished runs and models: all tables and figures, as
Results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.json_text import JsonObject
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.experiments.over_trainings import ALL, BASELINE_FACTS, WHOLE, over_trainings
from positionbias.experiments.sample import judgements
from positionbias.experiments.systems import (
    FIRST_STAGE,
    POSITION,
    Subject,
    SystemRuns,
    Values,
    curve_of,
    evaluated,
    finding,
    split_label,
    system_name,
    values_of,
)
from positionbias.papers.position_bias.findings import findings, idle_trainings
from positionbias.papers.position_bias.settings import GridSettings
from positionbias.positions.debias import queries_by_cut, rotation_result
from positionbias.positions.histogram import position_histogram
from positionbias.results.payloads import Comparison, Finding
from positionbias.results.result import Facts, Result, load_results
from positionbias.text.statistics import collection_counts

__all__ = ["Measured", "found_first", "measure_models", "measure_study"]


@dataclass(frozen=True)
class Measured:
    """The inputs of the measurements: the test collections by draw, candidates and runs by test
    split, probes and trained models.

    ``sample`` is the number of test queries per split (None: all), and the seed that draws them.
    ``moved`` has, in a study of remedies, each model's effects of moved sentences, and ``choices``
    the quality on validation of the settings that one was chosen from.
    """

    original: Path
    rotated: Mapping[int, Path]
    tests: tuple[str, ...]
    candidates: tuple[Path, ...]
    baselines: Sequence[SystemRuns]
    tested: Sequence[SystemRuns]
    probes: Sequence[Path]
    subjects: Sequence[Subject]
    sample: tuple[int | None, int]
    moved: Sequence[Path] = ()
    choices: Sequence[Path] = ()

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        runs = {path.stem: path for item in (*self.baselines, *self.tested) for path in item.runs}
        return {
            "collection": self.original,
            **{f"rotated {draw}": path for draw, path in self.rotated.items()},
            **{
                f"candidates {split}": path
                for split, path in zip(self.tests, self.candidates, strict=True)
            },
            **runs,
            **{f"probe {path.name}": path for path in self.probes},
            **{subject.path.name: subject.path for subject in self.subjects},
            **{f"moved {path.name}": path for path in self.moved},
            **{f"choice {path.name}": path for path in self.choices},
        }


class Study:
    """The collections, the judgements, and every system, evaluated once."""

    def __init__(self, measured: Measured, settings: GridSettings) -> None:
        self.measured, self.seed, self.label = measured, settings.seed, split_label(measured.tests)
        self.original = Collection(measured.original)
        self.rotated = {draw: Collection(path) for draw, path in measured.rotated.items()}
        self.qrels = judgements(self.original, measured.tests, *measured.sample)
        self.clusters = clusters_by_passage(self.qrels, level=settings.test_relevant_from)
        self.by_cut = {draw: self._by_cut(rotated) for draw, rotated in self.rotated.items()}
        self.systems = [
            self._measured(item, settings.measures)
            for item in (*self._first_stage(), *measured.baselines, *measured.tested)
        ]

    def _first_stage(self) -> Iterator[SystemRuns]:
        for draw in (None, *self.rotated):
            facts = Facts(
                model=FIRST_STAGE, test="original" if draw is None else "rotated", rotation=draw
            )
            yield SystemRuns(FIRST_STAGE, facts, self.measured.candidates)

    def _measured(
        self, item: SystemRuns, measures: Sequence[str]
    ) -> tuple[SystemRuns, list[Result]]:
        where = {"collection": self.passages(item.facts).name, "split": self.label}
        return item, evaluated(
            item, self.qrels, measures, clusters=self.clusters, seed=self.seed, **where
        )

    def passages(self, facts: Facts) -> Collection:
        """Return the test passages of these facts."""
        return (
            self.original
            if facts.test == "original" or facts.rotation is None
            else self.rotated[facts.rotation]
        )

    def _by_cut(self, rotated: Collection) -> tuple[set[str], set[str]]:
        """Return the test queries whose answers the rotation left whole, and those with a cut
        answer.
        """
        whole: set[str] = set()
        cut: set[str] = set()
        for split in set(self.measured.tests) & set(answered_splits(self.original)):
            for found, more in zip(
                (whole, cut), queries_by_cut(self.original, rotated, split), strict=True
            ):
                found |= more
        if self.measured.sample[0] is not None:
            judged = {qrel.query_id for qrel in self.qrels}
            return whole & judged, cut & judged
        return whole, cut


def answered_splits(collection: Collection) -> list[str]:
    """Return the splits with answers."""
    return [split for split, facts in collection.split_facts.items() if facts.answers]


class Repeat:
    """The systems of one training seed and one rotation draw, compared on shared queries, with
    p-values corrected within axis and measure.
    """

    def __init__(self, study: Study, seed: int, draw: int) -> None:
        self.study, self.whole = study, study.by_cut[draw][0]
        self.systems: dict[tuple[str, str], tuple[SystemRuns, Values]] = {}
        for item, results in study.systems:
            if item.facts.seed in (None, seed) and item.facts.rotation in (None, draw):
                self.systems[item.system, item.facts.test] = (item, values_of(results))
        self.models = list(
            dict.fromkeys(s for s, _ in self.systems if s not in (FIRST_STAGE, POSITION))
        )
        self.tests = list(dict.fromkeys(test for _, test in self.systems))

    def pairs(self, axis: str) -> list[tuple[tuple[str, str], tuple[str, str], str]]:
        """Return all comparisons of one axis: (system, test) of baseline and candidate, and the
        subset of queries.
        """
        if axis == "test sets":
            subsets = (ALL, WHOLE) if self.whole else (ALL,)
            systems = (*self.models, POSITION)
            return [
                ((system, "original"), (system, "rotated"), subset)
                for subset in subsets
                for system in systems
            ]
        if axis == "trainings":
            return [
                ((one, test), (other, test), ALL)
                for one, other in self._trained_on_both()
                for test in self.tests
            ]
        bases = (FIRST_STAGE, POSITION)
        return [
            ((base, test), (model, test), ALL)
            for model in self.models
            for test in self.tests
            for base in bases
        ]

    def _trained_on_both(self) -> list[tuple[str, str]]:
        """Return pairs of models that differ only in their training passages: original, rotated."""
        facts = {
            model: replace(self.systems[model, "original"][0].facts, rotation=None)
            for model in self.models
        }
        return [
            (one, other)
            for one in self.models
            for other in self.models
            if facts[one].training == "original"
            and facts[other] == replace(facts[one], training="rotated")
        ]

    def compared(self, axis: str, measure: str) -> list[tuple[SystemRuns, SystemRuns, Result]]:
        """Return the comparisons of one axis as Results, with their corrected p-values."""
        chosen = [
            (self.systems[one], self.systems[other], subset)
            for one, other, subset in self.pairs(axis)
        ]
        family = [self._compare(axis, measure, one, other, subset) for one, other, subset in chosen]
        return [
            (one[0], other[0], self._result(measure, comparison, other[0]))
            for (one, other, _), comparison in zip(
                chosen, adjust(family) if family else [], strict=True
            )
        ]

    def _compare(
        self,
        axis: str,
        measure: str,
        one: tuple[SystemRuns, Values],
        other: tuple[SystemRuns, Values],
        subset: str,
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
            names=names,
            clusters=self.study.clusters,
            seed=self.study.seed,
            subset=subset,
            notes=notes,
        )

    def _result(self, measure: str, comparison: Comparison, candidate: SystemRuns) -> Result:
        between_tests = comparison.noted.axis == "test sets"
        return Result(
            measure=measure,
            collection=self.study.original.name
            if between_tests
            else self.study.passages(candidate.facts).name,
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
    """Return every comparison once; one that does not depend on the seed or draw comes with the
    first.
    """
    seeds = list(
        dict.fromkeys(item.facts.seed for item, _ in study.systems if item.facts.seed is not None)
    )
    repeats = [Repeat(study, seed, draw) for seed in seeds for draw in study.rotated]
    found: dict[tuple, Result] = {}
    for axis in ("test sets", "trainings", "baseline"):
        for name in names:
            for repeat in repeats:
                for one, other, result in repeat.compared(axis, name):
                    assert isinstance(result.payload, Comparison)
                    found.setdefault((axis, name, one, other, result.payload.subset), result)
    return list(found.values())


def _histograms(study: Study) -> list[Result]:
    """Return Figure 1, for the training split's answers if it has any, else those of the first
    split with answers.
    """
    splits = answered_splits(study.original)
    if not splits:
        why = (
            f"Figure 1, the positions of answers, is left out: {study.original.name} has no "
            "answers."
        )
        return [finding(study.original.name, "", Finding(why), study.seed)]
    split = "train" if "train" in splits else splits[0]
    return [
        position_histogram(collection, split)
        for collection in (study.original, *study.rotated.values())
    ]


def measure_study(measured: Measured, settings: GridSettings) -> list[Result]:
    """Return all results of the study's report, findings first."""
    results, cuts = measure_models(measured, settings)
    return found_first(
        results, lambda measure: findings(results, measure, cuts=cuts), settings.seed
    )


def found_first(
    results: Sequence[Result], found: Callable[[str], list[Finding]], seed: int
) -> list[Result]:
    """Put the findings that ``found`` returns for the first measure before the results."""
    headline = next(result for result in results if result.kind == "per_query")
    sentences = (
        finding(headline.collection, headline.split, item, seed) for item in found(headline.measure)
    )
    return [*sentences, *results]


def measure_models(
    measured: Measured, settings: GridSettings
) -> tuple[list[Result], dict[int, tuple[int, int]]]:
    """Return all measurements and, by rotation draw, the numbers of test queries with whole and
    with cut answers.

    MATS of every model is on the same passages, first original, then rotated.
    """
    seed, study = settings.seed, Study(measured, settings)
    effectiveness = [result for _, found in study.systems for result in found]
    names = list(dict.fromkeys(result.measure for result in effectiveness))
    probed = [
        replace(result, system=system_name(result.facts))
        for path in measured.probes
        for result in load_results(path)
    ]
    results = [
        *collection_counts(study.original),
        *(rotation_result(collection) for collection in study.rotated.values()),
        *_histograms(study),
        *effectiveness,
        *comparisons(study, names),
        *sorted(probed, key=lambda result: result.facts.test),
        *(curve_of(subject, study.original.name) for subject in measured.subjects),
    ]
    whole = {draw: found for draw, (found, _) in study.by_cut.items()}
    results += over_trainings(
        idle_trainings(results)[1], clusters=study.clusters, seed=seed, whole=whole
    )
    cuts = {draw: (len(whole), len(cut)) for draw, (whole, cut) in study.by_cut.items()}
    return [replace(result, seed=seed) for result in results], cuts
