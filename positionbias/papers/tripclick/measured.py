"""Measurements of the TripClick study: systems on tests, comparisons, depth curves, training sets,
training logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.run import Run, read_run
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import corrected
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    changes,
    paired,
    query_means,
)
from positionbias.experiments.measuring import (
    Measuring,
    Tested,
    Trial,
    own_judgements,
    trial_inputs,
)
from positionbias.experiments.systems import FIRST_STAGE, Subject, curve_of, finding
from positionbias.papers.tripclick import (
    AGAINST_BM25,
    CLEANED,
    CURVES,
    ENSEMBLE,
    FIRST,
    HEADLINE,
    MEMBERS,
    NEGATIVES,
    REGENERATED,
    RERANKER,
    RETRIEVER,
    SETS,
    TELEMETRY,
    AgainstRegenerated,
    DepthCurve,
    DepthPoint,
    Telemetry,
    system_label,
)
from positionbias.papers.tripclick.findings import tripclick_findings
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.papers.tripclick.trainsets import LEFT_OUT, count_set, truth_of
from positionbias.results.payloads import TrainingCurve
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type

__all__ = [
    "TripClickStudy",
    "against_regenerated",
    "measure_tripclick",
    "reached",
    "within_candidates",
]

JUDGED = "Judged@10"
RECALL = (100, 200, 1000)
MOST = 0.5  # least share of a test's queries with as many candidates as a shown depth
BM25 = Facts(model=FIRST_STAGE, role=FIRST)


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


def measure_tripclick(study: TripClickStudy) -> list[Result]:
    """Return all results of the study's report, findings first.

    Re-rankers and the ensemble have nDCG@10 and RR@10 (Table 1), BM25 and retrievers also J@10 and
    recall (Table 2). A query's value is its mean over seeds; with three seeds or more, intervals
    and tests are over trainings and queries (``evaluation.trainings``). Recall is measured at most
    as deep as the rankings, and a depth curve ends with its candidates.

    Raises:
        InputError: a test without judgements.
    """
    results = _Measuring(study).results()
    name = results[0].collection
    return [
        *(finding(name, "", item, study.settings.seed) for item in tripclick_findings(results)),
        *results,
    ]


class _Measuring(Measuring):
    """The results of one study."""

    def __init__(self, study: TripClickStudy) -> None:
        self.study, self.settings = study, study.settings
        collection, level = Collection(study.collection), self.settings.test_relevant_from
        qrels = {test.label: own_judgements(collection, *test) for test in self.settings.tests}
        super().__init__(collection, qrels, relevant_from=level, seed=self.settings.seed)
        rel = f"(rel={level})" if level > 1 else ""
        self.ranked = (HEADLINE, f"RR{rel}@10")
        self.recall = {k: f"R{rel}@{k}" for k in RECALL}
        self.first = {split: read_run(path) for split, path in study.candidates.items()}
        self.trials: dict[Facts, list[Trial]] = {}
        for trial in study.trials:
            self.trials.setdefault(trial.facts, []).append(trial)
        self.every = list(self.trials)
        self.curves: list[Result] = []
        for facts, trials in self.trials.items():
            self._read(facts, trials)

    def name(self, facts: Facts) -> str:
        """Name a system as in a row or a line."""
        return system_label(facts, self.every)

    def _retrieved(self, deepest: int) -> tuple[str, ...]:
        """Return the measures of rankings of ``deepest`` passages per query, with recall no
        deeper.
        """
        return (JUDGED, *self.ranked, *(name for k, name in self.recall.items() if k <= deepest))

    def _read(self, facts: Facts, trials: Sequence[Trial]) -> None:
        """Read one system's values, and release its runs."""
        measures = (
            self._retrieved(self.settings.retrieval_depth)
            if facts.role == RETRIEVER
            else self.ranked
        )
        for split in self.first:
            whole = [read_run(trial.runs[split]) for trial in trials]
            runs = [self._cut(facts, split, run) for run in whole]
            for test in self.settings.tests:
                if test.split == split:
                    for measure, of in self._by_training(
                        runs, [trial.seed for trial in trials], test, measures
                    ).items():
                        self.values[facts, test.label, measure] = of
                    if facts.role == RERANKER and split in self.settings.curve_tests:
                        self.curves += self._curve(facts, test, whole)

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
        found = [per_query(run, self.qrels[test.label], measures) for run in runs]
        return {
            m: {(seed, None): of[m] for seed, of in zip(seeds, found, strict=True)}
            for m in measures
        }

    def results(self) -> list[Result]:
        """Return effectiveness, tests, curves, training sets, trainings."""
        return [
            *self._effectiveness(),
            *self.corrected(self._tests(AGAINST_BM25, self._against_first())),
            *self.corrected(self._tests(NEGATIVES, self._by_negatives())),
            *self.corrected(self._tests(MEMBERS, self._against_members())),
            *self.curves,
            *self._sets(),
            *self._telemetry(),
        ]

    # -- Tables 1 and 2 ----------------------------------------------------------------------------

    def _effectiveness(self) -> list[Result]:
        for test in self.settings.tests:
            run = self.first[test.split]
            deepest = (
                run.depth
                if test.split in self.settings.candidates
                else self.settings.retrieval_depth
            )
            for measure, of in self._by_training(
                [run], [None], test, self._retrieved(deepest)
            ).items():
                self.values[BM25, test.label, measure] = of
        order = [BM25, *self.every]
        keys = sorted(self.values, key=lambda key: order.index(key[0]))
        return [
            self._of_query(measure, test, facts, self.values[facts, test, measure])
            for facts, test, measure in keys
        ]

    def _of_query(
        self, measure: str, test: str, facts: Facts, repeats: Mapping[Repeat, Values]
    ) -> Result:
        seeds = [trial.seed for trial in self.trials.get(facts, ())]
        notes: dict[str, Json] = {"seeds": seeds} if seeds else {}
        if facts.role == RETRIEVER:
            notes["index"] = self.settings.index
        if facts.role == FIRST:
            split = next(of.split for of in self.settings.tests if of.label == test)
            query_ids = sorted(query_means(repeats))
            notes |= {
                "depth": self.settings.depth,
                **_depth_notes(self.first[split], query_ids, self.settings.depth),
            }
        return self.per_query(measure, test, facts, repeats, notes)

    # -- tests -------------------------------------------------------------------------------------

    def _against_first(self) -> Iterable[tuple[Facts, Facts]]:
        return ((BM25, facts) for facts in self.every)

    def _by_negatives(self) -> Iterable[tuple[Facts, Facts]]:
        """Compare every further training set of a model with BM25's negatives, and with the same
        set without its false negatives, where the source of negatives is the same."""
        for facts in self.every:
            base = replace(facts, variant=REGENERATED)
            cleaned = replace(facts, variant=f"{facts.variant}{CLEANED}")
            if facts != base and base in self.trials:
                yield facts, base
            if cleaned in self.trials:
                yield facts, cleaned

    def _against_members(self) -> Iterable[tuple[Facts, Facts]]:
        """Compare the ensemble with every one of its models; the report takes the best of each
        test.
        """
        names = set(self.settings.in_ensemble)
        members = [
            f
            for f, trials in self.trials.items()
            if trials[0].name in names and f.variant == REGENERATED
        ]
        ensembles = [facts for facts in self.every if facts.role == ENSEMBLE]
        return (
            (member, facts)
            for facts in ensembles
            for member in members
            if member.unfinished == facts.unfinished
        )

    def _tests(
        self, axis: str, pairs: Iterable[tuple[Facts, Facts]]
    ) -> Iterator[tuple[tuple[str, str], Tested]]:
        """Test candidate against baseline on every test; a family is all tests of a measure on one
        test set [decision].
        """
        for base, facts in pairs:
            for test, measure in (
                (test.label, measure) for test in self.settings.tests for measure in self.ranked
            ):
                repeats = paired(
                    self.values[base, test, measure], self.values[facts, test, measure]
                )
                found = self.compare(
                    axis, base, facts, repeats, test, {"baseline facts": asdict(base)}
                )
                yield (measure, test), Tested(measure, test, facts, found)

    # -- depth -------------------------------------------------------------------------------------

    def _curve(self, facts: Facts, test: JudgedSplit, runs: Sequence[Run]) -> list[Result]:
        """Return nDCG@10 at the re-ranking depths that the candidates reach; empty if they reach
        none.
        """
        first = self.first[test.split]
        queries = sorted(per_query(first, self.qrels[test.label], (HEADLINE,))[HEADLINE])
        asked = {*self.settings.depths, self.settings.depth}
        depths = within_candidates(first, queries, asked)
        if not depths:
            return []
        at: dict[int, dict[Repeat, Values]] = {}
        seeds = [trial.seed for trial in self.trials[facts]]
        for depth in depths:
            cut = [apply_depth(first, run, depth) for run in runs]
            at[depth] = self._by_training(cut, seeds, test, (HEADLINE,))[HEADLINE]
        shares = reached(first, queries, depths)
        points = []
        for depth in depths:
            of = self.point(test.label, at[depth], changes=False)
            points.append(
                DepthPoint(
                    depth=depth,
                    mean=of.mean,
                    interval=of.interval,
                    queries=of.queries,
                    reached=shares[depth],
                )
            )
        starts = [
            depth
            for depth in dict.fromkeys((depths[0], self.settings.depth))
            if depth in at and depth < depths[-1]
        ]
        falls = {start: changes(paired(at[start], at[depths[-1]])) for start in starts}
        curve = DepthCurve(
            measure=HEADLINE,
            points=points,
            depth=self.settings.depth,
            changes={
                str(start): self.point(test.label, of, changes=True) for start, of in falls.items()
            },
            beyond=sorted(asked.difference(depths)),
        )
        return [
            self.result(CURVES, test.label, facts, curve, value=points[-1].mean, count=len(queries))
        ]

    # -- trainings ---------------------------------------------------------------------------------

    def _sets(self) -> list[Result]:
        """Return each training set's contents, and what was left out; the value is the share of
        false negatives, if the truth is known."""
        found = []
        for name, path in self.study.trainsets.items():
            groups = Groups(path)
            truth = (
                None
                if self.settings.complete_qrels is None
                else truth_of(self.collection, self.settings)
            )
            held = count_set(
                groups, truth, groups.manifest.content_as(dict[str, int], LEFT_OUT, {})
            )
            false = held.false_negatives
            share = None if false is None or not held.negatives else false / held.negatives
            made = self.collection.name, "", name, self.seed, share, None, held.groups
            found.append(Result(SETS, *made, held, Facts(variant=name)))
        return found

    def _telemetry(self) -> list[Result]:
        """Return training logs: pairwise accuracy and margin over the last half of a system's
        steps, the kept weights, and the curves."""
        curves: list[Result] = []
        seen: dict[Facts, Telemetry] = {}
        for facts, trials in self.trials.items():
            name = system_label(facts, self.every)
            trained = [
                Subject(name, replace(facts, seed=t.seed), t.trained)
                for t in trials
                if t.trained is not None
            ]
            of = [curve_of(subject, self.collection.name) for subject in trained]
            if of:
                seen[facts] = _logged(
                    [trial.seed for trial in trials],
                    [curve for _, curve in of_type(of, TrainingCurve)],
                )
            curves += of
        for facts, base in seen.items():
            rest = [of for of in seen if of != facts and replace(of, variant=REGENERATED) == facts]
            for system, tested in zip(
                rest, against_regenerated(base, [seen[of] for of in rest]), strict=True
            ):
                seen[system] = msgspec.structs.replace(seen[system], against=tested)
        found = []
        for facts, logged in seen.items():
            known = [value for value in logged.pair_accuracy if value is not None]
            value = sum(known) / len(known) if known else None
            found.append(
                self.result(TELEMETRY, "", facts, logged, value=value, count=len(logged.seeds))
            )
        return [*found, *curves]


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


