"""What the TripClick study measures, as rows: systems on tests, comparisons, depth curves, training
sets, training logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected, printed_cells
from positionbias.core.run import Run, read_run
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import corrected
from positionbias.evaluation.trainings import Repeat, Values, changes, paired
from positionbias.experiments.against import MARGIN
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    Trial,
    against,
    own_judgements,
    system_cells,
    trial_inputs,
)
from positionbias.papers.tripclick import (
    CLEANED,
    ENSEMBLE,
    FIRST,
    HEADLINE,
    JUDGED,
    REGENERATED,
    RERANKER,
    RETRIEVER,
    Fall,
    paper_test,
)
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.papers.tripclick.trainsets import LEFT_OUT, count_set, truth_of
from positionbias.results.result import Facts

__all__ = [
    "TripClickStudy",
    "accuracy_rows",
    "fall",
    "measure_tripclick",
    "reached",
    "within_candidates",
]

RECALL = (100, 200, 1000)
MOST = 0.5  # least share of a test's queries with as many candidates as a shown depth
BM25 = Facts(model=FIRST_STAGE, role=FIRST)
PUBLISHED = Path(__file__).with_name("published.csv")


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
        level = self.settings.test_relevant_from
        qrels = {test.label: own_judgements(self.collection, *test) for test in self.settings.tests}
        made = Collected({"study": "tripclick", "collection": self.collection.name})
        super().__init__(made, qrels, relevant_from=level, seed=self.settings.seed)
        rel = f"(rel={level})" if level > 1 else ""
        self.ranked = (HEADLINE, f"RR{rel}@10")
        self.recall = {k: f"R{rel}@{k}" for k in RECALL}
        self.first = {split: read_run(path) for split, path in study.candidates.items()}
        self.trials: dict[Facts, list[Trial]] = {}
        for trial in study.trials:
            self.trials.setdefault(trial.facts, []).append(trial)

    def measured(self) -> Collected:
        """Measure effectiveness, tests, curves, training sets, trainings."""
        for test in self.settings.tests:
            self._first_stage(test)
        for facts, trials in self.trials.items():
            self._system(facts, trials)
        self._published()
        against_first = ((BM25, facts) for facts in self.trials)
        self.compare(self._tests("against BM25", against_first))
        self.compare(self._tests("training sets", self._by_negatives()))
        self.compare(self._tests("the ensemble against its models", self._against_members()))
        for name, path in self.study.trainsets.items():
            self._set(name, path)
        self._trainings()
        return self.made

    # -- Tables 1 and 2 ----------------------------------------------------------------------------

    def _first_stage(self, test: JudgedSplit) -> None:
        run, settings = self.first[test.split], self.settings
        given = test.split in settings.candidates
        measures = self._retrieved(run.depth if given else settings.retrieval_depth)
        values = self._by_training([run], [None], test, measures)
        self._means(BM25, test.label, values)
        query_ids = sorted(values[HEADLINE][None, None])
        counts = {
            "depth": settings.depth,
            "queries with so many": reached(run, query_ids, [settings.depth])[settings.depth],
            "median": float(np.median(_sizes(run, query_ids))),
        }
        for statistic, number in counts.items():
            self.made.add("candidates", statistic, number, split=test.label, **system_cells(BM25))

    def _retrieved(self, deepest: int) -> tuple[str, ...]:
        """Return the measures of rankings of ``deepest`` passages per query, with recall no
        deeper.
        """
        return (JUDGED, *self.ranked, *(name for k, name in self.recall.items() if k <= deepest))

    def _system(self, facts: Facts, trials: Sequence[Trial]) -> None:
        """Measure one system, and release its runs."""
        settings, retrieves = self.settings, facts.role == RETRIEVER
        measures = self._retrieved(settings.retrieval_depth) if retrieves else self.ranked
        seeds = [trial.seed for trial in trials]
        for split in self.first:
            whole = [read_run(trial.runs[split]) for trial in trials]
            runs = [self._cut(facts, split, run) for run in whole]
            for test in settings.tests:
                if test.split == split:
                    self._means(facts, test.label, self._by_training(runs, seeds, test, measures))
                    if facts.role == RERANKER and split in settings.curve_tests:
                        self._curve(facts, test, whole)
        if retrieves and settings.index != "exact":
            index = {**system_cells(facts), "axis": "index", "label": settings.index}
            self.made.add("retrieval", "index", None, **index)

    def _cut(self, facts: Facts, split: str, run: Run) -> Run:
        """Cut a run that was re-ranked deeper, for its curve, to the study's depth."""
        if facts.role != RERANKER or self.settings.reach(split) == self.settings.depth:
            return run
        return apply_depth(self.first[split], run, self.settings.depth)

    def _by_training(
        self,
        runs: Sequence[Run],
        seeds: Sequence[int | None],
        test: JudgedSplit,
        measures: Sequence[str],
    ) -> dict[str, dict[Repeat, Values]]:
        """Return the values of each seed's run, by measure."""
        values = [per_query(run, self.qrels[test.label], measures) for run in runs]
        return {
            measure: {(seed, None): own[measure] for seed, own in zip(seeds, values, strict=True)}
            for measure in measures
        }

    def _means(
        self, facts: Facts, test: str, values: Mapping[str, Mapping[Repeat, Values]]
    ) -> None:
        for measure, repeats in values.items():
            self.values[facts, test, measure] = repeats
            self.mean(measure, test, facts, repeats, unit="share" if measure == JUDGED else "")

    def _published(self) -> None:
        """Add the paper's figures for those tests that are its own by name."""
        theirs = printed_cells(PUBLISHED)
        for label in self.qrels:
            for cell in theirs:
                if cell["split"] == paper_test(label):
                    self.made.add(**{**cell, "split": label})

    # -- tests -------------------------------------------------------------------------------------

    def _by_negatives(self) -> Iterable[tuple[Facts, Facts]]:
        """Compare every further training set of a model with BM25's negatives, and with the same
        set without its false negatives, where the source of negatives is the same."""
        for facts in self.trials:
            base = replace(facts, variant=REGENERATED)
            cleaned = replace(facts, variant=f"{facts.variant}{CLEANED}")
            if facts != base and base in self.trials:
                yield facts, base
            if cleaned in self.trials:
                yield facts, cleaned

    def _against_members(self) -> Iterable[tuple[Facts, Facts]]:
        """Compare the ensemble with every one of its models."""
        names = set(self.settings.in_ensemble)
        members = [
            facts
            for facts, trials in self.trials.items()
            if trials[0].name in names and facts.variant == REGENERATED
        ]
        ensembles = [facts for facts in self.trials if facts.role == ENSEMBLE]
        return (
            (member, facts)
            for facts in ensembles
            for member in members
            if member.unfinished == facts.unfinished
        )

    def _tests(self, along: str, pairs: Iterable[tuple[Facts, Facts]]) -> Iterator[Tested]:
        """Test each system against its baseline on every test; a family is all tests of a measure
        on one test set [decision].
        """
        for base, facts in pairs:
            for test in self.qrels:
                for measure in self.ranked:
                    sides = (self.values[base, test, measure], self.values[facts, test, measure])
                    family = f"{along}: {measure} on {test}"
                    yield Tested(family, measure, test, base, facts, paired(*sides))

    # -- depth -------------------------------------------------------------------------------------

    def _curve(self, facts: Facts, test: JudgedSplit, runs: Sequence[Run]) -> None:
        """Add nDCG@10 at the re-ranking depths that the candidates reach, and its changes from the
        shallowest and from the study's depth to the deepest.
        """
        settings, first = self.settings, self.first[test.split]
        queries = sorted(per_query(first, self.qrels[test.label], (HEADLINE,))[HEADLINE])
        asked = {*settings.depths, settings.depth}
        depths = within_candidates(first, queries, asked)
        if not depths:
            return
        seeds = [trial.seed for trial in self.trials[facts]]
        shares = reached(first, queries, depths)
        at: dict[int, Mapping[Repeat, Values]] = {}
        means: dict[int, float] = {}
        for depth in depths:
            cut = [apply_depth(first, run, depth) for run in runs]
            at[depth] = self._by_training(cut, seeds, test, (HEADLINE,))[HEADLINE]
            place: dict[str, Any] = {"axis": "depth", "at": float(depth), "label": str(depth)}
            means[depth] = self.mean(HEADLINE, test.label, facts, at[depth], **place)
            own = {**system_cells(facts), **place, "split": test.label}
            self.made.add(HEADLINE, "queries with so many", shares[depth], **own)
        for depth in sorted(asked.difference(depths)):
            place = {"axis": "depth", "at": float(depth), "label": str(depth), "split": test.label}
            place["reason"] = "most queries have no so many candidates"
            self.made.add(HEADLINE, "beyond", None, **system_cells(facts), **place)
        deepest = depths[-1]
        for start in dict.fromkeys((depths[0], settings.depth)):
            if start in at and start < deepest:
                self._fall(facts, test.label, start, deepest, at, means)

    def _fall(
        self,
        facts: Facts,
        test: str,
        start: int,
        deepest: int,
        at: Mapping[int, Mapping[Repeat, Values]],
        means: Mapping[int, float],
    ) -> None:
        moved = changes(paired(at[start], at[deepest]))
        value, bounds, cells = self.estimate(test, moved, changes=True)
        least = MARGIN * means[start]
        answer = fall(bounds, least)
        if start != self.settings.depth and answer is not Fall.FALLS:
            answer = Fall.SHALLOW
        place: dict[str, Any] = {"axis": "depth", "at": float(deepest), "label": str(deepest)}
        place |= {"against": f"depth={start}", "margin": least, "answer": answer}
        self.made.add(HEADLINE, "change", value, bounds, **system_cells(facts), **cells, **place)

    # -- trainings ---------------------------------------------------------------------------------

    def _set(self, name: str, path: Path) -> None:
        """Add a training set's contents, the share of false negatives where the truth is known, and
        what was left out.
        """
        groups = Groups(path)
        known = self.settings.complete_qrels is not None
        truth = truth_of(self.collection, self.settings) if known else None
        held = count_set(groups, truth)
        left_out = groups.manifest.content_as(dict[str, int], LEFT_OUT, {})
        cells: dict[str, Any] = {"variant": name, "unit": "count"}
        for statistic, number in held.items():
            self.made.add("training set", statistic, number, **cells)
        for reason, number in left_out.items():
            self.made.add("training set", "left out", number, **cells, axis="cause", label=reason)
        if held["negatives"] and "false negatives" in held:
            share = held["false negatives"] / held["negatives"]
            self.made.add("training set", "share false", share, variant=name)

    def _trainings(self) -> None:
        """Add the logs of all trainings, and for each system the mean over its seeds of what was
        logged late, with the test of pairwise accuracy against BM25's negatives.
        """
        accuracies: dict[Facts, dict[int, float]] = {}
        for facts, trials in self.trials.items():
            logged: dict[str, dict[int, float]] = {}
            for trial in trials:
                if trial.trained is not None:
                    for name, value in self.training(facts, trial.seed, trial.trained).items():
                        logged.setdefault(name, {})[trial.seed] = value
            for name, values in logged.items():
                mean = sum(values.values()) / len(values)
                cells: dict[str, Any] = {"trainings": len(values)}
                self.made.add("training", name, mean, **system_cells(facts), **cells)
            if "pair accuracy" in logged:
                accuracies[facts] = logged["pair accuracy"]
        accuracy_rows(self.made, accuracies)


