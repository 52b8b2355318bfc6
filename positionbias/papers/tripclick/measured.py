"""Rows of the TripClick study: systems on tests, comparisons, depth curves, training sets, training
logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.records import Interval
from positionbias.core.rows import Collected, printed_cells
from positionbias.core.run import Run
from positionbias.evaluation.answers import MARGIN
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.records import Facts
from positionbias.evaluation.trainings import Repeat, Values, changes, paired
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    Trial,
    own_judgements,
    system_cells,
    trial_inputs,
)
from positionbias.papers.tripclick import ENSEMBLE, HEADLINE, JUDGED, REGENERATED, RERANKER, Fall
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings

RANKED = (HEADLINE, "RR@10")
RECALL = (100, 200, 1000)
BM25 = Facts(model=FIRST_STAGE, role="first stage")
PUBLISHED = Path(__file__).with_name("published.csv")
# the paper's tests, by the labels that TripClick's splits have
TESTS = {"head_test.dctr": "Head (DCTR)", "torso_test": "Torso (RAW)", "tail_test": "Tail (RAW)"}


@dataclass(frozen=True)
class TripClickStudy:
    """The inputs of the measurements. ``candidates`` are by test split, ``trainsets`` by name."""

    collection: Path
    settings: TripClickSettings
    candidates: Mapping[str, Path]
    trainsets: Mapping[str, Path]
    trials: Sequence[Trial]

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        return {
            "collection": self.collection,
            **{f"candidates of {split}": path for split, path in self.candidates.items()},
            **{f"training set {name}": path for name, path in self.trainsets.items()},
            **trial_inputs(self.trials),
        }


def measure_tripclick(study: TripClickStudy) -> Collected:
    """Return the rows of the study, those of the paper for its own tests among them.

    Re-rankers and the ensemble have nDCG@10 and RR@10 (Table 1), BM25 and retrievers also J@10 and
    recall (Table 2). A query's value is its mean over seeds; with three seeds or more, intervals
    and tests are over trainings and queries (``evaluation.trainings``). Recall is measured at most
    as deep as the rankings, and a depth curve ends with its candidates.

    Raises:
        InputError: a test without judgements.
    """
    return _Measuring(study).measured()


class _Measuring(Systems):
    """The measurements of one study."""

    def __init__(self, study: TripClickStudy) -> None:
        self.study, self.settings = study, study.settings
        self.collection = Collection(study.collection)
        qrels = {test.label: own_judgements(self.collection, *test) for test in self.settings.tests}
        made = Collected({"study": "tripclick", "collection": self.collection.name})
        super().__init__(made, qrels, relevant_from=1, seed=self.settings.seed)
        self.first = {split: Run.from_file(path) for split, path in study.candidates.items()}
        # by system and seed: its runs by split
        self.runs: dict[Facts, dict[int | None, Mapping[str, Path]]] = {
            BM25: {None: study.candidates}
        }
        for trial in study.trials:
            self.runs.setdefault(trial.facts, {})[trial.seed] = trial.runs

    def measured(self) -> Collected:
        """Measure effectiveness, tests, curves, training sets, trainings."""
        for facts, test in product(self.runs, self.settings.tests):
            self._system(facts, test)
        theirs = printed_cells(PUBLISHED)
        for label in self.qrels:
            for cell in theirs:
                if cell["split"] == TESTS.get(label):
                    self.made.add(**{**cell, "split": label})
        others = [facts for facts in self.runs if facts != BM25]
        self.compare(self._tests("against BM25", product([BM25], others)))
        self.compare(self._tests("training sets", self._by_negatives()))
        for name, path in self.study.trainsets.items():
            self._set(name, path)
        for trial in self.study.trials:
            if trial.trained is not None:
                self.training(trial.facts, trial.seed, trial.trained)
        return self.made

    def _system(self, facts: Facts, test: JudgedSplit) -> None:
        """Measure one system on a test."""
        settings, split = self.settings, test.split
        whole = runs = [Run.from_file(runs[split]) for runs in self.runs[facts].values()]
        measures: Sequence[str] = RANKED
        if facts.role not in (RERANKER, ENSEMBLE):
            given = facts == BM25 and split in settings.candidates
            deepest = whole[0].depth if given else settings.retrieval_depth
            measures = (JUDGED, *RANKED, *(f"R@{depth}" for depth in RECALL if depth <= deepest))
        elif facts.role == RERANKER and settings.reach(split) > settings.depth:
            runs = [apply_depth(self.first[split], run, settings.depth) for run in whole]
        for measure, repeats in self._repeats(facts, test, runs, measures).items():
            self.values[facts, test.label, measure] = repeats
            unit = "share" if measure == JUDGED else ""
            self.mean(measure, test.label, facts, repeats, unit=unit)
        if facts.role == RERANKER and split == settings.tests[0].split:
            self._curve(facts, test, whole)

    def _repeats(
        self, facts: Facts, test: JudgedSplit, runs: Sequence[Run], measures: Sequence[str]
    ) -> dict[str, dict[Repeat, Values]]:
        """Return the values of each seed's run, by measure."""
        values = [per_query(run, self.qrels[test.label], measures) for run in runs]
        return {
            measure: {
                (seed, None): own[measure]
                for seed, own in zip(self.runs[facts], values, strict=True)
            }
            for measure in measures
        }

    def _by_negatives(self) -> Iterable[tuple[Facts, Facts]]:
        """Compare every further training set of a model with BM25's negatives."""
        bases = ((facts, replace(facts, variant=REGENERATED)) for facts in self.runs)
        return ((facts, base) for facts, base in bases if facts != base and base in self.runs)

    def _tests(self, along: str, pairs: Iterable[tuple[Facts, Facts]]) -> Iterator[Tested]:
        """Test each system against its baseline on every test; a family is all tests of a measure
        on one test set [decision].
        """
        for base, facts in pairs:
            for test in self.qrels:
                for measure in RANKED:
                    sides = (self.values[base, test, measure], self.values[facts, test, measure])
                    family = f"{along}: {measure} on {test}"
                    yield Tested(family, measure, test, base, facts, paired(*sides))

    def _curve(self, facts: Facts, test: JudgedSplit, runs: Sequence[Run]) -> None:
        """Add nDCG@10 at the re-ranking depths that the candidates reach, and its change from the
        study's depth to the deepest.
        """
        first, start = self.first[test.split], self.settings.depth
        queries = sorted(self.values[BM25, test.label, HEADLINE][None, None])
        at: dict[int, Mapping[Repeat, Values]] = {}
        means: dict[int, float] = {}
        place: dict[str, Any] = {}
        for depth in within_candidates(first, queries, self.settings.curve):
            cut = [apply_depth(first, run, depth) for run in runs]
            at[depth] = self._repeats(facts, test, cut, [HEADLINE])[HEADLINE]
            place = {"axis": "depth", "at": float(depth), "label": str(depth)}
            means[depth] = self.mean(HEADLINE, test.label, facts, at[depth], **place)
        if start in at and start < max(at):
            moved = changes(paired(at[start], at[max(at)]))
            value, bounds, cells = self.estimate(test.label, moved, changes=True)
            least = MARGIN * means[start]
            cells |= {"against": f"depth={start}", "margin": least, "answer": fall(bounds, least)}
            own = {**system_cells(facts), **cells, **place}
            self.made.add(HEADLINE, "change", value, bounds, **own)

    def _set(self, name: str, path: Path) -> None:
        """Add a training set's contents, and the share of false negatives where it is known."""
        counts = count_set(Groups(path), self.collection, self.settings)
        for statistic, number in counts.items():
            self.made.add("training set", statistic, number, variant=name, unit="count")
        if counts["negatives"] and "false negatives" in counts:
            share = counts["false negatives"] / counts["negatives"]
            self.made.add("training set", "share false", share, variant=name)


