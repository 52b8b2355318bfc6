"""What the TripClick study measures: every system on every test, its tests, depth curves, training sets and what was logged in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.records import Qrel
from positionbias.core.run import Run, read_run
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import adjust, clusters_by_passage
from positionbias.evaluation.trainings import Repeat, Values, compare_trainings, mean_interval, paired, query_means
from positionbias.results.payloads import Comparison, Payload, PerQuery
from positionbias.results.result import Facts, Result
from positionbias.results.tripclick import (
    AGAINST_BM25,
    CLEANED,
    CURVES,
    ENSEMBLE,
    FIRST,
    MEMBERS,
    NEGATIVES,
    REGENERATED,
    RERANKER,
    RETRIEVER,
    DepthCurve,
    system_label,
)
from positionbias.studies.systems import FIRST_STAGE, finding
from positionbias.studies.tripclick_depths import depth_notes, depth_points, reached, to_deepest, within_candidates
from positionbias.studies.tripclick_findings import tripclick_findings
from positionbias.studies.tripclick_settings import JudgedSplit
from positionbias.studies.tripclick_trained import set_results, telemetry
from positionbias.studies.tripclick_trials import Trial, TripClickStudy

__all__ = ["measure_tripclick"]

HEADLINE = "nDCG@10"
JUDGED = "Judged@10"
RECALL = (100, 200, 1000)


def measure_tripclick(study: TripClickStudy) -> list[Result]:
    """Everything the study's report shows, what was found first.

    Of re-rankers and the ensemble nDCG@10 and RR@10 (Table 1); of BM25 and retrievers J@10 and recall too (Table 2). A query's value is its mean over
    seeds; intervals and tests are over trainings and queries where there are three seeds or more (``evaluation.trainings``). Recall is measured no deeper than rankings go, and a depth curve goes no deeper than its candidates.

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
        self.recall = {k: f"R{rel}@{k}" for k in RECALL}
        self.qrels: dict[str, list[Qrel]] = {test.label: self._qrels(test) for test in self.settings.tests}
        level = self.settings.test_relevant_from
        self.clusters = {label: clusters_by_passage(of, level=level) for label, of in self.qrels.items()}
        self.first = {split: read_run(path) for split, path in study.candidates.items()}
        self.trials: dict[Facts, list[Trial]] = {}
        for trial in study.trials:
            self.trials.setdefault(trial.facts, []).append(trial)
        self.every = list(self.trials)
        self.values: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}  # system, test, measure
        self.curves: list[Result] = []
        for facts, trials in self.trials.items():
            self._read(facts, trials)

    def _retrieved(self, deepest: int) -> tuple[str, ...]:
        """What is measured of rankings that hold ``deepest`` passages a query, where there are so many: recall no deeper than these."""
        return (JUDGED, *self.ranked, *(name for k, name in self.recall.items() if k <= deepest))

    def _qrels(self, test: JudgedSplit) -> list[Qrel]:
        own = {query_id for query_id, _ in self.collection.query_texts(test.split)}
        return [qrel for qrel in self.collection.qrels(test.split, test.judgements) if qrel.query_id in own]

    def _read(self, facts: Facts, trials: Sequence[Trial]) -> None:
        """One system's values; its runs are let go after that."""
        measures = self._retrieved(self.settings.retrieval_depth) if facts.role == RETRIEVER else self.ranked
        for split in self.first:
            whole = [read_run(trial.runs[split]) for trial in trials]
            runs = [self._cut(facts, split, run) for run in whole]
            for test in self.settings.tests:
                if test.split == split:
                    for measure, of in self._by_training(runs, [trial.seed for trial in trials], test, measures).items():
                        self.values[facts, test.label, measure] = of
                    if facts.role == RERANKER and split in self.settings.curve_tests:
                        self.curves += self._curve(facts, test, whole)

    def _cut(self, facts: Facts, split: str, run: Run) -> Run:
        """What was re-ranked deeper, for its curve, down to the study's depth."""
        if facts.role != RERANKER or self.settings.reach(split) == self.settings.depth:
            return run
        return apply_depth(self.first[split], run, self.settings.depth)

    def _by_training(
        self, runs: Sequence[Run], seeds: Sequence[int | None], test: JudgedSplit, measures: Sequence[str]
    ) -> dict[str, dict[Repeat, Values]]:
        """By measure, the values of each seed's run."""
        found = [per_query(run, self.qrels[test.label], measures) for run in runs]
        return {m: {(seed, None): of[m] for seed, of in zip(seeds, found, strict=True)} for m in measures}

    def results(self) -> list[Result]:
        """Effectiveness, tests, curves, training sets, trainings."""
        return [
            *self._effectiveness(),
            *self._tested(AGAINST_BM25, self._against_first()),
            *self._tested(NEGATIVES, self._by_negatives()),
            *self._tested(MEMBERS, self._against_members()),
            *self.curves,
            *set_results(self.study, self.collection),
            *telemetry(self.trials, self.collection.name, self.seed),
        ]

    def _result(self, measure: str, test: str, facts: Facts, payload: Payload, **header: Any) -> Result:
        found = {"value": None, "interval": None, "count": 0, **header}
        name = system_label(facts, self.every)
        return Result(measure, self.collection.name, test, name, self.seed, payload=payload, facts=facts, **found)

    # -- Tables 1 and 2 -------------------------------------------------------------------------------------------------------

    def _effectiveness(self) -> list[Result]:
        first = Facts(model=FIRST_STAGE, role=FIRST)
        for test in self.settings.tests:
            run = self.first[test.split]
            deepest = run.depth if test.split in self.settings.candidates else self.settings.retrieval_depth
            for measure, of in self._by_training([run], [None], test, self._retrieved(deepest)).items():
                self.values[first, test.label, measure] = of
        order = [first, *self.every]
        keys = sorted(self.values, key=lambda key: order.index(key[0]))
        return [self._per_query(measure, test, facts, self.values[facts, test, measure]) for facts, test, measure in keys]

    def _per_query(self, measure: str, test: str, facts: Facts, repeats: Mapping[Repeat, Values]) -> Result:
        values = query_means(repeats)
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        interval = mean_interval(repeats, self.clusters[test], seed=self.seed)
        seeds = [trial.seed for trial in self.trials.get(facts, ())]
        header = {"value": float(np.mean(found)), "interval": interval, "count": len(found)}
        notes: dict[str, Any] = {"seeds": seeds} if seeds else {}
        if facts.role == RETRIEVER:
            notes["index"] = self.settings.index
        if facts.role == FIRST:
            split = next(of.split for of in self.settings.tests if of.label == test)
            notes |= {"depth": self.settings.depth, **depth_notes(self.first[split], query_ids, self.settings.depth)}
        return self._result(measure, test, facts, PerQuery(query_ids, found, notes), **header)

    # -- tests ----------------------------------------------------------------------------------------------------------------

    def _against_first(self) -> Iterable[tuple[Facts, Facts]]:
        first = Facts(model=FIRST_STAGE, role=FIRST)
        return ((first, facts) for facts in self.every)

    def _by_negatives(self) -> Iterable[tuple[Facts, Facts]]:
        """Every other training set of a model with BM25's negatives instead; and with its own false negatives left out, where nothing else differs
        in where negatives come from."""
        for facts in self.every:
            base = replace(facts, variant=REGENERATED)
            cleaned = replace(facts, variant=f"{facts.variant}{CLEANED}")
            if facts != base and base in self.trials:
                yield facts, base
            if cleaned in self.trials:
                yield facts, cleaned

    def _against_members(self) -> Iterable[tuple[Facts, Facts]]:
        """The ensemble against every one of its models; the report takes the best of each test."""
        names = set(self.settings.in_ensemble)
        members = [f for f, trials in self.trials.items() if trials[0].name in names and f.variant == REGENERATED]
        ensembles = [facts for facts in self.every if facts.role == ENSEMBLE]
        return ((member, facts) for facts in ensembles for member in members if member.unfinished == facts.unfinished)

    def _tested(self, axis: str, pairs: Iterable[tuple[Facts, Facts]]) -> list[Result]:
        """Candidate against baseline on every test; a family of tests is a measure's of one test set [decision]."""
        families: dict[tuple[str, str], list[tuple[Facts, Comparison]]] = {}
        for base, facts in pairs:
            for test, measure in ((test.label, measure) for test in self.settings.tests for measure in self.ranked):
                names = [system_label(of, self.every) for of in (base, facts)]
                repeats = paired(self.values[base, test, measure], self.values[facts, test, measure])
                notes = {"axis": axis, "systems": names, "baseline facts": asdict(base), "test_sets": [test] * 2}
                found = compare_trainings(
                    repeats,
                    baseline_name=names[0],
                    candidate_name=names[1],
                    clusters=self.clusters[test],
                    seed=self.seed,
                    notes=notes,
                )
                families.setdefault((measure, test), []).append((facts, found))
        results = []
        for (measure, test), family in families.items():
            corrected = adjust([comparison for _, comparison in family])
            for (facts, _), payload in zip(family, corrected, strict=True):
                header = {"value": payload.difference, "interval": payload.difference_interval}
                results.append(self._result(measure, test, facts, payload, count=payload.notes["queries"], **header))
        return results

    # -- depth ----------------------------------------------------------------------------------------------------------------

    def _curve(self, facts: Facts, test: JudgedSplit, runs: Sequence[Run]) -> list[Result]:
        """nDCG@10 at the depths of re-ranking that the candidates have; nothing where they have none."""
        first = self.first[test.split]
        queries = sorted(per_query(first, self.qrels[test.label], (HEADLINE,))[HEADLINE])
        asked = {*self.settings.depths, self.settings.depth}
        depths = within_candidates(first, queries, asked)
        if not depths:
            return []
        at: dict[int, dict[Repeat, Values]] = {}
        seeds = [trial.seed for trial in self.trials[facts]]
        for depth in depths:
            cut = [apply_depth(first, run, depth) for run in runs]
            at[depth] = self._by_training(cut, seeds, test, (HEADLINE,))[HEADLINE]
        clusters = self.clusters[test.label]
        curve = DepthCurve(
            measure=HEADLINE,
            points=depth_points(at, reached(first, queries, depths), clusters, seed=self.seed),
            depth=self.settings.depth,
            changes=to_deepest(at, self.settings.depth, clusters, seed=self.seed),
            beyond=sorted(asked.difference(depths)),
        )
        return [self._result(CURVES, test.label, facts, curve, value=curve.points[-1].mean, count=len(queries))]
