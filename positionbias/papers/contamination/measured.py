"""What the contamination study measures, as rows: systems on targets, effects of contamination,
shares, inheritance.

The key ``share`` is the share of a target's queries that a teacher saw; ``elsewhere`` is another
target that a change is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.contamination.trainsets import set_counts
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected, printed_cells
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
from positionbias.experiments.artefacts import as_ended
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    Trial,
    over,
    own_judgements,
    system_cells,
    trial_inputs,
)
from positionbias.papers.contamination import HEADLINE, target_of
from positionbias.results.result import Facts

__all__ = ["KEYS", "ContaminationStudy", "measure_contamination"]

KEYS = ("share", "elsewhere")
PUBLISHED = Path(__file__).with_name("published.csv")
CLEAN, STANDARD = "clean", "the clean teacher"  # what a system is compared with


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


def measure_contamination(study: ContaminationStudy) -> Collected:
    """Return the rows of the study, those of the paper for its own targets among them.

    Measures are nDCG@10, AP and R@100, the latter two of passages judged ``relevant_from`` or
    higher; a query's value is its mean over training seeds, and intervals and tests are over
    trainings and queries where there are three seeds or more (``evaluation.trainings``). A
    contaminated system's clean paired model differs only in the contamination: it has the same
    role, model, loss and seeds.

    Raises:
        InputError: a target without judgements of its own queries.
    """
    return _Measuring(study).measured()


def clean_of(facts: Facts) -> Facts:
    """Return the same system without contamination."""
    return replace(facts, source="", share=None)


def _cells(facts: Facts) -> dict[str, Any]:
    share = "" if facts.share is None else f"{facts.share:g}"
    return {**system_cells(facts), "share": share}


class _Measuring(Systems):
    """The measurements of one study."""

    cells = staticmethod(_cells)

    def __init__(self, study: ContaminationStudy) -> None:
        collection = Collection(study.collection)
        qrels = {target: own_judgements(collection, target) for target in study.targets}
        made = Collected({"study": "contamination", "collection": collection.name}, KEYS)
        super().__init__(made, qrels, relevant_from=study.relevant_from, seed=study.seed)
        self.study = study
        level = f"(rel={study.relevant_from})" if study.relevant_from > 1 else ""
        self.measures = (HEADLINE, f"AP{level}", f"R{level}@100")
        self.trials: dict[Facts, list[Trial]] = {}
        values: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}
        for trial in study.trials:
            facts = self._ended(trial)
            self.trials.setdefault(facts, []).append(trial)
            for target, path in trial.runs.items():
                by_measure = per_query(read_run(path), self.qrels[target], self.measures)
                for measure, by_query in by_measure.items():
                    values.setdefault((facts, target, measure), {})[trial.seed, None] = by_query
        self.values = dict(values)
        self.largest = _largest_shares(self.trials)

    def _ended(self, trial: Trial) -> Facts:
        """Return a trial's facts with the ending of its training and of its teacher's."""
        own = trial.facts
        taught_by = ("teacher", own.source, own.share, trial.seed)
        teachers = [
            other
            for other in self.study.trials
            if (other.facts.role, other.facts.source, other.facts.share, other.seed) == taught_by
        ]
        places = [one.trained for one in (trial, *teachers) if one.trained is not None]
        return as_ended(own, *places)

    def measured(self) -> Collected:
        """Measure effectiveness, training sets, tests, shares, inheritance."""
        for target in self.study.targets:
            run = read_run(self.study.candidates[target])
            by_measure = per_query(run, self.qrels[target], self.measures)
            first = Facts(model=FIRST_STAGE, role="first stage")
            for measure, by_query in by_measure.items():
                self.mean(measure, target, first, {(None, None): by_query})
        for (system, target, measure), repeats in self.values.items():
            if system.source in ("", target) or system in self.largest:
                self.mean(measure, target, system, repeats)
        self._published()
        self.compare(self._against_clean())
        self.compare(self._against_standard())
        self._sets()
        for system, trials in self.trials.items():
            for trial in trials:
                if trial.trained is not None:
                    self.training(system, trial.seed, trial.trained)
        self._shares()
        self._inherited()
        self._beyond()
        return self.made

    def _published(self) -> None:
        """Add the paper's figures for those targets that are its own by name."""
        names = {name: target for target in self.qrels if (name := target_of(target))}
        for cell in printed_cells(PUBLISHED):
            source = cell.get("source", "")
            if cell["split"] in names and source in ("", *names):
                own = {"split": names[cell["split"]], "source": names.get(source, "")}
                self.made.add(**{**cell, **own})

    def _pairs(
        self, system: Facts, target: str, measure: str
    ) -> dict[Repeat, tuple[Values, Values]]:
        """Return the values of a clean system and its contaminated paired model, by the seeds that
        both have.
        """
        clean, own = (
            self.values.get((one, target, measure), {}) for one in (clean_of(system), system)
        )
        return paired(clean, own) if system.source else {}

    def _gains(self, system: Facts, target: str, measure: str) -> dict[Repeat, Values]:
        """Return contaminated less clean by seed and query; empty without the clean system."""
        return changes(self._pairs(system, target, measure))

    def _sets(self) -> None:
        """Add each target's part in each teacher's training set."""
        for (source, share), path in self.study.trainsets.items():
            groups = Groups(path)
            counts = set_counts(groups)
            target = counts.targets.get(source)
            numbers = {
                "groups": len(groups),
                "groups of the target": counts.groups,
                "queries of the target": target.queries if target else 0,
                "judged negatives": target.judged_negatives if target else 0,
                "random negatives": target.random_negatives if target else 0,
                "positives missing from the corpus": target.missing_positives if target else 0,
                "share of groups": counts.share,
            }
            cells: dict[str, Any] = {"source": source, "share": f"{share:g}" if source else ""}
            for statistic, number in numbers.items():
                self.made.add("training set", statistic, number, **cells)

    # -- tests -------------------------------------------------------------------------------------

    def _against_clean(self) -> Iterator[Tested]:
        """Compare every contaminated system with its clean paired model.

        It covers the largest share of each source. A family of tests belongs to a measure, on the
        contaminating targets or on the others [decision]. Smaller shares have their intervals by
        share.
        """
        for system, target, measure in self.values:
            if system in self.largest and (pairs := self._pairs(system, target, measure)):
                where = "on what contaminated" if system.source == target else "on other targets"
                family = f"against clean: {measure} {where}"
                yield Tested(family, measure, target, clean_of(system), system, pairs, CLEAN)

    def _against_standard(self) -> Iterator[Tested]:
        """Yield Table 1's tests: every system against the clean teacher, contaminated ones on their
        source; by measure.
        """
        standard = next(
            (one for one in self.trials if one.role == "teacher" and not one.source), None
        )
        shown = {*self.largest, *(one for one in self.trials if not one.source)} - {standard}
        for system, target, measure in self.values:
            if standard is None or system not in shown or system.source not in ("", target):
                continue
            if system.unfinished != standard.unfinished:
                continue
            base = self.values.get((standard, target, measure), {})
            if pairs := paired(base, self.values[system, target, measure]):
                family = f"against {STANDARD}: {measure}"
                yield Tested(family, measure, target, standard, system, pairs, STANDARD)

    # -- shares, inheritance -----------------------------------------------------------------------

    def _shares(self) -> None:
        """Add inflation at each share by system and source: on all queries of the source, on the
        seen, and on the others; and from the smallest share to the largest.

        A share's queries are the beginning of a larger one's, so the groups of queries differ from
        point to point.
        """
        by_source: dict[Facts, list[Facts]] = {}
        for system in self.trials:
            if system.share is not None:
                by_source.setdefault(replace(system, share=None), []).append(system)
        for systems in by_source.values():
            gains: dict[Facts, Mapping[Repeat, Values]] = {}
            for system in sorted(systems, key=lambda one: one.share or 0.0):
                if gain := self._gains(system, system.source, HEADLINE):
                    gains[system] = gain
                    self._share(system, gain)
            if len(gains) > 1:
                first, last = next(iter(gains)), list(gains)[-1]
                moved = changes(paired(gains[first], gains[last]))
                if any(moved.values()):
                    value, bounds, cells = self.estimate(last.source, moved, changes=True)
                    cells |= {**_cells(last), "against": f"share={first.share:g}"}
                    self.made.add(HEADLINE, "change with the share", value, bounds, **cells)

    def _share(self, system: Facts, gain: Mapping[Repeat, Values]) -> None:
        source, share = system.source, system.share or 0.0
        asked, seen = set(query_means(gain)), self._seen(source, share)
        # a query without a positive in the corpus is never seen, and cannot be a control
        whole = (source, 1.0) in self.study.trainsets
        pool = self._seen(source, 1.0) & asked if whole else asked
        place = {**_cells(system), "axis": "share", "at": share, "label": f"{share:g}"}
        parts = {
            "all queries": gain,
            "seen": _among(gain, seen),
            "others": _among(gain, pool - seen),
        }
        for subset, part in parts.items():
            if any(part.values()):
                value, bounds, cells = self.estimate(source, part, changes=True)
                cells |= {**place, "subset": subset}
                self.made.add(HEADLINE, "change", value, bounds, **cells)
        # seen queries are drawn at random, so the difference is the effect of seeing them
        clusters = (self.clusters[source],) * 2
        apart, bounds = difference_of_queries(parts["seen"], parts["others"], clusters)
        if apart is not None:
            cells = {**place, **over(gain), "split": source}
            self.made.add(HEADLINE, "seen less others", apart, bounds, **cells)

    def _seen(self, source: str, share: float) -> set[str]:
        """Return the queries of a target on whose judgements a teacher was trained."""
        target = set_counts(Groups(self.study.trainsets[source, share])).targets.get(source)
        return set(target.query_ids) if target else set()

    def _inherited(self) -> None:
        """Add each student's share of its teacher's inflation, on the source, at its largest share:
        the ratio of means.
        """
        students = [one for one in self.trials if one in self.largest and one.role == "student"]
        for student, measure in product(students, self.measures):
            same = (
                one
                for one in self.trials
                if replace(student, role="teacher", model=one.model, loss=one.loss) == one
            )
            teacher = next(same, None)
            own = self._gains(student, student.source, measure)
            theirs = self._gains(teacher, student.source, measure) if teacher else {}
            sides = paired(theirs, own)
            if not sides:
                continue
            theirs, own = ({key: pair[side] for key, pair in sides.items()} for side in (0, 1))
            ratio, bounds = ratio_of_changes(own, theirs, self.clusters[student.source])
            self._beside(student, measure, "share inherited", ratio, bounds, own)
            cells = {**_cells(student), "split": student.source}
            self.made.add(measure, "teacher's change", _mean(theirs), **cells)
            self.made.add(measure, "student's change", _mean(own), **cells)

    def _beyond(self) -> None:
        """Add the change on the source less that on each other target: a target's judgements are
        also more training data.
        """
        systems = [one for one in self.trials if one in self.largest]
        for system, target in product(systems, self.study.targets):
            here, there = (self._gains(system, one, HEADLINE) for one in (system.source, target))
            if target == system.source or not here or not there:
                continue
            clusters = (self.clusters[system.source], self.clusters[target])
            difference, bounds = difference_of_queries(here, there, clusters)
            elsewhere = {"elsewhere": target}
            self._beside(system, HEADLINE, "beyond", difference, bounds, here, **elsewhere)
            cells = {**_cells(system), "split": system.source, **elsewhere}
            self.made.add(HEADLINE, "change here", _mean(here), **cells)
            self.made.add(HEADLINE, "change there", _mean(there), **cells)

    def _beside(
        self,
        system: Facts,
        measure: str,
        statistic: str,
        value: float | None,
        bounds: Interval | None,
        repeats: Mapping[Repeat, Values],
        **elsewhere: str,
    ) -> None:
        cells: dict[str, Any] = {**_cells(system), **over(repeats), **elsewhere}
        cells |= {"split": system.source, "count": len(query_means(repeats)), "counted": "queries"}
        self.made.add(measure, statistic, value, bounds, **cells)


def _largest_shares(systems: Iterable[Facts]) -> set[Facts]:
    """Return the contaminated systems with the largest share of their source."""
    largest: dict[Facts, Facts] = {}
    for system in systems:
        key = replace(system, share=None)
        if system.share is not None and system.share >= (largest.get(key, system).share or 0.0):
            largest[key] = system
    return set(largest.values())


def _among(repeats: Mapping[Repeat, Values], queries: set[str]) -> dict[Repeat, Values]:
    return {
        key: {query_id: value for query_id, value in of.items() if query_id in queries}
        for key, of in repeats.items()
    }


def _mean(repeats: Mapping[Repeat, Values]) -> float:
    return float(np.mean(list(query_means(repeats).values())))
