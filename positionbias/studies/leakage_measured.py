"""What the leakage study measures of its models: effectiveness with sizes chosen by cross-validation, the effect by size, orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.evaluation.cross_validation import cross_validate
from positionbias.evaluation.memorisation import memorised, rank_offset
from positionbias.evaluation.order import order_agreement, overtakes, swaps
from positionbias.evaluation.significance import adjust, clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    changes,
    compare_trainings,
    mean_interval,
    paired,
    query_means,
)
from positionbias.leakage.published import CONDITIONS
from positionbias.results.leakage import (
    BY_SIZE,
    LEAKAGE,
    NEGATIVE_RANK,
    OFFSET,
    ORDER,
    RANK,
    SCORE,
    TRAINSETS,
    LeakedSetSize,
    Memory,
    ModelOrders,
    OrderChange,
    SizeEffect,
    SizePoint,
)
from positionbias.results.payloads import Payload, PerQuery
from positionbias.results.result import Facts, Result
from positionbias.studies.leakage_findings import leakage_findings
from positionbias.studies.leakage_trials import LOWER_IS_BETTER, MEASURES, NO, LeakageStudy, Measured
from positionbias.studies.systems import FIRST_STAGE, finding

__all__ = ["measure_leakage"]

HEADLINE = MEASURES[0]


def measure_leakage(study: LeakageStudy) -> list[Result]:
    """Everything the study's report shows, what was found first.

    Raises:
        InputError: fewer judged topics than folds, or a fold without a topic that has relevant passages.
    """
    measuring = _Measuring(Measured(study))
    results = measuring.results()
    sentences = leakage_findings(results, measuring.measured.topics)
    return [*(finding(measuring.measured.name, study.target, item, study.seed) for item in sentences), *results]


class _Measuring:
    """Results of one study; all share collection, split and seed."""

    def __init__(self, measured: Measured) -> None:
        self.measured, self.study, self.seed = measured, measured.study, measured.study.seed
        self.clusters = clusters_by_passage(measured.qrels, level=self.study.relevant_from)
        self.held: dict[tuple[str, str], dict[Repeat, Values]] = {}  # held-out values by measure and system

    def results(self) -> list[Result]:
        """Training sets, effectiveness, its tests, the effect by size, orders of models, what is remembered."""
        effectiveness = [*self._first_stage(), *self._cross_validated()]
        return [
            *self._trainsets(),
            *effectiveness,
            *self._tests(effectiveness),
            *self._by_size(),
            *self._orders(effectiveness),
            *self._memories(),
        ]

    def _result(self, measure: str, system: str, payload: Payload, facts: Facts, **header: Any) -> Result:
        found = {"value": None, "interval": None, "count": 0, **header}
        return Result(measure, self.measured.name, self.study.target, system, self.seed, payload=payload, facts=facts, **found)

    def _trainsets(self) -> list[Result]:
        """How much of each training set leaked; the value is its share."""
        found = []
        for (kind, size), path in self.study.trainsets.items():
            groups = Groups(path)
            leaked = groups.manifest.content_as(int, "leaked")
            leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
            topics = {test for tests in leaks.values() for test in tests}
            figures = LeakedSetSize(
                instances=size,
                leaked_instances=2 * leaked,
                leaked_queries=len(leaks),
                topics=len(topics),
                without_candidates=sum(topic not in self.measured.candidates for topic in topics),
            )
            system = f"{CONDITIONS[kind]}, {size:,} instances"
            facts, share = Facts(variant=CONDITIONS[kind]), leaked / len(groups)
            found.append(self._result(TRAINSETS, system, figures, facts, value=share, count=size))
        return found

    # -- Tables 3 to 5 --------------------------------------------------------------------------------------------------------

    def _first_stage(self) -> list[Result]:
        by_measure = self.measured.measured(self.measured.candidates)
        return [
            self._per_query(m, FIRST_STAGE, {(None, None): values}, Facts(model=FIRST_STAGE), {})
            for m, values in by_measure.items()
        ]

    def _cross_validated(self) -> list[Result]:
        """By model and condition the values of the held-out topics, the size chosen on the others for each measure by itself."""
        found = []
        for model, kind, measure in product(self.study.models, self.study.kinds, MEASURES):
            by_size = {size: self.measured.values[model, kind, size, measure] for size in self.study.sizes}
            done = cross_validate(by_size, self.measured.folds, larger_is_better=measure not in LOWER_IS_BETTER)
            notes = {"chosen instances, fold by fold": list(done.chosen)}
            facts = Facts(model=model, variant=CONDITIONS[kind])
            held = self.held[measure, _system(model, kind)] = self._held_out(model, kind, measure, done.chosen)
            found.append(self._per_query(measure, _system(model, kind), held, facts, notes))
        return found

    def _held_out(self, model: str, kind: str, measure: str, chosen: Sequence[int]) -> dict[Repeat, Values]:
        """By seed the values of the held-out topics, each with the size that was chosen for its fold on means over seeds."""
        size_of = {query_id: size for fold, size in zip(self.measured.folds, chosen, strict=True) for query_id in fold}
        of_size = {size: self.measured.repeats[model, kind, size, measure] for size in self.study.sizes}
        return {key: {q: of_size[size][key][q] for q, size in size_of.items()} for key in next(iter(of_size.values()))}

    def _per_query(
        self, measure: str, system: str, repeats: Mapping[Repeat, Values], facts: Facts, notes: Mapping[str, Any]
    ) -> Result:
        values = query_means(repeats)
        query_ids = sorted(values)
        found = [values[query_id] for query_id in query_ids]
        notes = {**notes, "queries without a relevant candidate": self.measured.without}
        interval = mean_interval(repeats, self.clusters, seed=self.seed)
        payload = PerQuery(query_ids, found, notes)
        return self._result(measure, system, payload, facts, value=float(np.mean(found)), interval=interval, count=len(found))

    def _tests(self, effectiveness: Sequence[Result]) -> list[Result]:
        """Each leakage against none; Bonferroni over the models and leakages of a measure [decision]."""
        rows = {(result.measure, result.system): result for result in effectiveness}
        found = []
        for measure in MEASURES:
            family = []
            for model, kind in product(self.study.models, self.study.leakages):
                base, other = (rows[measure, _system(model, of)] for of in (NO, kind))
                comparison = compare_trainings(
                    paired(self.held[measure, base.system], self.held[measure, other.system]),
                    baseline_name=base.system,
                    candidate_name=other.system,
                    clusters=self.clusters,
                    seed=self.seed,
                    notes={"axis": LEAKAGE, "systems": [base.system, other.system], "test_sets": [self.study.target] * 2},
                )
                family.append((other, comparison))
            corrected = adjust([comparison for _, comparison in family], ["bonferroni"])
            for (other, _), comparison in zip(family, corrected, strict=True):
                header = {"interval": comparison.difference_interval, "count": comparison.noted.queries}
                found.append(
                    self._result(measure, other.system, comparison, other.facts, value=comparison.difference, **header)
                )
        return found

    # -- Figure 2 -------------------------------------------------------------------------------------------------------------

    def _by_size(self) -> list[Result]:
        """By model and condition the mean at each size, and what leakage gains there: on topics with leaked queries, and on all."""
        found = []
        subsets = {"leaked": self.measured.leaked_topics(), "all": self.measured.topics}
        for model, (subset, topics) in product(self.study.models, subsets.items()):
            if not topics:
                continue
            columns = {key: self._column(model, *key, topics) for key in product(self.study.kinds, self.study.sizes)}
            means = {
                CONDITIONS[kind]: [self._point(size, columns[kind, size]) for size in self.study.sizes]
                for kind in self.study.kinds
            }
            gains, grown = {}, {}
            for kind in self.study.leakages:
                gain = [changes(paired(columns[NO, size], columns[kind, size])) for size in self.study.sizes]
                gains[CONDITIONS[kind]] = [self._point(size, of) for size, of in zip(self.study.sizes, gain, strict=True)]
                if len(gain) > 1:  # topic by topic the gain with the largest sets less that with the smallest
                    grown[CONDITIONS[kind]] = self._point(self.study.sizes[-1], changes(paired(gain[0], gain[-1])))
            effect = SizeEffect(measure=HEADLINE, topics=subset, means=means, gains=gains, change=grown)
            found.append(self._result(BY_SIZE, model, effect, Facts(model=model), count=len(topics)))
        return found

    def _column(self, model: str, kind: str, size: int, topics: Sequence[str]) -> dict[Repeat, Values]:
        repeats = self.measured.repeats[model, kind, size, HEADLINE]
        return {key: {query_id: of[query_id] for query_id in topics} for key, of in repeats.items()}

    def _point(self, size: int, repeats: Mapping[Repeat, Values]) -> SizePoint:
        mean = float(np.mean(list(query_means(repeats).values())))
        return SizePoint(size, mean, mean_interval(repeats, self.clusters, seed=self.seed))

    # -- orders, memories -----------------------------------------------------------------------------------------------------

    def _orders(self, effectiveness: Sequence[Result]) -> list[Result]:
        """By measure, what each leakage does to the order of the models; nothing where there is but one."""
        means = {(result.measure, result.system): result.value or 0.0 for result in effectiveness}
        found = []
        for measure in MEASURES if len(self.study.models) > 1 else ():
            better = measure not in LOWER_IS_BETTER
            of = {k: {m: means[measure, _system(m, k)] for m in self.study.models} for k in self.study.kinds}
            changed = {CONDITIONS[kind]: _order_change(of[NO], of[kind], better) for kind in self.study.leakages}
            models, figures = self.study.models, ModelOrders(measure=measure, rows=changed)
            found.append(self._result(ORDER, ", ".join(models), figures, Facts(), count=len(models)))
        return found

    def _memories(self) -> list[Result]:
        """Tables 6 to 8 over all sizes and seeds: passages that leaked, ranked and scored with and without their leakage."""
        found = []
        for kind, model in product(self.study.leakages, self.study.models):
            pairs = self.measured.pairs[kind]
            if not pairs:
                continue
            sides = [
                [self.measured.places[model, of, size, seed][kind] for size in self.study.sizes for seed in self.study.seeds]
                for of in (kind, NO)
            ]
            queries = [pair.query_id for pair in pairs]
            # a passage that stands in several pairs of a topic counts once
            positives = list({(pair.query_id, pair.positive): place for place, pair in enumerate(pairs)}.values())
            negatives = list({(pair.query_id, pair.negative): place for place, pair in enumerate(pairs)}.values())
            ranks, scores, others = (
                [np.stack([getattr(places[which], part) for places in side]) for side in sides]
                for which, part in ((0, "ranks"), (0, "scores"), (1, "ranks"))
            )
            for measure, of, kept in ((RANK, ranks, positives), (SCORE, scores, positives), (NEGATIVE_RANK, others, negatives)):
                topics = [queries[place] for place in kept]
                memory = memorised(of[0][:, kept], of[1][:, kept], topics, self.clusters, seed=self.seed)
                found.append(self._memory(measure, model, kind, *memory))
            offsets = rank_offset((ranks[0], others[0]), (ranks[1], others[1]), queries, self.clusters, seed=self.seed)
            found.append(self._memory(OFFSET, model, kind, *offsets))
        return found

    def _memory(self, measure: str, model: str, kind: str, memory: Memory, interval: Interval | None) -> Result:
        header = {"value": memory.difference, "interval": interval, "count": memory.count}
        return self._result(measure, _system(model, kind), memory, Facts(model=model, variant=CONDITIONS[kind]), **header)


def _order_change(before: Mapping[str, float], after: Mapping[str, float], larger_is_better: bool) -> OrderChange:
    found = swaps(before, after)
    return OrderChange(
        order_agreement(before, after),
        found if larger_is_better else [pair[::-1] for pair in found],
        overtakes(before, after, larger_is_better=larger_is_better),
    )


def _system(model: str, kind: str) -> str:
    return f"{model}, {CONDITIONS[kind]}"
