"""What the contamination study measures: every teacher and student on every target, what contamination changes, doses, what is inherited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.core.payloads import Comparison, Payload, PerQuery, Statistics
from positionbias.core.result import Facts, Result
from positionbias.core.run import read_run
from positionbias.evaluation.bootstrap import bootstrap_mean, cluster_labels
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.evaluation.two_means import difference_of_groups, ratio_of_means
from positionbias.report.contamination_select import BEYOND, CONTAMINATION, DOSES, INHERITED, SETS, STANDARD, TRAINED, clean_of
from positionbias.studies.artefacts import as_ended, ending_at
from positionbias.studies.contamination_findings import contamination_findings
from positionbias.studies.contamination_trials import ContaminationStudy, Trial, system_name
from positionbias.studies.systems import FIRST_STAGE, finding, point

__all__ = ["measure_contamination"]

HEADLINE = "nDCG@10"
SET_COUNTS = ("queries", "negatives judged", "negatives random", "positives missing from the corpus")  # of a target
Values = Mapping[str, float]  # by query


def measure_contamination(study: ContaminationStudy) -> list[Result]:
    """Everything the study's report shows, what was found first.

    Measures are nDCG@10, AP and R@100, the latter two of passages judged ``relevant_from`` or higher; a query's value is its mean over
    training seeds, before anything else is computed. A contaminated system's clean twin differs in the contamination alone: same
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

    def _result(self, measure: str, target: str, facts: Facts, payload: Payload, **header: Any) -> Result:
        found = {"value": None, "interval": None, "count": 0, **header}
        return Result(measure, self.name, target, system_name(facts), self.seed, payload=payload, facts=facts, **found)

    def _mean(self, system: Facts, target: str, measure: str, seeds: Iterable[int] | None = None) -> Values:
        """A query's mean over seeds."""
        by_seed = self.values[system, target, measure]
        kept = [by_seed[seed] for seed in (by_seed if seeds is None else seeds)]
        return {query_id: sum(of[query_id] for of in kept) / len(kept) for query_id in kept[0]}

    def _twins(self, system: Facts, target: str, measure: str) -> tuple[list[int], Values, Values] | None:
        """A contaminated system and its clean twin over the seeds that both have: seeds, clean, contaminated; None where there are none."""
        found = [self.values.get((of, target, measure), {}) for of in (clean_of(system), system)]
        seeds = [seed for seed in found[0] if seed in found[1]]
        if not system.source or not seeds:
            return None
        clean, contaminated = (self._mean(of, target, measure, seeds) for of in (clean_of(system), system))
        return seeds, clean, contaminated

    def _gains(self, system: Facts, target: str, measure: str) -> tuple[np.ndarray, list[str] | None] | None:
        """Contaminated less clean by query, in the order of their ids, and the queries' clusters; None without a clean twin."""
        if (twins := self._twins(system, target, measure)) is None:
            return None
        query_ids = sorted(twins[1])
        gains = np.array([twins[2][query_id] - twins[1][query_id] for query_id in query_ids])
        return gains, cluster_labels(self.clusters[target], query_ids)

    # -- what was trained -----------------------------------------------------------------------------------------------------

    def _sets(self) -> list[Result]:
        """How much of each teacher's training set is of a target; the value is its share of all groups."""
        found = []
        for (source, share), path in self.study.trainsets.items():
            groups = Groups(path)
            content = groups.manifest.content
            of = content["targets"].get(source, {})
            rows = {"groups": len(groups), "groups, target": content["contaminated_groups"]}
            rows |= {f"{name}, target": of.get(name, 0) for name in SET_COUNTS}
            facts = Facts(source=source, share=share if source else None)
            header = {"value": content["share_of_groups"], "count": len(groups)}
            found.append(self._result(SETS, source, facts, Statistics(rows), **header))
        return found

    def _trained(self) -> list[Result]:
        """How long each system trained, and what stopped it."""
        found = []
        for system, trials in self.trials.items():
            contents = [read_manifest(trial.trained).content for trial in trials]
            best = [content["validation_ndcg@10"] for content in contents if content.get("validation_ndcg@10") is not None]
            rows = {
                "seeds": [trial.seed for trial in trials],
                "steps": [content.get("steps") for content in contents],
                "step of the kept weights": [content.get("best_step") for content in contents],
                "stopped by": list(dict.fromkeys(str(content.get("stopped", "")) for content in contents)),
                "re-ranking depth": [content.get("depth") for content in contents],
                "ended": [ending_at(trial.trained).finish.value for trial in trials],
            }
            value = sum(best) / len(best) if best else None
            found.append(self._result(TRAINED, "", system, Statistics(rows), value=value, count=len(trials)))
        return found

    # -- Tables 1 and 2 -------------------------------------------------------------------------------------------------------

    def _per_query(self, measure: str, target: str, facts: Facts, values: Values, notes: Mapping[str, Any]) -> Result:
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        interval = bootstrap_mean(found, cluster_labels(self.clusters[target], query_ids), seed=self.seed)
        header = {"value": float(np.mean(found)), "interval": interval, "count": len(found)}
        return self._result(measure, target, facts, PerQuery(query_ids, found, notes), **header)

    def _first_stages(self) -> list[Result]:
        return [
            self._per_query(measure, target, Facts(model=FIRST_STAGE), values, {})
            for target in self.study.targets
            for measure, values in per_query(read_run(self.study.candidates[target]), self.qrels[target], self.measures).items()
        ]

    def _effectiveness(self) -> list[Result]:
        """On every target; of the smaller shares of a source on that source alone."""
        largest = self._largest()
        return [
            self._per_query(m, target, system, self._mean(system, target, m), {"seeds": list(by_seed)})
            for (system, target, m), by_seed in self.values.items()
            if system.source in ("", target) or system in largest
        ]

    def _against_clean(self) -> list[Result]:
        """Every contaminated system against its clean twin.

        Of the largest share of each source; a family of tests is a measure's, on the targets that contaminated the systems or on the
        others [decision]. Smaller shares have their intervals as doses.
        """
        families: dict[tuple[str, bool], list[tuple[Facts, str, Comparison]]] = {}
        largest = self._largest()
        for system, target, measure in self.values:
            if system in largest and (twins := self._twins(system, target, measure)) is not None:
                by_seed = [self._by_seed(system, target, measure, seed) for seed in twins[0]]
                notes = {"seeds": twins[0], "difference by seed": by_seed}
                comparison = self._compare(CONTAMINATION, clean_of(system), system, *twins[1:], target, notes)
                families.setdefault((measure, system.source == target), []).append((system, target, comparison))
        return self._tested(families)

    def _by_seed(self, system: Facts, target: str, measure: str, seed: int) -> float:
        """The mean difference of a contaminated system and its clean twin of one seed: how far one training differs from another."""
        clean, contaminated = (self.values[of, target, measure][seed] for of in (clean_of(system), system))
        return float(np.mean([contaminated[query_id] - value for query_id, value in clean.items()]))

    def _against_standard(self) -> list[Result]:
        """Table 1's tests: every system against the clean teacher, contaminated ones on what contaminated them; a family a measure."""
        families: dict[str, list[tuple[Facts, str, Comparison]]] = {}
        shown = {*self._largest(), *(system for system in self.systems if not system.source)} - {self.standard}
        for system, target, measure in self.values:
            base = (self.standard, target, measure)
            if self.standard is None or base not in self.values or system not in shown or system.source not in ("", target):
                continue
            if system.unfinished != self.standard.unfinished:
                continue
            values = (self._mean(self.standard, target, measure), self._mean(system, target, measure))
            comparison = self._compare(STANDARD, self.standard, system, *values, target, {})
            families.setdefault(measure, []).append((system, target, comparison))
        return self._tested({(measure,): family for measure, family in families.items()})

    def _largest(self) -> set[Facts]:
        """The contaminated systems with the largest share of their source."""
        shares: dict[Facts, list[float]] = {}
        for system in self.systems:
            if system.share is not None:
                shares.setdefault(replace(system, share=None), []).append(system.share)
        return {replace(system, share=max(found)) for system, found in shares.items()}

    def _compare(
        self, axis: str, base: Facts, system: Facts, before: Values, after: Values, target: str, more: Mapping[str, Any]
    ) -> Comparison:
        names = [system_name(base), system_name(system)]
        notes = {"axis": axis, "systems": names, "test_sets": [target] * 2, **more}
        return compare(
            before,
            after,
            baseline_name=names[0],
            candidate_name=names[1],
            clusters=self.clusters[target],
            seed=self.seed,
            notes=notes,
        )

    def _tested(self, families: Mapping[tuple, Sequence[tuple[Facts, str, Comparison]]]) -> list[Result]:
        """The comparisons as results, their p-values corrected within each family, whose key begins with the measure."""
        found = []
        for (measure, *_), family in families.items():
            corrected = adjust([comparison for _, _, comparison in family])
            for (system, target, _), comparison in zip(family, corrected, strict=True):
                header = {"interval": comparison.difference_interval, "count": comparison.notes["queries"]}
                found.append(self._result(measure, target, system, comparison, value=comparison.difference, **header))
        return found

    # -- doses, inheritance ---------------------------------------------------------------------------------------------------

    def _doses(self) -> list[Result]:
        """By system and source the inflation at each share, on all queries of the source, those whose judgements were seen, and the others.

        A share's queries are the beginning of a larger one's, so the groups of queries differ from point to point.
        """
        by_source: dict[Facts, list[Facts]] = {}
        for system in self.systems:
            if system.share is not None:
                by_source.setdefault(replace(system, share=None), []).append(system)
        found = []
        for key, systems in by_source.items():
            gains = {}
            for system in sorted(systems, key=lambda item: item.share or 0.0):
                if (twins := self._twins(system, key.source, HEADLINE)) is not None:
                    gains[system.share or 0.0] = {q: after - twins[1][q] for q, after in twins[2].items()}
            if gains:
                found.append(self._dose(key, gains))
        return found

    def _dose(self, key: Facts, gains: Mapping[float, Values]) -> Result:
        points = []
        # what could have been seen: a query without a positive in the corpus never is, and is no control
        pool = self._seen(key.source, 1.0) if (key.source, 1.0) in self.study.trainsets else None
        for share, gain in gains.items():
            seen = self._seen(key.source, share)
            others = (set(gain) if pool is None else pool & set(gain)) - seen
            parts = {"all": set(gain), "seen": seen & set(gain), "others": others}
            labels = {name: cluster_labels(self.clusters[key.source], sorted(of)) for name, of in parts.items()}
            # which queries are seen is drawn at random, so that the difference is what seeing them makes
            seen_gains, other_gains = (np.array([gain[q] for q in sorted(parts[name])]) for name in ("seen", "others"))
            mean, interval = difference_of_groups(seen_gains, other_gains, labels["seen"], labels["others"])
            apart = None if mean is None else {"mean": mean, "interval": asdict(interval) if interval else None}
            means = {name: self._point(key.source, {q: gain[q] for q in of}) for name, of in parts.items()}
            points.append({"share": share, **means, "seen less others": apart})
        shares = list(gains)
        first, last = gains[shares[0]], gains[shares[-1]]
        change = self._point(key.source, {q: last[q] - first[q] for q in last}) if len(shares) > 1 else None
        rows = {"measure": HEADLINE, "points": points, "change": change}
        return self._result(DOSES, key.source, key, Statistics(rows), count=len(last))

    def _seen(self, source: str, share: float) -> set[str]:
        """The queries of a target whose judgements a teacher was trained on."""
        content = Groups(self.study.trainsets[source, share]).manifest.content
        return set(content["targets"].get(source, {}).get("query_ids", ()))

    def _point(self, target: str, gains: Values) -> dict[str, Any] | None:
        query_ids = sorted(gains)
        labels = cluster_labels(self.clusters[target], query_ids)
        return point([gains[query_id] for query_id in query_ids], labels, seed=self.seed) if gains else None

    def _inherited(self) -> list[Result]:
        """How much of the teacher's inflation each student has, on the source, with its largest share: the ratio of the two means."""
        found = []
        for student, measure in product(
            [s for s in self.systems if s in self._largest() and s.role == "student"], self.measures
        ):
            teacher = next((s for s in self.systems if replace(student, role="teacher", model=s.model, loss=s.loss) == s), None)
            theirs, own = (self._gains(s, student.source, measure) if s else None for s in (teacher, student))
            if theirs is None or own is None:
                continue
            ratio, interval = ratio_of_means(own[0], theirs[0], own[1])
            rows = {"measure": measure, "teacher": float(theirs[0].mean()), "student": float(own[0].mean())}
            header = {"value": ratio, "interval": interval, "count": len(own[0])}
            found.append(self._result(INHERITED, student.source, student, Statistics(rows), **header))
        return found

    def _beyond(self) -> list[Result]:
        """The change on what contaminated a system less that on each other target: a target's judgements are also more training data."""
        found = []
        for system, target in product([s for s in self.systems if s in self._largest()], self.study.targets):
            here, there = (self._gains(system, of, HEADLINE) for of in (system.source, target))
            if target == system.source or here is None or there is None:
                continue
            difference, interval = difference_of_groups(here[0], there[0], here[1], there[1])
            rows = {"measure": HEADLINE, "elsewhere": target, "here": float(here[0].mean()), "there": float(there[0].mean())}
            header = {"value": difference, "interval": interval, "count": len(here[0])}
            found.append(self._result(BEYOND, system.source, system, Statistics(rows), **header))
        return found
