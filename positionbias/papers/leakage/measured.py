"""What the leakage study measures, as rows: effectiveness with cross-validated sizes, effects by
size, orders of models, memories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected, printed_cells
from positionbias.core.run import Run, read_run
from positionbias.evaluation.cross_validation import check_folds, cross_validate, query_folds
from positionbias.evaluation.first_rank import first_ranks
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.order import order_agreement, overtakes, swaps
from positionbias.evaluation.records import Facts
from positionbias.evaluation.significance import BONFERRONI
from positionbias.evaluation.trainings import Repeat, Values, changes, paired, query_means
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    own_judgements,
    system_cells,
)
from positionbias.leakage.published import PAPER, target_of
from positionbias.papers.leakage import (
    ALL,
    CONDITIONS,
    HEADLINE,
    LEAKED,
    LOWER_IS_BETTER,
    MEASURES,
    NEGATIVE_RANK,
    NO,
    OFFSET,
    RANK,
    SCORE,
    Remembered,
)
from positionbias.papers.leakage.memorisation import (
    LeakedPair,
    Memory,
    Places,
    leaked_pairs,
    leaked_places,
    memorised,
    rank_offset,
    retrieved_alone,
)
from positionbias.papers.leakage.settings import LeakageSettings

__all__ = ["LeakageStudy", "Training", "measure_leakage", "target_folds"]

PUBLISHED = Path(__file__).with_name("published.csv")


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


def measure_leakage(study: LeakageStudy) -> Collected:
    """Return the rows of the study, those of the paper for its own topics among them.

    Raises:
        InputError: as ``target_folds``.
    """
    return _Measuring(study).measured()


class _Measuring(Systems):
    """The measurements of one study: a topic's value is its mean over seeds, before a size is
    chosen [decision].

    ``repeats`` has the topics' values by seed, for each model, kind, size and measure. ``pairs``
    are the leaked instances by kind of leakage; ``places`` are the places of their positives and
    negatives in each training's ranking.
    """

    correction = BONFERRONI

    def __init__(self, study: LeakageStudy) -> None:
        settings, collection = study.settings, Collection(study.collection)
        qrels, self.folds = target_folds(collection, settings)
        self.study, self.settings, self.target = study, settings, settings.target
        common = {"study": "leakage", "collection": collection.name, "split": self.target}
        level = settings.relevant_from
        by_target = {self.target: qrels}
        super().__init__(Collected(common), by_target, relevant_from=level, seed=settings.seed)
        self.models, self.sizes = [model.kind for model in settings.models], sorted(settings.sizes)
        self.topics = sorted(query_id for fold in self.folds for query_id in fold)
        self.candidates = read_run(study.candidates)
        self.depth = max(1, self.candidates.depth)
        self.pairs = {kind: self._leaked(kind) for kind in settings.leakages}
        self.places: dict[tuple[Training, str], tuple[Places, Places]] = {}
        self.repeats: dict[tuple[str, str, int, str], dict[Repeat, Values]] = {}
        for training, path in study.scored.items():
            self._read(training, read_run(path))

    def _read(self, training: Training, scored: Run) -> None:
        for measure, values in self._values(retrieved_alone(scored, self.candidates)).items():
            key = (training.model, training.kind, training.size, measure)
            self.repeats.setdefault(key, {})[training.seed, None] = values
        for kind, pairs in self.pairs.items():
            if training.kind in (NO, kind):
                queries = [pair.query_id for pair in pairs]
                sides = [list(zip(queries, passages, strict=True)) for passages in _sides(pairs)]
                positives, negatives = (
                    leaked_places(scored, self.candidates, side) for side in sides
                )
                self.places[training, kind] = positives, negatives

    def _values(self, run: Run) -> dict[str, Values]:
        """Return the value of each judged topic by measure."""
        level, qrels = self.settings.relevant_from, self.qrels[self.target]
        given = f"(rel={level})" if level > 1 else ""
        values = per_query(run, qrels, [HEADLINE, f"RR{given}", f"P{given}@1"])
        ranks = first_ranks(run, qrels, depth=self.depth, relevant_from=level).ranks
        by_measure = (values[HEADLINE], ranks, values[f"RR{given}"], values[f"P{given}@1"])
        return dict(zip(MEASURES, by_measure, strict=True))

    def _leaked(self, kind: str) -> list[LeakedPair]:
        """Return the leaked instances in the sets of all sizes, for topics with candidates."""
        sets = [
            set(leaked_pairs(Groups(path)))
            for (own, _), path in self.study.trainsets.items()
            if own == kind
        ]
        return sorted(pair for pair in set.intersection(*sets) if pair.query_id in self.candidates)

    def measured(self) -> Collected:
        """Measure training sets, effectiveness and its tests, effects by size, orders of models,
        and memories.
        """
        for (kind, size), path in self.study.trainsets.items():
            self._set(kind, size, Groups(path))
        self._first_stage()
        means = self._cross_validated()
        self._published()
        self.compare(
            self._test(measure, model, kind)
            for measure, model, kind in product(MEASURES, self.models, self.settings.leakages)
        )
        for model, (subset, topics) in product(self.models, self._subsets().items()):
            self._by_size(model, subset, topics)
        self._orders(means)
        for kind, model in product(self.settings.leakages, self.models):
            if self.pairs[kind]:
                self._memories(model, kind, self.pairs[kind])
        return self.made

    def _set(self, kind: str, size: int, groups: Groups) -> None:
        """Add the leaked part of a training set; an instance is a query with one passage."""
        leaked = groups.manifest.content_as(int, "leaked")
        leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
        topics = {test for tests in leaks.values() for test in tests}
        numbers = {
            "instances": size,
            "leaked instances": 2 * leaked,
            "leaked queries": len(leaks),
            "topics leaked": len(topics),
            "topics leaked without candidates": sum(t not in self.candidates for t in topics),
            "share leaked": leaked / len(groups),
        }
        cells: dict[str, Any] = {"variant": CONDITIONS[kind], **_place(size)}
        for statistic, number in numbers.items():
            self.made.add("training set", statistic, number, **cells)

    # -- Tables 3 to 5 -----------------------------------------------------------------------------

    def _first_stage(self) -> None:
        first = Facts(model=FIRST_STAGE, role="first stage")
        for measure, values in self._values(self.candidates).items():
            self.mean(measure, self.target, first, {(None, None): values})
        level = self.settings.relevant_from
        ranks = first_ranks(
            self.candidates, self.qrels[self.target], depth=self.depth, relevant_from=level
        )
        self.made.add("candidates", "without a relevant one", ranks.without, unit="count")

    def _cross_validated(self) -> dict[tuple[str, str, str], float]:
        """Add values of held-out topics by model and condition, with the size chosen on the other
        topics, separately by measure; return the means.
        """
        means = {}
        for model, kind, measure in product(self.models, self.settings.ordered_kinds, MEASURES):
            of_size = {size: self.repeats[model, kind, size, measure] for size in self.sizes}
            by_size = {size: query_means(repeats) for size, repeats in of_size.items()}
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
                key: {query: of_size[size][key][query] for query, size in sizes.items()}
                for key in of_size[self.sizes[0]]
            }
            facts = _facts(model, kind)
            self.values[facts, self.target, measure] = held
            means[model, kind, measure] = self.mean(measure, self.target, facts, held)
            for fold, size in enumerate(chosen, 1):
                place: dict[str, Any] = {"axis": "fold", "at": float(fold), "label": str(fold)}
                place |= system_cells(facts)
                self.made.add(measure, "chosen instances", size, **place)
        return means

    def _published(self) -> None:
        """Add the paper's figures, where the topics are those of one of its targets."""
        target = target_of(self.topics)
        if target is None:
            why = f"the topics are not those of a collection of {PAPER}"
            self.made.add("target", "published figures", None, reason=why)
            return
        for cell in printed_cells(PUBLISHED):
            trained = cell["model"] in self.models and cell["variant"] in self._conditions
            if cell["split"] == target and trained:
                self.made.add(**{**cell, "split": self.target})

    @property
    def _conditions(self) -> list[str]:
        return [CONDITIONS[kind] for kind in self.settings.ordered_kinds]

    def _test(self, measure: str, model: str, kind: str) -> Tested:
        """Test a leakage against none; Bonferroni over the models and leakages of a measure
        [decision].
        """
        base, system = _facts(model, NO), _facts(model, kind)
        sides = paired(*(self.values[one, self.target, measure] for one in (base, system)))
        return Tested(f"leakage: {measure}", measure, self.target, base, system, sides)

    # -- Figure 2 ----------------------------------------------------------------------------------

    def _subsets(self) -> dict[str, list[str]]:
        """Return the topics by subset: those with queries leaked from the source, if these were
        trained on, else from the test [decision]; and all.
        """
        pairs = next(filter(None, self.pairs.values()), [])
        leaked = sorted({pair.query_id for pair in pairs}.intersection(self.topics))
        return {name: topics for name, topics in ((LEAKED, leaked), (ALL, self.topics)) if topics}

    def _by_size(self, model: str, subset: str, topics: Sequence[str]) -> None:
        """Add a model's mean and leakage's gain at each size by condition."""
        columns = {
            kind: [self._column(model, kind, size, topics) for size in self.sizes]
            for kind in self.settings.ordered_kinds
        }
        for kind, column in columns.items():
            for size, repeats in zip(self.sizes, column, strict=True):
                self._point("mean", model, kind, repeats, subset=subset, **_place(size))
        for kind in self.settings.leakages:
            gains = [
                changes(paired(none, leaked))
                for none, leaked in zip(columns[NO], columns[kind], strict=True)
            ]
            for size, gain in zip(self.sizes, gains, strict=True):
                self._point("change", model, kind, gain, subset=subset, **_place(size))
            # by topic, the gain with the largest sets less that with the smallest
            if len(gains) > 1:
                grown = changes(paired(gains[0], gains[-1]))
                self._point("change with size", model, kind, grown, subset=subset)

    def _column(
        self, model: str, kind: str, size: int, topics: Sequence[str]
    ) -> dict[Repeat, Values]:
        repeats = self.repeats[model, kind, size, HEADLINE]
        return {
            key: {query_id: values[query_id] for query_id in topics}
            for key, values in repeats.items()
        }

    def _point(
        self, statistic: str, model: str, kind: str, repeats: Mapping[Repeat, Values], **cells: Any
    ) -> None:
        value, bounds, own = self.estimate(self.target, repeats, changes=statistic != "mean")
        cells |= {**system_cells(_facts(model, kind)), **own, "counted": "topics"}
        self.made.add(HEADLINE, statistic, value, bounds, **cells)

    # -- orders, memories --------------------------------------------------------------------------

    def _orders(self, means: Mapping[tuple[str, str, str], float]) -> None:
        """Add each leakage's effect on the order of the models, by measure, where there are
        several: Kendall's τ_b against the order without leakage, and the models that change places.
        """
        for measure in MEASURES if len(self.models) > 1 else ():
            better = measure not in LOWER_IS_BETTER
            orders = {
                kind: {model: means[model, kind, measure] for model in self.models}
                for kind in self.settings.ordered_kinds
            }
            for kind in self.settings.leakages:
                before, after = orders[NO], orders[kind]
                cells: dict[str, Any] = {"variant": CONDITIONS[kind]}
                self.made.add(measure, "tau_b", order_agreement(before, after), **cells)
                swapped = swaps(before, after)
                # the formerly better first; of two models, the one with leakage first
                swapped = swapped if better else [pair[::-1] for pair in swapped]
                overtaken = overtakes(before, after, larger_is_better=better)
                self._pairs(measure, "swaps", swapped, **cells)
                self._pairs(measure, "overtakes", [pair[::-1] for pair in overtaken], **cells)

    def _pairs(
        self, measure: str, statistic: str, pairs: Sequence[tuple[str, str]], **cells: str
    ) -> None:
        listed = ", ".join(f"{first} < {second}" for first, second in pairs) or "none"
        place: dict[str, Any] = {**cells, "axis": "models", "label": listed}
        self.made.add(measure, statistic, len(pairs), **place)

    def _memories(self, model: str, kind: str, pairs: Sequence[LeakedPair]) -> None:
        """Add Tables 6 to 8 over all sizes and seeds: leaked passages, ranked and scored with and
        without their leakage.
        """
        sides = [
            [
                self.places[Training(model, own, size, seed), kind]
                for size, seed in product(self.sizes, self.settings.seeds)
            ]
            for own in (kind, NO)
        ]
        ranks, scores, others = (
            [np.stack([getattr(places[which], part) for places in side]) for side in sides]
            for which, part in ((0, "ranks"), (0, "scores"), (1, "ranks"))
        )
        # a passage in several pairs of a topic counts once
        positives, negatives = (
            list(
                {
                    (pairs[place].query_id, passage): place for place, passage in enumerate(side)
                }.values()
            )
            for side in _sides(pairs)
        )
        clusters, queries = self.clusters[self.target], [pair.query_id for pair in pairs]
        for measure, values, kept in (
            (RANK, ranks, positives),
            (SCORE, scores, positives),
            (NEGATIVE_RANK, others, negatives),
        ):
            topics = [queries[place] for place in kept]
            both = (values[0][:, kept], values[1][:, kept])
            self._memory(measure, model, kind, *memorised(*both, topics, clusters, seed=self.seed))
        offsets = ((ranks[0], others[0]), (ranks[1], others[1]))
        found = rank_offset(*offsets, queries, clusters, seed=self.seed)
        self._memory(OFFSET, model, kind, *found)

    def _memory(
        self, measure: str, model: str, kind: str, memory: Memory, bounds: Interval | None
    ) -> None:
        cells: dict[str, Any] = system_cells(_facts(model, kind))
        counts: dict[str, Any] = {"count": memory.count, "trainings": memory.repeats}
        counts |= {"interval": "queries", "counted": "passages"}
        if measure == OFFSET:
            counts |= {"counted": "topics", "answer": _remembered(bounds)}
        self.made.add(measure, "difference", memory.difference, bounds, **cells, **counts)
        for statistic, value in {
            "with": memory.with_mean,
            "with deviation": memory.with_deviation,
            "without": memory.without_mean,
            "without deviation": memory.without_deviation,
            "difference deviation": memory.difference_deviation,
        }.items():
            self.made.add(measure, statistic, value, **cells)


def _remembered(bounds: Interval | None) -> Remembered:
    if bounds is None or bounds.low <= 0 <= bounds.high:
        return Remembered.UNKNOWN
    return Remembered.YES if bounds.low > 0 else Remembered.OPPOSITE


def _facts(model: str, kind: str) -> Facts:
    return Facts(model=model, variant=CONDITIONS[kind])


def _place(size: int) -> dict[str, Any]:
    return {"axis": "instances", "at": float(size), "label": f"{size:,}"}


def _sides(pairs: Sequence[LeakedPair]) -> tuple[list[str], list[str]]:
    """Return the relevant passages of leaked instances, and the others."""
    return [pair.positive for pair in pairs], [pair.negative for pair in pairs]
