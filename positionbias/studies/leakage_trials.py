"""The trainings of a leakage study, and what each makes of the target: a value of every topic, the places of what leaked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.records import Qrel
from positionbias.core.run import Ranking, Run, read_run
from positionbias.evaluation.cross_validation import FOLDS, check_folds, query_folds
from positionbias.evaluation.first_rank import first_ranks
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.memorisation import LeakedPair, Places, leaked_places
from positionbias.evaluation.trainings import Repeat, Values, query_means
from positionbias.leakage.published import CONDITIONS

__all__ = [
    "LOWER_IS_BETTER",
    "MEASURES",
    "NO",
    "LeakageStudy",
    "Measured",
    "Trial",
    "leaked_pairs",
    "retrieved_alone",
    "target_folds",
]

NO = "no"  # the kind of training set that all others are compared with
MEASURES = ("nDCG@10", "MFR", "RR", "P@1")
LOWER_IS_BETTER = ("MFR",)


class Trial(NamedTuple):
    """One training: of which kind of model, on which kind of set, of how many instances, with which seed; its scores of the target."""

    model: str
    kind: str
    size: int
    seed: int
    scored: Path


@dataclass(frozen=True)
class LeakageStudy:
    """What there is to measure.

    ``candidates`` and ``to_score`` are runs of the target: what is re-ranked, and that with the leaked passages. ``trainsets`` by kind and
    size. Passages are relevant to a topic from grade ``relevant_from``.
    """

    collection: Path
    target: str
    candidates: Path
    to_score: Path
    trainsets: Mapping[tuple[str, int], Path]
    trials: Sequence[Trial]
    relevant_from: int = 1
    folds: int = FOLDS
    seed: int = 1

    def inputs(self) -> dict[str, Path]:
        """Every artefact that is read, by its part."""
        return {
            "collection": self.collection,
            "candidates": self.candidates,
            "to score": self.to_score,
            **{f"training set {kind} {size}": path for (kind, size), path in self.trainsets.items()},
            **{trial.scored.stem: trial.scored for trial in self.trials},
        }

    @property
    def models(self) -> list[str]:
        """The kinds of model, in order."""
        return list(dict.fromkeys(trial.model for trial in self.trials))

    @property
    def kinds(self) -> list[str]:
        """The kinds of training set, in the paper's order."""
        return [kind for kind in CONDITIONS if any(trial.kind == kind for trial in self.trials)]

    @property
    def leakages(self) -> list[str]:
        """The kinds of training set with leakage."""
        return [kind for kind in self.kinds if kind != NO]

    @property
    def sizes(self) -> list[int]:
        """The training set sizes, the smallest first."""
        return sorted({trial.size for trial in self.trials})

    @property
    def seeds(self) -> list[int]:
        """The seeds of the trainings, in order."""
        return list(dict.fromkeys(trial.seed for trial in self.trials))


def leaked_pairs(groups: Groups) -> list[LeakedPair]:
    """The leaked instances of a training set, one for each test query that its query leaks; in order of test query and passages."""
    leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
    found = {
        LeakedPair(test_id, group.passage_ids[0], negative)
        for group in islice(groups, groups.manifest.content_as(int, "leaked"))
        for test_id in leaks[group.query_id]
        for negative in group.passage_ids[1:]
    }
    return sorted(found)


def target_folds(
    collection: Collection, target: str, *, relevant_from: int, folds: int, seed: int
) -> tuple[list[Qrel], list[list[str]]]:
    """The target's judgements of its own queries, and the folds of its judged topics.

    Raises:
        InputError: fewer judged topics than folds, or a fold without a topic that has relevant passages.
    """
    own = {query_id for query_id, _ in collection.query_texts(target)}
    qrels = [qrel for qrel in collection.qrels(target) if qrel.query_id in own]
    parts = query_folds({qrel.query_id for qrel in qrels}, folds=folds, seed=seed)
    check_folds(parts, {qrel.query_id for qrel in qrels if qrel.grade >= relevant_from})
    return qrels, parts