def fall(bounds: Interval | None, margin: float) -> Fall:
    """Judge a change by its interval; a fall that lies within the margin, 3 % of the mean that it
    starts from, is none [decision].
    """
    if bounds is None or (bounds.low < -margin and bounds.high >= 0):
        return Fall.UNKNOWN
    if bounds.low < -margin:
        return Fall.FALLS
    return Fall.RISES if bounds.low > 0 else Fall.NONE


def reached(candidates: Run, query_ids: Sequence[str], depths: Iterable[int]) -> dict[int, float]:
    """Return the share of queries with as many candidates as each depth, ascending."""
    sizes = _sizes(candidates, query_ids)
    return {depth: float((sizes >= depth).mean()) for depth in sorted(set(depths))}


def within_candidates(
    candidates: Run, query_ids: Sequence[str], depths: Iterable[int]
) -> list[int]:
    """Return the depths that at least half of the queries reach, else the deepest (none for 0
    candidates) [decision].

    Below its candidates a ranking does not change, which would look like a model that more
    candidates do not harm.
    """
    kept = [
        depth for depth, share in reached(candidates, query_ids, depths).items() if share >= MOST
    ]
    deepest = sorted(_sizes(candidates, query_ids).tolist(), reverse=True)[
        -(-len(query_ids) // 2) - 1
    ]
    return kept or ([deepest] if deepest else [])


def _sizes(candidates: Run, query_ids: Sequence[str]) -> np.ndarray:
    return np.array(
        [
            len(candidates.numbers(query_id)) if query_id in candidates else 0
            for query_id in query_ids
        ]
    )


def accuracy_rows(made: Collected, accuracies: Mapping[Facts, Mapping[int, float]]) -> None:
    """Add the logged pairwise accuracy of a model's trainings on each further set less that on
    BM25's negatives, ``accuracies`` by system and seed.

    The difference is a mean over the seeds that both have, p by Student's paired t-test over them,
    after Holm's correction over the sets of a model; undefined with fewer than two seeds, or equal
    differences.
    """
    from scipy import stats

    for base, theirs in accuracies.items():
        others = [
            facts
            for facts in accuracies
            if facts != base and replace(facts, variant=REGENERATED) == base
        ]
        tests: list[tuple[Facts, np.ndarray, float | None]] = []
        for facts in others:
            ours = accuracies[facts]
            seeds = sorted(ours.keys() & theirs.keys())
            differences = np.round([ours[seed] - theirs[seed] for seed in seeds], 12)
            varied = len(seeds) > 1 and np.ptp(differences) > 0
            p = float(stats.ttest_1samp(differences, 0).pvalue) if varied else None
            tests.append((facts, differences, p))
        holm = iter(corrected([p for *_, p in tests if p is not None], "holm"))
        for facts, differences, p in tests:
            cells: dict[str, Any] = {**system_cells(facts), "trainings": len(differences)}
            cells |= {"against": against(base, facts), "family": f"sets of {base.model}"}
            cells |= {"p": p, "p_adjusted": None if p is None else next(holm)}
            mean = float(differences.mean()) if len(differences) else None
            made.add("training", "difference of pair accuracy", mean, **cells)
