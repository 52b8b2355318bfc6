"""Rows of the leakage study: effectiveness with cross-validated sizes, effects by
size, orders of models, memories.

Where models rank and score leaked passages (leakage paper, Tables 6–8): a leaked passage is ranked
for the test query that it leaked for, among the candidates that the model re-ranks. One that was
not retrieved is inserted by its score, so its rank is at most the number of candidates + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.groups import Groups
from positionbias.core.rank_order import Ranking
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected, printed_cells
from positionbias.core.run import Run
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.cross_validation import check_folds, cross_validate, query_folds
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.order import swaps
from positionbias.evaluation.records import Facts
from positionbias.evaluation.significance import BONFERRONI
from positionbias.evaluation.trainings import Repeat, Values, paired, query_means
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    own_judgements,
    system_cells,
)
from positionbias.leakage.measured import target_of
from positionbias.papers.leakage import (
    CONDITIONS,
    HEADLINE,
    LEAKED,
    LOWER_IS_BETTER,
    MEASURES,
    NO,
    OFFSET,
    RANK,
    SCORE,
    Remembered,
)
from positionbias.papers.leakage.settings import LeakageSettings

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
        sets = self.trainsets.items()
        return {
            "collection": self.collection,
            "candidates": self.candidates,
            "to score": self.to_score,
            **{f"training set {kind} {size}": path for (kind, size), path in sets},
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
    check_folds(parts, {qrel.query_id for qrel in qrels if qrel.grade >= 1})
    return qrels, parts


def measure_leakage(study: LeakageStudy) -> Collected:
    """Return the rows of the study, those of the paper for its own topics among them."""
    measuring = _Measuring(study)
    measuring.effectiveness()
    measuring.by_size()
    measuring.memories()
    return measuring.made


class _Measuring(Systems):
    """The measurements of one study: a topic's value is its mean over seeds, before a size is
    chosen [decision].

    ``repeats`` has the topics' values by seed, for each model, kind, size and measure. ``leaked``
    are the leaked instances by kind of leakage.
    """

    correction = BONFERRONI

    def __init__(self, study: LeakageStudy) -> None:
        settings, collection = study.settings, Collection(study.collection)
        qrels, self.folds = target_folds(collection, settings)
        self.study, self.settings, self.target = study, settings, settings.target
        made = Collected({"study": "leakage", "collection": collection.name, "split": self.target})
        super().__init__(made, {self.target: qrels}, relevant_from=1, seed=settings.seed)
        self.models, self.sizes = [model.kind for model in settings.models], sorted(settings.sizes)
        self.candidates = Run.from_file(study.candidates)
        self.sets = {key: Groups(path) for key, path in study.trainsets.items()}
        self.runs = {training: Run.from_file(path) for training, path in study.scored.items()}
        self.repeats: dict[tuple[str, str, int, str], dict[Repeat, Values]] = {}
        for (model, kind, size, seed), scored in self.runs.items():
            for measure, values in self._values(retrieved_alone(scored, self.candidates)).items():
                self.repeats.setdefault((model, kind, size, measure), {})[seed, None] = values
        self.leaked = {
            kind: sorted(
                pair
                for pair in set.intersection(
                    *({*leaked_pairs(self.sets[kind, size])} for size in self.sizes)
                )
                if pair.query_id in self.candidates
            )
            for kind in settings.leakages
        }

    def _values(self, run: Run) -> dict[str, Values]:
        """Return the value of each judged topic by measure."""
        qrels = self.qrels[self.target]
        values: dict[str, Values] = dict(per_query(run, qrels, [HEADLINE, "RR", "P@1"]))
        # MFR is the arithmetic mean of ranks [decision: several of the paper's cells are below
        # 2 − P@1, which is impossible for it; they look like 1 / MRR]; nothing relevant counts as
        # the rank after the last candidate
        beyond = max(1, self.candidates.depth) + 1.0
        values["MFR"] = {
            query_id: float(round(1 / reciprocal)) if reciprocal else beyond
            for query_id, reciprocal in values["RR"].items()
        }
        return {measure: values[measure] for measure in MEASURES}

    def effectiveness(self) -> None:
        """Add Tables 3 to 5: the means of the first stage, and of models with the size chosen on
        the other topics, separately by measure; tests against no leakage; orders of the models.
        """
        first = Facts(model=FIRST_STAGE, role="first stage")
        for measure, values in self._values(self.candidates).items():
            self.mean(measure, self.target, first, {(None, None): values})
        for measure in MEASURES:
            kinds = self.settings.ordered_kinds
            means = {
                kind: {model: self._held_out(model, kind, measure) for model in self.models}
                for kind in kinds
            }
            for kind in self.settings.leakages if len(self.models) > 1 else ():
                cells: dict[str, Any] = {"variant": CONDITIONS[kind]}
                swapped = swaps(means[NO], means[kind])  # the formerly higher first
                if measure in LOWER_IS_BETTER:
                    swapped = [pair[::-1] for pair in swapped]
                listed = ", ".join(f"{better} < {worse}" for better, worse in swapped) or "none"
                self.made.add(measure, "swaps", len(swapped), axis="models", label=listed, **cells)
        self.compare(
            self._test(measure, model, kind)
            for measure, model, kind in product(MEASURES, self.models, self.settings.leakages)
        )
        target = target_of([query_id for fold in self.folds for query_id in fold])
        for cell in printed_cells(PUBLISHED) if target else ():
            trained = cell["model"] in self.models and cell["variant"] in map(CONDITIONS.get, kinds)
            if cell["split"] == target and trained:
                self.made.add(**{**cell, "split": self.target})

    def _test(self, measure: str, model: str, kind: str) -> Tested:
        """Test a leakage against none; Bonferroni over the models and leakages of a measure
        [decision].
        """
        base, system = _facts(model, NO), _facts(model, kind)
        sides = paired(*(self.values[one, self.target, measure] for one in (base, system)))
        return Tested(f"leakage: {measure}", measure, self.target, base, system, sides)

    def _held_out(self, model: str, kind: str, measure: str) -> float:
        """Add and return the mean over held-out topics, by seed, each with the size that is best on
        means over seeds of the other folds' topics.
        """
        of_size = {size: self.repeats[model, kind, size, measure] for size in self.sizes}
        by_size = {size: query_means(repeats) for size, repeats in of_size.items()}
        larger = measure not in LOWER_IS_BETTER
        chosen = cross_validate(by_size, self.folds, larger_is_better=larger)
        held: dict[Repeat, Values] = {
            key: {
                query_id: of_size[size][key][query_id]
                for size, fold in zip(chosen, self.folds, strict=True)
                for query_id in fold
            }
            for key in of_size[self.sizes[0]]
        }
        facts = _facts(model, kind)
        self.values[facts, self.target, measure] = held
        return self.mean(measure, self.target, facts, held)

    def by_size(self) -> None:
        """Add Figure 2: a model's mean at each size, on topics with queries leaked from the source,
        if these were trained on, else from the test [decision].
        """
        topics = {query_id for fold in self.folds for query_id in fold}
        leaked = {pair.query_id for pair in next(filter(None, self.leaked.values()), [])}
        kinds = self.settings.ordered_kinds if leaked & topics else []
        for model, size, kind in product(self.models, self.sizes, kinds):
            repeats = {
                key: {query_id: values[query_id] for query_id in sorted(leaked & topics)}
                for key, values in self.repeats[model, kind, size, HEADLINE].items()
            }
            value, bounds, over = self.estimate(self.target, repeats, changes=False)
            cells: dict[str, Any] = {**system_cells(_facts(model, kind)), **over}
            cells |= {"counted": "topics", "subset": LEAKED, **_at(size)}
            self.made.add(HEADLINE, "mean", value, bounds, **cells)

    def memories(self) -> None:
        """Add Tables 6 to 8 over all sizes and seeds: leaked passages, ranked and scored with and
        without their leakage.
        """
        for kind, model in product(self.settings.leakages, self.models):
            pairs = self.leaked[kind]
            if pairs:
                sides = [self._places(model, own, kind) for own in (kind, NO)]
                for measure in (RANK, SCORE, OFFSET):
                    self._memory(measure, model, kind, *(side[measure] for side in sides))

    def _places(self, model: str, trained: str, kind: str) -> dict[str, DataFrame]:
        """Return the leaked relevant passages' ranks and scores, a column each, and the rank
        offsets, a column for each topic: of the trainings of one kind, a row each.
        """
        pairs = self.leaked[kind]
        sides = [[(pair.query_id, pair[side]) for pair in pairs] for side in (1, 2)]
        places: dict[str, list[Any]] = {RANK: [], SCORE: [], OFFSET: []}
        for size, seed in product(self.sizes, self.settings.training_seeds):
            run = self.runs[Training(model, trained, size, seed)]
            positives, negatives = ([*leaked_places(run, self.candidates, side)] for side in sides)
            places[RANK].append([rank for rank, _ in positives])
            places[SCORE].append([score for _, score in positives])
            places[OFFSET].append(
                [other - rank for (rank, _), (other, _) in zip(positives, negatives, strict=True)]
            )
        frames = {name: DataFrame(rows, columns=sides[0]) for name, rows in places.items()}
        offsets = frames.pop(OFFSET).T
        by_topic = offsets.groupby(np.array([query_id for query_id, _ in sides[0]])).mean().T
        # a passage in several pairs of a topic counts once
        alone = {name: frame.loc[:, ~frame.columns.duplicated()] for name, frame in frames.items()}
        return {**alone, OFFSET: by_topic}

    def _memory(
        self, measure: str, model: str, kind: str, with_: DataFrame, without: DataFrame
    ) -> None:
        """Add means, deviations (n − 1, over all values, as the size of the printed ones suggests
        [decision]), and the difference with its interval over clusters of topics, averaged over
        trainings.
        """
        cells: dict[str, Any] = system_cells(_facts(model, kind))
        apart = with_ - without
        queries = [name if measure == OFFSET else name[0] for name in apart]
        labels = [self.clusters[self.target].get(query_id, query_id) for query_id in queries]
        bounds = bootstrap_mean(apart.mean().to_numpy(), labels, seed=self.seed)
        counts: dict[str, Any] = {"count": apart.shape[1], "trainings": apart.shape[0]}
        counts |= {"interval": "queries", "counted": "passages"}
        if measure == OFFSET:
            counts["counted"] = "topics"
            sure = bounds is not None and not bounds.low <= 0 <= bounds.high
            yes = Remembered.YES if bounds and bounds.low > 0 else Remembered.OPPOSITE
            counts["answer"] = yes if sure else Remembered.UNKNOWN
        for statistic, frame in {"with": with_, "without": without, "difference": apart}.items():
            values, own = frame.to_numpy(), statistic == "difference"
            more = counts if own else {}
            self.made.add(
                measure, statistic, values.mean(), bounds if own else None, **cells, **more
            )
            deviation = values.std(ddof=1) if values.size > 1 else 0.0
            self.made.add(measure, f"{statistic} deviation", deviation, **cells)


def _facts(model: str, kind: str) -> Facts:
    return Facts(model=model, variant=CONDITIONS[kind])


def _at(size: int) -> dict[str, Any]:
    return {"axis": "instances", "at": float(size), "label": f"{size:,}"}


class LeakedPair(NamedTuple):
    """The two passages of a leaked training instance, and the test query for which it leaked."""

    query_id: str
    positive: str
    negative: str


def leaked_pairs(groups: Groups) -> list[LeakedPair]:
    """Return a training set's leaked instances, one per test query that the query leaks, sorted by
    test query and passages.
    """
    leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
    leaked = islice(groups, groups.manifest.content_as(int, "leaked"))
    found = {
        LeakedPair(test_id, *group.passage_ids)
        for group in leaked
        for test_id in leaks[group.query_id]
    }
    return sorted(found)


def with_leaked(candidates: Run, pairs: Iterable[LeakedPair], *, name: str) -> Run:
    """Append the passages of pairs that were not retrieved to the candidates, for a model to score;
    pairs of queries without candidates are left out.
    """
    more: dict[str, set[str]] = {}
    for pair in pairs:
        more.setdefault(pair.query_id, set()).update(pair[1:])

    def extended(ranking: Ranking) -> tuple[str, list[str], np.ndarray]:
        new = sorted(more.get(ranking.query_id, set()).difference(ranking.passage_ids))
        least = ranking.scores[-1] if len(ranking.scores) else np.float32(0)
        below = least - np.arange(1, len(new) + 1, dtype=np.float32)
        return ranking.query_id, [*ranking.passage_ids, *new], np.append(ranking.scores, below)

    return Run(name, map(extended, candidates.rankings()))


def leaked_places(
    scored: Run, candidates: Run, passages: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, float]]:
    """Yield the rank and score of each (query, passage) pair; ``scored`` has a model's scores of
    ``with_leaked``.

    The rank is 1 + the number of other candidates above the passage in ``scored``: by float32
    score, equal ones by id descending (``core.run``). Leaked passages that were not retrieved do
    not count in each other's ranks.

    Raises:
        InputError: a passage that was not scored.
    """
    for query_id, passage_id in passages:
        ranking = scored[query_id]
        if passage_id not in ranking.passage_ids:
            raise InputError(
                f"run {scored.name!r}: wanted a score of every leaked passage; found none of "
                f"{passage_id!r} for query {query_id!r}; score the candidates with the leaked "
                "passages"
            )
        place = ranking.passage_ids.index(passage_id)
        retrieved = set(candidates[query_id].passage_ids)
        rank = 1 + len(retrieved.intersection(ranking.passage_ids[:place]))
        yield rank, float(ranking.scores[place])


def retrieved_alone(scored: Run, candidates: Run) -> Run:
    """Return only the candidates, in the order of ``scored``."""

    def kept(ranking: Ranking) -> tuple[str, list[str], list[float]]:
        known = set(candidates[ranking.query_id].passage_ids)
        places = [n for n, passage_id in enumerate(ranking.passage_ids) if passage_id in known]
        ids = [ranking.passage_ids[n] for n in places]
        return ranking.query_id, ids, ranking.scores[places].tolist()

    return Run(scored.name, map(kept, scored.rankings()))
