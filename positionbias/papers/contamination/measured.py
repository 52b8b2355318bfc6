"""Measurements of the contamination study: systems on targets, effects of contamination, levels,
inheritance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from positionbias.contamination.trainsets import set_counts
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import read_manifest
from positionbias.core.run import read_run
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    changes,
    difference_of_queries,
    paired,
    query_means,
    ratio_of_changes,
)
from positionbias.experiments.artefacts import as_ended, ending_at
from positionbias.experiments.measuring import (
    Measuring,
    Tested,
    Trial,
    own_judgements,
    trial_inputs,
)
from positionbias.experiments.systems import FIRST_STAGE, finding
from positionbias.papers.contamination import (
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
    system_name,
)
from positionbias.papers.contamination.findings import contamination_findings
from positionbias.results.payloads import TrainingNotes
from positionbias.results.points import Estimate, Point
from positionbias.results.result import Facts, Result

__all__ = ["ContaminationStudy", "measure_contamination"]

HEADLINE = "nDCG@10"


@dataclass(frozen=True)
class ContaminationStudy:
    """The inputs of the measurements; a trial's ``runs`` are its re-ranked candidates by target.

    ``candidates`` by target: the runs that are re-ranked. ``trainsets`` by source and share: the
    teachers' training sets, ("", 0.0) the clean one. Passages are relevant from grade
    ``relevant_from`` on where a measure is binary.
    """

    collection: Path
    targets: tuple[str, ...]
    candidates: Mapping[str, Path]
    trainsets: Mapping[tuple[str, float], Path]
    trials: Sequence[Trial]
    relevant_from: int = 2
    seed: int = 1

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        return {
            "collection": self.collection,
            **{f"candidates of {target}": path for target, path in self.candidates.items()},
            **{
                f"training set {source or 'clean'} {share:g}": path
                for (source, share), path in self.trainsets.items()
            },
            **trial_inputs(self.trials),
        }


def measure_contamination(study: ContaminationStudy) -> list[Result]:
    """Return all results of the study's report, findings first.

    Measures are nDCG@10, AP and R@100, the latter two of passages judged ``relevant_from`` or
    higher; a query's value is its mean over training seeds, and intervals and tests are over
    trainings and queries where there are three seeds or more (``evaluation.trainings``). A
    contaminated system's clean paired model differs only in the contamination: it has the same
    role, model, loss and seeds.

    Raises:
        InputError: a target without judgements of its own queries.
    """
    results = _Measuring(study).results()
    name = results[0].collection if results else ""
    return [
        *(finding(name, "", item, study.seed) for item in contamination_findings(results)),
        *results,
    ]


class _Measuring(Measuring):
    """The results of one study."""

    def __init__(self, study: ContaminationStudy) -> None:
        collection = Collection(study.collection)
        qrels = {target: own_judgements(collection, target) for target in study.targets}
        super().__init__(collection, qrels, relevant_from=study.relevant_from, seed=study.seed)
        self.study = study
        level = f"(rel={study.relevant_from})" if study.relevant_from > 1 else ""
        self.measures = (HEADLINE, f"AP{level}", f"R{level}@100")
        self.trials: dict[Facts, list[Trial]] = {}
        for trial in study.trials:
            self._read(trial)
        self.systems = list(self.trials)
        self.largest = largest_shares(self.systems)
        self.standard = next(
            (s for s in self.systems if s.role == "teacher" and not s.source), None
        )

    def _read(self, trial: Trial) -> None:
        own = trial.facts  # a student also depends on its teacher's training
        taught_by = ("teacher", own.source, own.share, trial.seed)
        of = [
            t
            for t in self.study.trials
            if (t.facts.role, t.facts.source, t.facts.share, t.seed) == taught_by
        ]
        facts = as_ended(own, *(t.trained for t in (trial, *of) if t.trained is not None))
        self.trials.setdefault(facts, []).append(trial)
        for target, path in trial.runs.items():
            for measure, values in per_query(
                read_run(path), self.qrels[target], self.measures
            ).items():
                self.values.setdefault((facts, target, measure), {})[trial.seed, None] = values

    def name(self, facts: Facts) -> str:
        """Return a system's name in results."""
        return system_name(facts)

    def results(self) -> list[Result]:
        """Return training sets and trainings, effectiveness, tests, levels, inheritance."""
        return [
            *self._first_stages(),
            *self._sets(),
            *self._trained(),
            *self._effectiveness(),
            *self.corrected(self._against_clean()),
            *self.corrected(self._against_standard()),
            *self._doses(),
            *self._inherited(),
            *self._beyond(),
        ]

    def _pairs(
        self, system: Facts, target: str, measure: str
    ) -> dict[Repeat, tuple[Values, Values]]:
        """Return the values of a clean system and its contaminated paired model, by the seeds that
        both have.
        """
        clean, own = (
            self.values.get((of, target, measure), {}) for of in (clean_of(system), system)
        )
        return paired(clean, own) if system.source else {}

    def _gains(self, system: Facts, target: str, measure: str) -> dict[Repeat, Values]:
        """Return contaminated less clean by seed and query; empty without the clean system."""
        return changes(self._pairs(system, target, measure))

    # -- what was trained --------------------------------------------------------------------------

    def _sets(self) -> Iterator[Result]:
        """Yield each target's part in each teacher's training set; the value is its share of all
        groups.
        """
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
            yield self.result(SETS, source, facts, figures, value=counts.share, count=len(groups))

    def _trained(self) -> Iterator[Result]:
        """Yield the length of each system's trainings, and why they stopped."""
        for system, trials in self.trials.items():
            places = [trial.trained for trial in trials if trial.trained is not None]
            contents = [read_manifest(place).content for place in places]
            notes = [TrainingNotes.of_facts(content) for content in contents]
            best = [
                found
                for content in contents
                if isinstance(found := content.get("validation_ndcg@10"), float)
            ]
            figures = Trainings(
                seeds=[trial.seed for trial in trials],
                steps=[note.steps for note in notes],
                kept_steps=[note.best_step for note in notes],
                stopped=list(dict.fromkeys(note.stopped for note in notes)),
                depths=[note.depth or None for note in notes],
                ended=[ending_at(place).finish.value for place in places],
            )
            value = sum(best) / len(best) if best else None
            yield self.result(TRAINED, "", system, figures, value=value, count=len(trials))

    # -- Tables 1 and 2 ----------------------------------------------------------------------------

    def _first_stages(self) -> Iterator[Result]:
        for target in self.study.targets:
            found = per_query(
                read_run(self.study.candidates[target]), self.qrels[target], self.measures
            )
            for measure, values in found.items():
                yield self.per_query(
                    measure, target, Facts(model=FIRST_STAGE), {(None, None): values}, {}
                )

    def _effectiveness(self) -> Iterator[Result]:
        """Yield effectiveness on every target; for smaller shares of a source only on that
        source.
        """
        for (system, target, measure), repeats in self.values.items():
            if system.source in ("", target) or system in self.largest:
                yield self.per_query(
                    measure, target, system, repeats, {"seeds": [seed for seed, _ in repeats]}
                )

    def _against_clean(self) -> Iterator[tuple[tuple[str, bool], Tested]]:
        """Compare every contaminated system with its clean paired model.

        It covers the largest share of each source. A family of tests belongs to a measure, on the
        contaminating targets or on the others [decision]. Smaller shares have their intervals as
        doses.
        """
        for system, target, measure in self.values:
            if system in self.largest and (pairs := self._pairs(system, target, measure)):
                by_seed = [float(np.mean(list(of.values()))) for of in changes(pairs).values()]
                more: JsonObject = {
                    "seeds": [seed for seed, _ in pairs],
                    "difference by seed": by_seed,
                }
                comparison = self.compare(
                    CONTAMINATION, clean_of(system), system, pairs, target, more
                )
                yield (
                    (measure, system.source == target),
                    Tested(measure, target, system, comparison),
                )

    def _against_standard(self) -> Iterator[tuple[str, Tested]]:
        """Yield Table 1's tests: every system against the clean teacher, contaminated ones on their
        source; by measure.
        """
        shown = {*self.largest, *(system for system in self.systems if not system.source)} - {
            self.standard
        }
        for system, target, measure in self.values:
            if self.standard is None or system not in shown or system.source not in ("", target):
                continue
            if system.unfinished != self.standard.unfinished:
                continue
            base = self.values.get((self.standard, target, measure), {})
            if pairs := paired(base, self.values[system, target, measure]):
                comparison = self.compare(STANDARD, self.standard, system, pairs, target)
                yield measure, Tested(measure, target, system, comparison)

    # -- doses, inheritance ------------------------------------------------------------------------

    def _doses(self) -> Iterator[Result]:
        """Yield inflation at each share by system and source: on all queries of the source, on the
        seen, and on the others.

        A share's queries are the beginning of a larger one's, so the groups of queries differ from
        point to point.
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
        # a query without a positive in the corpus is never seen, and cannot be a control
        pool = self._seen(key.source, 1.0) if (key.source, 1.0) in self.study.trainsets else None
        points = [self._dose_point(key.source, share, gain, pool) for share, gain in gains.items()]
        shares = list(gains)
        first, last = gains[shares[0]], gains[shares[-1]]
        change = (
            self._point_of_some(key.source, changes(paired(first, last)))
            if len(shares) > 1
            else None
        )
        doses = Doses(measure=HEADLINE, points=points, change=change)
        return self.result(DOSES, key.source, key, doses, count=len(query_means(last)))

    def _dose_point(
        self, target: str, share: float, gain: Mapping[Repeat, Values], pool: set[str] | None
    ) -> DosePoint:
        asked, seen = set(query_means(gain)), self._seen(target, share)
        sides = (_among(gain, seen), _among(gain, (asked if pool is None else pool & asked) - seen))
        # seen queries are drawn at random, so the difference is the effect of seeing them
        mean, interval = difference_of_queries(*sides, (self.clusters[target],) * 2)
        return DosePoint(
            share=share,
            every=self.point(target, gain, changes=True),
            seen=self._point_of_some(target, sides[0]),
            others=self._point_of_some(target, sides[1]),
            apart=None if mean is None else Estimate(mean, interval),
        )

    def _seen(self, source: str, share: float) -> set[str]:
        """Return the queries of a target on whose judgements a teacher was trained."""
        of = set_counts(Groups(self.study.trainsets[source, share])).targets.get(source)
        return set(of.query_ids) if of else set()

    def _point_of_some(self, target: str, gains: Mapping[Repeat, Values]) -> Point | None:
        return self.point(target, gains, changes=True) if any(gains.values()) else None

    def _inherited(self) -> Iterator[Result]:
        """Yield each student's share of its teacher's inflation, on the source, at its largest
        share: the ratio of means.
        """
        for student, measure in product(
            [s for s in self.systems if s in self.largest and s.role == "student"], self.measures
        ):
            teacher = next(
                (
                    s
                    for s in self.systems
                    if replace(student, role="teacher", model=s.model, loss=s.loss) == s
                ),
                None,
            )
            sides = paired(
                *(self._gains(s, student.source, measure) if s else {} for s in (teacher, student))
            )
            if not sides:
                continue
            theirs, own = ({key: pair[side] for key, pair in sides.items()} for side in (0, 1))
            ratio, interval = ratio_of_changes(own, theirs, self.clusters[student.source])
            figures = Inherited(measure=measure, teacher=_mean(theirs), student=_mean(own))
            queries = len(query_means(own))
            yield self.result(
                INHERITED,
                student.source,
                student,
                figures,
                value=ratio,
                interval=interval,
                count=queries,
            )

    def _beyond(self) -> Iterator[Result]:
        """Yield the change on the source less that on each other target: a target's judgements are
        also more training data.
        """
        for system, target in product(
            [s for s in self.systems if s in self.largest], self.study.targets
        ):
            here, there = (self._gains(system, of, HEADLINE) for of in (system.source, target))
            if target == system.source or not here or not there:
                continue
            difference, interval = difference_of_queries(
                here, there, (self.clusters[system.source], self.clusters[target])
            )
            figures = Beyond(
                measure=HEADLINE, elsewhere=target, here=_mean(here), there=_mean(there)
            )
            queries = len(query_means(here))
            yield self.result(
                BEYOND,
                system.source,
                system,
                figures,
                value=difference,
                interval=interval,
                count=queries,
            )


def _among(repeats: Mapping[Repeat, Values], queries: set[str]) -> dict[Repeat, Values]:
    return {
        key: {query_id: value for query_id, value in of.items() if query_id in queries}
        for key, of in repeats.items()
    }


def _mean(repeats: Mapping[Repeat, Values]) -> float:
    return float(np.mean(list(query_means(repeats).values())))