def _depth_notes(candidates: Run, query_ids: Sequence[str], depth: int) -> JsonObject:
    """Count the queries with ``depth`` candidates to re-rank, and the median number of
    candidates.
    """
    return {
        "share with so many candidates": reached(candidates, query_ids, [depth])[depth],
        "median candidates": float(np.median(_sizes(candidates, query_ids))),
    }


def _sizes(candidates: Run, query_ids: Sequence[str]) -> np.ndarray:
    return np.array(
        [
            len(candidates.numbers(query_id)) if query_id in candidates else 0
            for query_id in query_ids
        ]
    )


def _logged(seeds: Sequence[int], curves: Sequence[TrainingCurve]) -> Telemetry:
    return Telemetry(
        pair_accuracy=[_late(curve, "pair accuracy") for curve in curves],
        score_margin=[_late(curve, "score margin") for curve in curves],
        loss=[_late(curve, "loss") for curve in curves],
        seeds=seeds,
        steps=[curve.notes.steps for curve in curves],
        kept=[curve.notes.best_step for curve in curves],
    )


def against_regenerated(base: Telemetry, others: Sequence[Telemetry]) -> list[AgainstRegenerated]:
    """Compare the logged pairwise accuracy of a model's trainings on each other set with that on
    BM25's negatives.

    Returns the mean difference over the seeds that both have, and p by Student's paired t-test over
    them after Holm's correction over the sets; None with fewer than two seeds, or equal
    differences."""
    from scipy import stats

    found: list[AgainstRegenerated] = []
    for other in others:
        ours, theirs = (
            {seed: v for seed, v in zip(of.seeds, of.pair_accuracy, strict=True) if v is not None}
            for of in (base, other)
        )
        seeds = sorted(ours.keys() & theirs.keys())
        differences = np.round([theirs[seed] - ours[seed] for seed in seeds], 12)
        varied = len(seeds) > 1 and np.ptp(differences) > 0
        p = float(stats.ttest_1samp(differences, 0).pvalue) if varied else None
        difference = float(differences.mean()) if len(seeds) else None
        found.append(AgainstRegenerated(difference=difference, p_holm=p, seeds=len(seeds)))
    holm = iter(corrected([of.p_holm for of in found if of.p_holm is not None], "holm"))
    return [
        of if of.p_holm is None else msgspec.structs.replace(of, p_holm=next(holm)) for of in found
    ]


def _late(curve: TrainingCurve, name: str) -> float | None:
    """Return the mean of the log over the last half of the steps."""
    logged = [
        (step, value)
        for step, value in zip(curve.steps, curve.series.get(name, ()), strict=False)
        if value is not None
    ]
    late = [value for step, value in logged if 2 * step >= logged[-1][0]]
    return sum(late) / len(late) if late else None
