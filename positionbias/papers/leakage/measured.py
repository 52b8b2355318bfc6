"""Measurements of the leakage study: effectiveness with cross-validated sizes, effects by size,
orders, memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.records import Qrel
from positionbias.core.run import Run, read_run
from positionbias.evaluation.cross_validation import check_folds, cross_validate, query_folds
from positionbias.evaluation.first_rank import first_ranks
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.order import order_agreement, overtakes, swaps
from positionbias.evaluation.significance import BONFERRONI
from positionbias.evaluation.trainings import Repeat, Values, changes, paired, query_means
from positionbias.experiments.measuring import Measuring, Tested, own_judgements
from positionbias.experiments.systems import FIRST_STAGE, finding
from positionbias.papers.leakage import (
    BY_SIZE,
    CONDITIONS,
    LEAKAGE,
    LOWER_IS_BETTER,
    MEASURES,
    NEGATIVE_RANK,
    NO,
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
from positionbias.papers.leakage.findings import leakage_findings
from positionbias.papers.leakage.memorisation import (
    LeakedPair,
    Places,
    leaked_pairs,
    leaked_places,
    memorised,
    rank_offset,
    retrieved_alone,
)
from positionbias.papers.leakage.settings import LeakageSettings
from positionbias.results.result import Facts, Result

__all__ = ["LeakageStudy", "Training", "measure_leakage", "target_folds"]

HEADLINE = MEASURES[0]


class Training(NamedTuple):
    """One training: its kind of model, kind of set, number of instances and seed."""

    model: str
    kind: str
    size: int
    seed: int


@dataclass(frozen=True)
class LeakageStudy:
    """The inputs of the measurements.

    ``candidates`` and ``to_score`` are runs of the target: the candidates to re-rank, and the same
    with the leaked passages. ``trainsets`` are by kind and size; ``scored`` has each training's run
    of ``to_score``.
    """

    collection: Path
    settings: LeakageSettings
    candidates: Path
    to_score: Path
    trainsets: Mapping[tuple[str, int], Path]
    scored: Mapping[Training, Path]

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        return {
            "collection": self.collection,
            "candidates": self.candidates,
            "to score": self.to_score,
            **{
                f"training set {kind} {size}": path for (kind, size), path in self.trainsets.items()
            },
            **{path.stem: path for path in self.scored.values()},
        }


def target_folds(
    collection: Collection, settings: LeakageSettings
) -> tuple[list[Qrel], list[list[str]]]:
    """Return the target's judgements of its own queries, and the folds of its judged topics.

    Raises:
        InputError: fewer judged topics than folds, or a fold without a topic that has relevant
            passages.
    """
    qrels = own_judgements(collection, settings.target)
    parts = query_folds({qrel.query_id for qrel in qrels}, folds=settings.folds, seed=settings.seed)
    check_folds(parts, {qrel.query_id for qrel in qrels if qrel.grade >= settings.relevant_from})
    return qrels, parts


def measure_leakage(study: LeakageStudy) -> list[Result]:
    """Return all results of the study's report, findings first.

    Raises:
        InputError: as ``target_folds``.
    """
    measuring = _Measuring(study)
    results = measuring.results()
    where = measuring.collection.name, study.settings.target
    sentences = leakage_findings(results, measuring.topics)
    return [*(finding(*where, item, study.settings.seed) for item in sentences), *results]


class _Measuring(Measuring):
    """The results of one study: a topic's value is its mean over seeds, before a size is chosen
    [decision].

    ``repeats`` has the topics' values by seed, for each model, kind, size and measure. ``pairs``
    are the leaked instances by kind of leakage; ``places`` are the places of their positives and
    negatives in each training's ranking.
    """

    def __init__(self, study: LeakageStudy) -> None:
        settings, collection = study.settings, Collection(study.collection)
        qrels, self.folds = target_folds(collection, settings)
        self.study, self.settings, self.target = study, settings, settings.target
        super().__init__(
            collection,
            {self.target: qrels},
            relevant_from=settings.relevant_from,
            seed=settings.seed,
        )
        self.models, self.sizes = [model.kind for model in settings.models], sorted(settings.sizes)
        self.topics = sorted(query_id for fold in self.folds for query_id in fold)
        self.candidates = read_run(study.candidates)
        self.depth = max(1, self.candidates.depth)
        self.without = first_ranks(
            self.candidates, qrels, depth=self.depth, relevant_from=settings.relevant_from
        ).without
        self.pairs = {kind: self._leaked(kind) for kind in settings.leakages}
        self.places: dict[tuple[Training, str], tuple[Places, Places]] = {}
        self.repeats: dict[tuple[str, str, int, str], dict[Repeat, Values]] = {}
        for of, path in study.scored.items():
            self._read(of, read_run(path))

    def _read(self, of: Training, scored: Run) -> None:
        for measure, values in self._values(retrieved_alone(scored, self.candidates)).items():
            self.repeats.setdefault((*of[:3], measure), {})[of.seed, None] = values
        for kind, pairs in self.pairs.items():
            if of.kind in (NO, kind):
                queries = [pair.query_id for pair in pairs]
                sides = [list(zip(queries, passages, strict=True)) for passages in _sides(pairs)]
                positives, negatives = (
                    leaked_places(scored, self.candidates, side) for side in sides
                )
                self.places[of, kind] = positives, negatives

    def _values(self, run: Run) -> dict[str, Values]:
        """Return the value of each judged topic by measure."""
        level, qrels = self.settings.relevant_from, self.qrels[self.target]
        given = f"(rel={level})" if level > 1 else ""
        found = per_query(run, qrels, ["nDCG@10", f"RR{given}", f"P{given}@1"])
        ranks = first_ranks(run, qrels, depth=self.depth, relevant_from=level).ranks
        return dict(
            zip(
                MEASURES,
                (found["nDCG@10"], ranks, found[f"RR{given}"], found[f"P{given}@1"]),
                strict=True,
            )
        )

    def _leaked(self, kind: str) -> list[LeakedPair]:
        """Return the leaked instances in the sets of all sizes, for topics with candidates."""
        sets = [
            set(leaked_pairs(Groups(path)))
            for (of, _), path in self.study.trainsets.items()
            if of == kind
        ]
        return sorted(pair for pair in set.intersection(*sets) if pair.query_id in self.candidates)

    def name(self, facts: Facts) -> str:
        """Name a model with its leakage."""
        return ", ".join(filter(None, (facts.model, facts.variant)))

    def results(self) -> list[Result]:
        """Return training sets, effectiveness and its tests, effects by size, orders of models, and
        memories.
        """
        effectiveness = [*self._first_stage(), *self._cross_validated()]
        return [
            *self._trainsets(),
            *effectiveness,
            *self.corrected(self._tests(), [BONFERRONI]),
            *self._by_size(),
            *self._orders(effectiveness),
            *self._memories(),
        ]

    def _trainsets(self) -> Iterator[Result]:
        """Yield the leaked part of each training set; the value is its share."""
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
                without_candidates=sum(topic not in self.candidates for topic in topics),
            )
            facts, share = Facts(variant=CONDITIONS[kind]), leaked / len(groups)
            result = self.result(TRAINSETS, self.target, facts, figures, value=share, count=size)
            yield replace(result, system=f"{result.system}, {size:,} instances")

    # -- Tables 3 to 5 -----------------------------------------------------------------------------

    def _first_stage(self) -> Iterator[Result]:
        for measure, values in self._values(self.candidates).items():
            yield self._per_query(measure, Facts(model=FIRST_STAGE), {(None, None): values})

    def _cross_validated(self) -> Iterator[Result]:
        """Yield values of held-out topics by model and condition, with the size chosen on the other
        topics, separately by measure.
        """
        for model, kind, measure in product(self.models, self.settings.ordered_kinds, MEASURES):
            of_size = {size: self.repeats[model, kind, size, measure] for size in self.sizes}
            by_size = {size: query_means(of) for size, of in of_size.items()}
            chosen = cross_validate(
                by_size, self.folds, larger_is_better=measure not in LOWER_IS_BETTER
            ).chosen
            # the values of held-out topics by seed, each with the size chosen for its fold on means
            # over seeds
            sizes = {
                query_id: size
                for fold, size in zip(self.folds, chosen, strict=True)
                for query_id in fold
            }
            held: dict[Repeat, Values] = {
                key: {q: of_size[size][key][q] for q, size in sizes.items()}
                for key in of_size[self.sizes[0]]
            }
            facts = _facts(model, kind)
            self.values[facts, self.target, measure] = held
            yield self._per_query(
                measure, facts, held, {"chosen instances, fold by fold": list(chosen)}
            )

    def _per_query(
        self,
        measure: str,
        facts: Facts,
        repeats: Mapping[Repeat, Values],
        notes: Mapping[str, list[int]] | None = None,
    ) -> Result:
        told = {"queries without a relevant candidate": self.without}
        return self.per_query(measure, self.target, facts, repeats, {**(notes or {}), **told})

    def _tests(self) -> Iterator[tuple[str, Tested]]:
        """Test each leakage against none; Bonferroni over the models and leakages of a measure
        [decision].
        """
        for measure, model, kind in product(MEASURES, self.models, self.settings.leakages):
            base, system = _facts(model, NO), _facts(model, kind)
            pairs = paired(*(self.values[of, self.target, measure] for of in (base, system)))
            yield (
                measure,
                Tested(
                    measure,
                    self.target,
                    system,
                    self.compare(LEAKAGE, base, system, pairs, self.target),
                ),
            )

    # -- Figure 2 ----------------------------------------------------------------------------------

    def _by_size(self) -> Iterator[Result]:
        """Yield the mean and leakage's gain at each size by model and condition: on topics with
        leaked queries, and on all.
        """
        subsets = {"leaked": self._leaked_topics(), "all": self.topics}
        for model, (subset, topics) in product(self.models, subsets.items()):
            if not topics:
                continue
            means, gains, grown = {}, {}, {}
            columns = {
                kind: [self._column(model, kind, size, topics) for size in self.sizes]
                for kind in self.settings.ordered_kinds
            }
            for kind, column in columns.items():
                means[CONDITIONS[kind]] = [
                    self._size_point(size, of, changes=False)
                    for size, of in zip(self.sizes, column, strict=True)
                ]
            for kind in self.settings.leakages:
                gain = [
                    changes(paired(none, leaked))
                    for none, leaked in zip(columns[NO], columns[kind], strict=True)
                ]
                gains[CONDITIONS[kind]] = list(map(self._size_point, self.sizes, gain))
                # by topic, the gain with the largest sets less that with the smallest
                if len(gain) > 1:
                    grown[CONDITIONS[kind]] = self._size_point(
                        self.sizes[-1], changes(paired(gain[0], gain[-1]))
                    )
            effect = SizeEffect(
                measure=HEADLINE, topics=subset, means=means, gains=gains, change=grown
            )
            yield self.result(BY_SIZE, self.target, Facts(model=model), effect, count=len(topics))

    def _leaked_topics(self) -> list[str]:
        """Return judged topics with queries leaked from the source, if these were trained on, else
        from the test [decision].
        """
        pairs = next(filter(None, self.pairs.values()), [])
        return sorted({pair.query_id for pair in pairs}.intersection(self.topics))

    def _column(
        self, model: str, kind: str, size: int, topics: Sequence[str]
    ) -> dict[Repeat, Values]:
        repeats = self.repeats[model, kind, size, HEADLINE]
        return {key: {query_id: of[query_id] for query_id in topics} for key, of in repeats.items()}

    def _size_point(
        self, size: int, repeats: Mapping[Repeat, Values], *, changes: bool = True
    ) -> SizePoint:
        of = self.point(self.target, repeats, changes=changes)
        return SizePoint(size, of.mean, of.interval)

    # -- orders, memories --------------------------------------------------------------------------

    def _orders(self, effectiveness: Sequence[Result]) -> Iterator[Result]:
        """Yield each leakage's effect on the order of the models, by measure; empty for a single
        model.
        """
        means = {(result.measure, result.facts): result.value or 0.0 for result in effectiveness}
        for measure in MEASURES if len(self.models) > 1 else ():
            better = measure not in LOWER_IS_BETTER
            of = {
                kind: {m: means[measure, _facts(m, kind)] for m in self.models}
                for kind in self.settings.ordered_kinds
            }
            changed = {
                CONDITIONS[kind]: _order_change(of[NO], of[kind], better)
                for kind in self.settings.leakages
            }
            figures = ModelOrders(measure=measure, rows=changed)
            result = self.result(ORDER, self.target, Facts(), figures, count=len(self.models))
            yield replace(result, system=", ".join(self.models))

    def _memories(self) -> Iterator[Result]:
        """Yield Tables 6 to 8 over all sizes and seeds: leaked passages, ranked and scored with and
        without their leakage.
        """
        for kind, model in product(self.settings.leakages, self.models):
            pairs = self.pairs[kind]
            if not pairs:
                continue
            sides = [
                [
                    self.places[Training(model, of, size, seed), kind]
                    for size, seed in product(self.sizes, self.settings.seeds)
                ]
                for of in (kind, NO)
            ]
            ranks, scores, others = (
                [np.stack([getattr(places[which], part) for places in side]) for side in sides]
                for which, part in ((0, "ranks"), (0, "scores"), (1, "ranks"))
            )
            # a passage in several pairs of a topic counts once
            positives, negatives = (
                list(
                    {
                        (pairs[place].query_id, passage): place for place, passage in enumerate(of)
                    }.values()
                )
                for of in _sides(pairs)
            )
            clusters, queries = self.clusters[self.target], [pair.query_id for pair in pairs]
            for measure, of, kept in (
                (RANK, ranks, positives),
                (SCORE, scores, positives),
                (NEGATIVE_RANK, others, negatives),
            ):
                topics = [queries[place] for place in kept]
                memory = memorised(of[0][:, kept], of[1][:, kept], topics, clusters, seed=self.seed)
                yield self._memory(measure, model, kind, *memory)
            offsets = rank_offset(
                (ranks[0], others[0]), (ranks[1], others[1]), queries, clusters, seed=self.seed
            )
            yield self._memory(OFFSET, model, kind, *offsets)

    def _memory(
        self, measure: str, model: str, kind: str, memory: Memory, interval: Interval | None
    ) -> Result:
        facts, value, count = _facts(model, kind), memory.difference, memory.count
        return self.result(
            measure, self.target, facts, memory, value=value, interval=interval, count=count
        )


def _facts(model: str, kind: str) -> Facts:
    return Facts(model=model, variant=CONDITIONS[kind])


def _sides(pairs: Sequence[LeakedPair]) -> tuple[list[str], list[str]]:
    """Return the relevant passages of leaked instances, and the others."""
    return [pair.positive for pair in pairs], [pair.negative for pair in pairs]


def _order_change(
    before: Mapping[str, float], after: Mapping[str, float], larger_is_better: bool
) -> OrderChange:
    found = swaps(before, after)
    return OrderChange(
        order_agreement(before, after),
        found if larger_is_better else [pair[::-1] for pair in found],
        overtakes(before, after, larger_is_better=larger_is_better),
    )