def fall(bounds: Interval | None, margin: float) -> Fall:
    """Judge a change by its interval; a fall that lies within the margin, 3 % of the mean that it
    starts from, is none [decision].
    """
    if bounds is None or (bounds.low < -margin and bounds.high >= 0):
        return Fall.UNKNOWN
    if bounds.low < -margin:
        return Fall.FALLS
    return Fall.RISES if bounds.low > 0 else Fall.NONE


def within_candidates(
    candidates: Run, query_ids: Sequence[str], depths: Iterable[int]
) -> list[int]:
    """Return the depths that at least half of the queries have candidates for [decision].

    Below its candidates a ranking does not change, which would look like a model that more
    candidates do not harm.
    """
    sizes = [len(candidates.numbers(item)) if item in candidates else 0 for item in query_ids]
    return [depth for depth in depths if 2 * sum(size >= depth for size in sizes) >= len(sizes)]


def count_set(
    groups: Groups, collection: Collection, settings: TripClickSettings
) -> dict[str, int]:
    """Count groups, queries, positives (of a query, each once), and negatives; and those that are
    false, relevant by the complete judgements, if there are any.
    """
    complete = settings.complete_qrels
    qrels = [] if complete is None else collection.qrels(settings.source, complete)
    truth = {(qrel.query_id, qrel.passage_id) for qrel in qrels if qrel.grade > 0}
    queries, positives = set[str](), set[tuple[str, str]]()
    negatives = false = 0
    for query_id, (positive, *others), *_ in groups:
        queries.add(query_id)
        positives.add((query_id, positive))
        negatives += len(others)
        false += sum((query_id, passage_id) in truth for passage_id in others)
    counts = {"groups": len(groups), "queries": len(queries), "positives": len(positives)}
    counts["negatives"] = negatives
    return counts if complete is None else {**counts, "false negatives": false}