class Measured:
    """The judged topics of the target and their folds; by training the topics' values, and where the leaked passages stand.

    ``values`` by (model, kind, size, measure): a topic's value is its mean over seeds, before a size is chosen [decision]; ``repeats`` has them by seed.
    ``places`` by (model, kind, size, seed) and kind of leakage: those of the positives and of the negatives.

    Raises:
        InputError: as ``target_folds``.
    """

    def __init__(self, study: LeakageStudy) -> None:
        self.study = study
        collection = Collection(study.collection)
        self.name = collection.name
        self.qrels, self.folds = target_folds(
            collection, study.target, relevant_from=study.relevant_from, folds=study.folds, seed=study.seed
        )
        self.topics = sorted(query_id for fold in self.folds for query_id in fold)
        self.candidates = read_run(study.candidates)
        self.depth = max(1, self.candidates.depth)
        self.without = first_ranks(self.candidates, self.qrels, depth=self.depth, relevant_from=study.relevant_from).without
        self.pairs = {kind: self._leaked(kind) for kind in study.leakages}
        self.places: dict[tuple[str, str, int, int], dict[str, tuple[Places, Places]]] = {}
        self.repeats: dict[tuple[str, str, int, str], dict[Repeat, Values]] = {}
        for trial in study.trials:
            scored = read_run(trial.scored)
            for measure, values in self.measured(retrieved_alone(scored, self.candidates)).items():
                self.repeats.setdefault((trial.model, trial.kind, trial.size, measure), {})[trial.seed, None] = values
            self.places[trial[:4]] = {
                kind: self._placed(scored, pairs) for kind, pairs in self.pairs.items() if trial.kind in (NO, kind)
            }
        self.values: dict[tuple[str, str, int, str], Values] = {key: query_means(of) for key, of in self.repeats.items()}

    def measured(self, run: Run) -> dict[str, Values]:
        """By measure the value of each judged topic."""
        level = self.study.relevant_from
        given = f"(rel={level})" if level > 1 else ""
        found = per_query(run, self.qrels, ["nDCG@10", f"RR{given}", f"P{given}@1"])
        ranks = first_ranks(run, self.qrels, depth=self.depth, relevant_from=level).ranks
        return dict(zip(MEASURES, (found["nDCG@10"], ranks, found[f"RR{given}"], found[f"P{given}@1"]), strict=True))

    def leaked_topics(self) -> list[str]:
        """Judged topics with leaked queries: those that queries of the source leak, where such are trained on; else those of the test
        leakage [decision]."""
        kind = next((kind for kind in self.study.leakages if self.pairs[kind]), None)
        return sorted({pair.query_id for pair in self.pairs[kind]}.intersection(self.topics)) if kind else []

    def _leaked(self, kind: str) -> list[LeakedPair]:
        """The leaked instances that the sets of all sizes have, of topics that have candidates."""
        sets = [set(leaked_pairs(Groups(path))) for (of, _), path in self.study.trainsets.items() if of == kind]
        return sorted(pair for pair in set.intersection(*sets) if pair.query_id in self.candidates)

    def _placed(self, scored: Run, pairs: Sequence[LeakedPair]) -> tuple[Places, Places]:
        positives = [(pair.query_id, pair.positive) for pair in pairs]
        negatives = [(pair.query_id, pair.negative) for pair in pairs]
        return leaked_places(scored, self.candidates, positives), leaked_places(scored, self.candidates, negatives)


def retrieved_alone(scored: Run, candidates: Run) -> Run:
    """The candidates alone, in the order of ``scored``."""

    def kept(ranking: Ranking) -> tuple[str, list[str], list[float]]:
        known = set(candidates[ranking.query_id].passage_ids)
        pairs = [(i, s) for i, s in zip(ranking.passage_ids, ranking.scores.tolist(), strict=True) if i in known]
        return ranking.query_id, [i for i, _ in pairs], [s for _, s in pairs]

    return Run(scored.name, map(kept, scored.rankings()))
