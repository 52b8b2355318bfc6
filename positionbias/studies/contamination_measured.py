"""What the contamination study measures: every teacher and student on every target, what contamination changes, doses, what is inherited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from positionbias.contamination.trainsets import set_counts
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.manifest import read_manifest
from positionbias.core.run import read_run
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import adjust, clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    changes,
    compare_trainings,
    difference_of_queries,
    mean_interval,
    of_seeds,
    paired,
    query_means,
    ratio_of_changes,
)
from positionbias.results.contamination import (
    BEYOND,
    CONTAMINATION,
    DOSES,
    INHERITED,
    SETS,
    STANDARD,
    TRAINED,
    Beyond,
    DosePoint,
    Doses,
    Inherited,
    TeacherSet,
    Trainings,
    clean_of,
    largest_shares,
)
from positionbias.results.payloads import Comparison, Payload, PerQuery, TrainingNotes
from positionbias.results.points import Estimate, Point
from positionbias.results.result import Facts, Result
from positionbias.studies.artefacts import as_ended, ending_at
from positionbias.studies.contamination_findings import contamination_findings
from positionbias.studies.contamination_trials import ContaminationStudy, Trial, system_name
from positionbias.studies.systems import FIRST_STAGE, finding, point

__all__ = ["measure_contamination"]

HEADLINE = "nDCG@10"


def measure_contamination(study: ContaminationStudy) -> list[Result]:
    """Everything the study's report shows, what was found first.

    Measures are nDCG@10, AP and R@100, the latter two of passages judged ``relevant_from`` or higher; a query's value is its mean over
    training seeds, and intervals and tests are over trainings and queries where there are three seeds or more (``evaluation.trainings``). A contaminated system's clean twin differs in the contamination alone: same
    role, model, loss and seeds.

    Raises:
        InputError: a target without judgements of its own queries.
    """
    results = _Measuring(study).results()
    name = results[0].collection if results else ""
    return [*(finding(name, "", item, study.seed) for item in contamination_findings(results)), *results]


class _Measuring:
    """Results of one study; a system is named by its ``Facts``, the same for all seeds."""

    def __init__(self, study: ContaminationStudy) -> None:
        self.study, self.seed = study, study.seed
        collection = Collection(study.collection)
        self.name = collection.name
        level = f"(rel={study.relevant_from})" if study.relevant_from > 1 else ""
        self.measures = (HEADLINE, f"AP{level}", f"R{level}@100")
        self.qrels = {}
        for target in study.targets:
            own = {query_id for query_id, _ in collection.query_texts(target)}
            self.qrels[target] = [qrel for qrel in collection.qrels(target) if qrel.query_id in own]
        self.clusters = {target: clusters_by_passage(of, level=study.relevant_from) for target, of in self.qrels.items()}
        self.trials: dict[Facts, list[Trial]] = {}
        self.values: dict[tuple[Facts, str, str], dict[int, Values]] = {}  # system, target, measure → seed → values
        for trial in study.trials:
            self._read(trial)
        self.systems = list(self.trials)
        self.largest = largest_shares(self.systems)
        self.standard = next((s for s in self.systems if s.role == "teacher" and not s.source), None)

    def _read(self, trial: Trial) -> None:
        share = trial.share if trial.source else None
        facts = Facts(model=trial.model, role=trial.role, loss=trial.loss, source=trial.source, share=share)
        taught_by = ("teacher", trial.source, trial.share, trial.seed)  # a student rests on its teacher's training too
        teachers = [of.trained for of in self.study.trials if (of.role, of.source, of.share, of.seed) == taught_by]
        facts = as_ended(facts, trial.trained, *teachers)
        self.trials.setdefault(facts, []).append(trial)
        for target, path in trial.runs.items():
            for measure, values in per_query(read_run(path), self.qrels[target], self.measures).items():
                self.values.setdefault((facts, target, measure), {})[trial.seed] = values

    def results(self) -> list[Result]:
        """Training sets and trainings, effectiveness, tests, doses, what is inherited."""
        return [
            *self._first_stages(),
            *self._sets(),
            *self._trained(),
            *self._effectiveness(),
            *self._against_clean(),
            *self._against_standard(),
            *self._doses(),
            *self._inherited(),
            *self._beyond(),
        ]

    def _result(
        self,
        measure: str,
        target: str,
        facts: Facts,
        payload: Payload,
        value: float | None,
        count: int,
        interval: Interval | None = None,
    ) -> Result:
        return Result(measure, self.name, target, system_name(facts), self.seed, value, interval, count, payload, facts)

    def _of(self, system: Facts, target: str, measure: str) -> dict[Repeat, Values]:
        return of_seeds(self.values.get((system, target, measure), {}))

    def _twins(self, system: Facts, target: str, measure: str) -> dict[Repeat, tuple[Values, Values]]:
        """A clean system and its contaminated twin, by the seeds that both have; nothing where there are none."""
        sides = [self._of(of, target, measure) for of in (clean_of(system), system)]
        return paired(sides[0], sides[1]) if system.source else {}

    def _gains(self, system: Facts, target: str, measure: str) -> dict[Repeat, Values]:
        """Contaminated less clean by seed and query; nothing without a clean twin."""
        return changes(self._twins(system, target, measure))

    # -- what was trained -----------------------------------------------------------------------------------------------------

    def _sets(self) -> Iterator[Result]:
        """How much of each teacher's training set is of a target; the value is its share of all groups."""
        for (source, share), path in self.study.trainsets.items():
            groups = Groups(path)
            counts = set_counts(groups)
            of = counts.targets.get(source)
            figures = TeacherSet(
                groups=len(groups),
                target_groups=counts.groups,
                queries=of.queries if of else 0,
                judged_negatives=of.judged_negatives if of else 0,
                random_negatives=of.random_negatives if of else 0,
                missing_positives=of.missing_positives if of else 0,
            )
            facts = Facts(source=source, share=share if source else None)
            yield self._result(SETS, source, facts, figures, counts.share, len(groups))

    def _trained(self) -> Iterator[Result]:
        """How long each system trained, and what stopped it."""
        for system, trials in self.trials.items():
            contents = [read_manifest(trial.trained).content for trial in trials]
            notes = [TrainingNotes.of_facts(content) for content in contents]
            best = [found for content in contents if isinstance(found := content.get("validation_ndcg@10"), float)]
            figures = Trainings(
                seeds=[trial.seed for trial in trials],
                steps=[note.steps for note in notes],
                kept_steps=[note.best_step for note in notes],
                stopped=list(dict.fromkeys(note.stopped for note in notes)),
                depths=[note.depth or None for note in notes],
                ended=[ending_at(trial.trained).finish.value for trial in trials],
            )
            value = sum(best) / len(best) if best else None
            yield self._result(TRAINED, "", system, figures, value, len(trials))

    # -- Tables 1 and 2 -------------------------------------------------------------------------------------------------------

    def _per_query(
        self, measure: str, target: str, facts: Facts, repeats: Mapping[Repeat, Values], notes: Mapping[str, Any]
    ) -> Result:
        values = query_means(repeats)
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        interval = mean_interval(repeats, self.clusters[target], seed=self.seed)
        payload = PerQuery(query_ids, found, notes)
        return self._result(measure, target, facts, payload, float(np.mean(found)), len(found), interval)

    def _first_stages(self) -> list[Result]:
        return [
            self._per_query(measure, target, Facts(model=FIRST_STAGE), {(None, None): values}, {})
            for target in self.study.targets
            for measure, values in per_query(read_run(self.study.candidates[target]), self.qrels[target], self.measures).items()
        ]

    def _effectiveness(self) -> list[Result]:
        """On every target; of the smaller shares of a source on that source alone."""
        return [
            self._per_query(m, target, system, of_seeds(by_seed), {"seeds": list(by_seed)})
            for (system, target, m), by_seed in self.values.items()
            if system.source in ("", target) or system in self.largest
        ]

    def _against_clean(self) -> Iterator[Result]:
        """Every contaminated system against its clean twin.

        Of the largest share of each source; a family of tests is a measure's, on the targets that contaminated the systems or on the
        others [decision]. Smaller shares have their intervals as doses.
        """
        families: dict[tuple[str, bool], list[tuple[Facts, str, Comparison]]] = {}
        for system, target, measure in self.values:
            if system in self.largest and (twins := self._twins(system, target, measure)):
                by_seed = [float(np.mean(list(of.values()))) for of in changes(twins).values()]
                notes = {"seeds": [seed for seed, _ in twins], "difference by seed": by_seed}
                comparison = self._compare(CONTAMINATION, clean_of(system), system, twins, target, notes)
                families.setdefault((measure, system.source == target), []).append((system, target, comparison))
        return self._tested(families)

    def _against_standard(self) -> Iterator[Result]:
        """Table 1's tests: every system against the clean teacher, contaminated ones on what contaminated them; a family a measure."""
        families: dict[str, list[tuple[Facts, str, Comparison]]] = {}
        shown = {*self.largest, *(system for system in self.systems if not system.source)} - {self.standard}
        for system, target, measure in self.values:
            base = (self.standard, target, measure)
            if self.standard is None or base not in self.values or system not in shown or system.source not in ("", target):
                continue
            if system.unfinished != self.standard.unfinished:
                continue
            pairs = paired(self._of(self.standard, target, measure), self._of(system, target, measure))
            if not pairs:  # no seed that both have
                continue
            comparison = self._compare(STANDARD, self.standard, system, pairs, target, {})
            families.setdefault(measure, []).append((system, target, comparison))
        return self._tested({(measure,): family for measure, family in families.items()})

    def _compare(
        self,
        axis: str,
        base: Facts,
        system: Facts,
        repeats: Mapping[Repeat, tuple[Values, Values]],
        target: str,
        more: Mapping[str, Any],
    ) -> Comparison:
        names = [system_name(base), system_name(system)]
        notes = {"axis": axis, "systems": names, "test_sets": [target] * 2, **more}
        return compare_trainings(
            repeats,
            baseline_name=names[0],
            candidate_name=names[1],
            clusters=self.clusters[target],
            seed=self.seed,
            notes=notes,
        )

    def _tested(self, families: Mapping[tuple, Sequence[tuple[Facts, str, Comparison]]]) -> Iterator[Result]:
        """The comparisons as results, their p-values corrected within each family, whose key begins with the measure."""
        for (measure, *_), family in families.items():
            corrected = adjust([comparison for _, _, comparison in family])
            for (system, target, _), comparison in zip(family, corrected, strict=True):
                difference, interval = comparison.difference, comparison.difference_interval
                queries = comparison.noted.queries
                yield self._result(measure, target, system, comparison, difference, queries, interval)

    # -- doses, inheritance ---------------------------------------------------------------------------------------------------

    def _doses(self) -> Iterator[Result]:
        """By system and source the inflation at each share, on all queries of the source, those whose judgements were seen, and the others.

        A share's queries are the beginning of a larger one's, so the groups of queries differ from point to point.
        """
        by_source: dict[Facts, list[Facts]] = {}
        for system in self.systems:
            if system.share is not None:
                by_source.setdefault(replace(system, share=None), []).append(system)
        for key, systems in by_source.items():
            gains = {}
            for system in sorted(systems, key=lambda item: item.share or 0.0):
                if gain := self._gains(system, key.source, HEADLINE):
                    gains[system.share or 0.0] = gain
            if gains:
                yield self._dose(key, gains)

    def _dose(self, key: Facts, gains: Mapping[float, Mapping[Repeat, Values]]) -> Result:
        # what could have been seen: a query without a positive in the corpus never is, and is no control
        pool = self._seen(key.source, 1.0) if (key.source, 1.0) in self.study.trainsets else None
        points = [self._dose_point(key.source, share, gain, pool) for share, gain in gains.items()]
        shares = list(gains)
        first, last = gains[shares[0]], gains[shares[-1]]
        change = self._point(key.source, changes(paired(first, last))) if len(shares) > 1 else None
        doses = Doses(measure=HEADLINE, points=points, change=change)
        return self._result(DOSES, key.source, key, doses, None, len(query_means(last)))

    def _dose_point(self, target: str, share: float, gain: Mapping[Repeat, Values], pool: set[str] | None) -> DosePoint:
        asked, seen = set(query_means(gain)), self._seen(target, share)
        sides = (_among(gain, seen), _among(gain, (asked if pool is None else pool & asked) - seen))
        # which queries are seen is drawn at random, so that the difference is what seeing them makes
        mean, interval = difference_of_queries(*sides, (self.clusters[target],) * 2)
        return DosePoint(
            share=share,
            every=point(gain, self.clusters[target], seed=self.seed),
            seen=self._point(target, sides[0]),
            others=self._point(target, sides[1]),
            apart=None if mean is None else Estimate(mean, interval),
        )

    def _seen(self, source: str, share: float) -> set[str]:
        """The queries of a target whose judgements a teacher was trained on."""
        of = set_counts(Groups(self.study.trainsets[source, share])).targets.get(source)
        return set(of.query_ids) if of else set()

    def _point(self, target: str, gains: Mapping[Repeat, Values]) -> Point | None:
        return point(gains, self.clusters[target], seed=self.seed) if any(gains.values()) else None

    def _inherited(self) -> Iterator[Result]:
        """How much of the teacher's inflation each student has, on the source, with its largest share: the ratio of the two means."""
        for student, measure in product([s for s in self.systems if s in self.largest and s.role == "student"], self.measures):
            teacher = next((s for s in self.systems if replace(student, role="teacher", model=s.model, loss=s.loss) == s), None)
            sides = paired(*(self._gains(s, student.source, measure) if s else {} for s in (teacher, student)))
            if not sides:
                continue
            theirs, own = ({key: pair[side] for key, pair in sides.items()} for side in (0, 1))
            ratio, interval = ratio_of_changes(own, theirs, self.clusters[student.source])
            figures = Inherited(measure=measure, teacher=_mean(theirs), student=_mean(own))
            queries = len(query_means(own))
            yield self._result(INHERITED, student.source, student, figures, ratio, queries, interval)

    def _beyond(self) -> Iterator[Result]:
        """The change on what contaminated a system less that on each other target: a target's judgements are also more training data."""
        for system, target in product([s for s in self.systems if s in self.largest], self.study.targets):
            here, there = (self._gains(system, of, HEADLINE) for of in (system.source, target))
            if target == system.source or not here or not there:
                continue
            difference, interval = difference_of_queries(here, there, (self.clusters[system.source], self.clusters[target]))
            figures = Beyond(measure=HEADLINE, elsewhere=target, here=_mean(here), there=_mean(there))
            queries = len(query_means(here))
            yield self._result(BEYOND, system.source, system, figures, difference, queries, interval)


def _among(repeats: Mapping[Repeat, Values], queries: set[str]) -> dict[Repeat, Values]:
    return {key: {query_id: value for query_id, value in of.items() if query_id in queries} for key, of in repeats.items()}


def _mean(repeats: Mapping[Repeat, Values]) -> float:
    return float(np.mean(list(query_means(repeats).values())))
