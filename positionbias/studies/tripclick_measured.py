"""What the TripClick study measures: every system on every test, its tests, depth curves, training sets and what was logged in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.payloads import Comparison, Payload, PerQuery, Statistics
from positionbias.core.records import Qrel
from positionbias.core.result import Facts, Result
from positionbias.core.run import Run, read_run
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import adjust, compare
from positionbias.report.tripclick_select import (
    AGAINST_BM25,
    CURVES,
    ENSEMBLE,
    FIRST,
    MEMBERS,
    NEGATIVES,
    REGENERATED,
    RERANKER,
    RETRIEVER,
    SETS,
    TELEMETRY,
    system_label,
)
from positionbias.studies.systems import FIRST_STAGE, Subject, curve_of, finding
from positionbias.studies.tripclick_findings import tripclick_findings
from positionbias.studies.tripclick_sets import count_false
from positionbias.studies.tripclick_settings import JudgedSplit
from positionbias.studies.tripclick_trials import Trial, TripClickStudy

__all__ = ["measure_tripclick"]

HEADLINE = "nDCG@10"
JUDGED = "Judged@10"
Values = Mapping[str, float]  # by query


def measure_tripclick(study: TripClickStudy) -> list[Result]:
    """Everything the study's report shows, what was found first.

    Of re-rankers and the ensemble nDCG@10 and RR@10 (Table 1); of BM25 and retrievers J@10 and recall too (Table 2). A query's value is its mean over
    seeds, before anything else is computed.

    Raises:
        InputError: a test without judgements.
    """
    results = _Measuring(study).results()
    name = results[0].collection
    return [*(finding(name, "", item, study.settings.seed) for item in tripclick_findings(results)), *results]


class _Measuring:
    """Results of one study; a system is named by its ``Facts``, the same for all seeds."""

    def __init__(self, study: TripClickStudy) -> None:
        self.study, self.settings, self.seed = study, study.settings, study.settings.seed
        self.collection = Collection(study.collection)
        rel = f"(rel={self.settings.test_relevant_from})" if self.settings.test_relevant_from > 1 else ""
        self.ranked = (HEADLINE, f"RR{rel}@10")
        self.retrieved = (JUDGED, *self.ranked, *(f"R{rel}@{k}" for k in (100, 200, 1000)))
        self.qrels: dict[str, list[Qrel]] = {test.label: self._qrels(test) for test in self.settings.tests}
        self.first = {split: read_run(path) for split, path in study.candidates.items()}
        self.trials: dict[Facts, list[Trial]] = {}
        for trial in study.trials:
            self.trials.setdefault(trial.facts, []).append(trial)
        self.every = list(self.trials)
        self.values: dict[tuple[Facts, str, str], Values] = {}  # system, test, measure
        self.curves: list[Result] = []
        for facts, trials in self.trials.items():
            self._read(facts, trials)

    def _qrels(self, test: JudgedSplit) -> list[Qrel]:
        own = {query_id for query_id, _ in self.collection.query_texts(test.split)}
        return [qrel for qrel in self.collection.qrels(test.split, test.judgements) if qrel.query_id in own]

    def _read(self, facts: Facts, trials: Sequence[Trial]) -> None:
        """One system's values; its runs are let go after that."""
        measures = self.retrieved if facts.role == RETRIEVER else self.ranked
        for split in self.first:
            whole = [read_run(trial.runs[split]) for trial in trials]
            runs = [self._cut(facts, split, run) for run in whole]
            for test in self.settings.tests:
                if test.split == split:
                    for measure, values in self._means(runs, test, measures).items():
                        self.values[facts, test.label, measure] = values
                    if facts.role == RERANKER and split in self.settings.curve_tests:
                        self.curves.append(self._curve(facts, test, whole))

    def _cut(self, facts: Facts, split: str, run: Run) -> Run:
        """What was re-ranked deeper, for its curve, down to the study's depth."""
        if facts.role != RERANKER or self.settings.reach(split) == self.settings.depth:
            return run
        return apply_depth(self.first[split], run, self.settings.depth)

    def _means(self, runs: Sequence[Run], test: JudgedSplit, measures: Sequence[str]) -> dict[str, Values]:
        """A query's mean over the seeds' runs."""
        found = [per_query(run, self.qrels[test.label], measures) for run in runs]
        return {m: {q: sum(of[m][q] for of in found) / len(found) for q in found[0][m]} for m in measures}

    def results(self) -> list[Result]:
        """Effectiveness, tests, curves, training sets, trainings."""
        return [
            *self._effectiveness(),
            *self._tested(AGAINST_BM25, self._against_first()),
            *self._tested(NEGATIVES, self._by_negatives()),
            *self._tested(MEMBERS, self._against_members()),
            *self.curves,
            *self._sets(),
            *self._telemetry(),
        ]

    def _result(self, measure: str, test: str, facts: Facts, payload: Payload, **header: Any) -> Result:
        found = {"value": None, "interval": None, "count": 0, **header}
        name = system_label(facts, self.every) if facts.role else facts.variant
        return Result(measure, self.collection.name, test, name, self.seed, payload=payload, facts=facts, **found)

    # -- Tables 1 and 2 -------------------------------------------------------------------------------------------------------

    def _effectiveness(self) -> list[Result]:
        first = Facts(model=FIRST_STAGE, role=FIRST)
        for test in self.settings.tests:
            for measure, values in self._means([self.first[test.split]], test, self.retrieved).items():
                self.values[first, test.label, measure] = values
        order = [first, *self.every]
        keys = sorted(self.values, key=lambda key: order.index(key[0]))
        return [self._per_query(measure, test, facts, self.values[facts, test, measure]) for facts, test, measure in keys]

    def _per_query(self, measure: str, test: str, facts: Facts, values: Values) -> Result:
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        interval = bootstrap_mean(found, None, seed=self.seed)
        seeds = [trial.seed for trial in self.trials.get(facts, ())]
        header = {"value": float(np.mean(found)), "interval": interval, "count": len(found)}
        notes = {"seeds": seeds} if seeds else {}
        return self._result(measure, test, facts, PerQuery(query_ids, found, notes), **header)

    # -- tests ----------------------------------------------------------------------------------------------------------------

    def _against_first(self) -> Iterable[tuple[Facts, Facts]]:
        first = Facts(model=FIRST_STAGE, role=FIRST)
        return ((first, facts) for facts in self.every)

    def _by_negatives(self) -> Iterable[tuple[Facts, Facts]]:
        """Every other training set of a model against BM25's negatives: the difference is what better negatives gain."""
        for facts in self.every:
            base = replace(facts, variant=REGENERATED)
            if facts != base and base in self.trials:
                yield facts, base

    def _against_members(self) -> Iterable[tuple[Facts, Facts]]:
        """The ensemble against every one of its models; the report takes the best of each test."""
        names = set(self.settings.in_ensemble)
        members = [f for f, trials in self.trials.items() if trials[0].name in names and f.variant == REGENERATED]
        return ((member, facts) for facts in self.every if facts.role == ENSEMBLE for member in members)

    def _tested(self, axis: str, pairs: Iterable[tuple[Facts, Facts]]) -> list[Result]:
        """Candidate against baseline on every test; a family of tests is a measure's of one test set [decision]."""
        families: dict[tuple[str, str], list[tuple[Facts, Comparison]]] = {}
        for base, facts in pairs:
            for test, measure in ((test.label, measure) for test in self.settings.tests for measure in self.ranked):
                names = [system_label(of, self.every) for of in (base, facts)]
                columns = [self.values[of, test, measure] for of in (base, facts)]
                notes = {"axis": axis, "systems": names, "baseline facts": asdict(base), "test_sets": [test] * 2}
                found = compare(*columns, baseline_name=names[0], candidate_name=names[1], seed=self.seed, notes=notes)
                families.setdefault((measure, test), []).append((facts, found))
        results = []
        for (measure, test), family in families.items():
            corrected = adjust([comparison for _, comparison in family])
            for (facts, _), payload in zip(family, corrected, strict=True):
                header = {"value": payload.difference, "interval": payload.difference_interval}
                results.append(self._result(measure, test, facts, payload, count=payload.notes["queries"], **header))
        return results

    # -- depth ----------------------------------------------------------------------------------------------------------------

    def _curve(self, facts: Facts, test: JudgedSplit, runs: Sequence[Run]) -> Result:
        """nDCG@10 at every depth of re-ranking, and how far it is from the shallowest and the study's depth to the deepest, query by query."""
        depths = sorted({*self.settings.depths, self.settings.depth})
        at: dict[int, list[float]] = {}
        for depth in depths:
            cut = [apply_depth(self.first[test.split], run, depth) for run in runs]
            values = self._means(cut, test, (HEADLINE,))[HEADLINE]
            at[depth] = [values[query_id] for query_id in sorted(values)]
        last = at[depths[-1]]
        changes = {
            str(start): self._point([after - before for after, before in zip(last, at[start], strict=True)])
            for start in dict.fromkeys((depths[0], self.settings.depth))
            if start < depths[-1]
        }
        points = [{"depth": depth, **self._point(values)} for depth, values in at.items()]
        rows = {"measure": HEADLINE, "points": points, "depth": self.settings.depth, "to the deepest from": changes}
        return self._result(CURVES, test.label, facts, Statistics(rows), value=points[-1]["mean"], count=len(last))

    def _point(self, values: Sequence[float]) -> dict[str, Any]:
        interval = bootstrap_mean(values, None, seed=self.seed)
        return {"mean": float(np.mean(values)), "interval": asdict(interval) if interval else None, "queries": len(values)}

    # -- training -------------------------------------------------------------------------------------------------------------

    def _sets(self) -> list[Result]:
        """What stands in each training set; the value is the share of its negatives that are false, where the truth is known."""
        found = []
        for name, path in self.study.trainsets.items():
            rows = count_false(Groups(path), self._truth())
            false, negatives = rows["false negatives"], rows["negatives"]
            share = None if false is None or not negatives else false / negatives
            header = {"value": share, "count": rows["groups"]}
            found.append(self._result(SETS, "", Facts(variant=name), Statistics(rows), **header))
        return found

    def _truth(self) -> Iterable[Qrel] | None:
        truth = self.settings.truth
        if truth is None:
            return None
        return chain.from_iterable(self.collection.qrels(split, truth) for split in self.settings.train)

    def _telemetry(self) -> list[Result]:
        """What was logged in the trainings: a curve each, and a system's pairwise accuracy and margin over the last half of its steps."""
        curves, found = [], []
        for facts, trials in self.trials.items():
            of = [
                curve_of(Subject(system_label(facts, self.every), replace(facts, seed=t.seed), t.trained), self.collection.name)
                for t in trials
                if t.trained is not None
            ]
            if of:
                rows = {name: [_late(result, name) for result in of] for name in ("pair accuracy", "score margin", "loss")}
                rows |= {"seeds": [trial.seed for trial in trials], "steps": [_steps(result) for result in of]}
                known = [value for value in rows["pair accuracy"] if value is not None]
                value = sum(known) / len(known) if known else None
                found.append(self._result(TELEMETRY, "", facts, Statistics(rows), value=value, count=len(of)))
            curves += of
        return [*found, *curves]


def _late(result: Result, name: str) -> float | None:
    """The mean of what was logged over the last half of the steps."""
    payload: Any = result.payload
    logged = [
        (step, value) for step, value in zip(payload.steps, payload.series.get(name, ()), strict=False) if value is not None
    ]
    late = [value for step, value in logged if 2 * step >= logged[-1][0]]
    return sum(late) / len(late) if late else None


def _steps(result: Result) -> int | None:
    payload: Any = result.payload
    steps = payload.notes.get("steps")
    return None if steps is None else int(steps)
