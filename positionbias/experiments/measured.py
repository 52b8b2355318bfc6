"""Shared measurements of studies: systems on their tests as rows (effectiveness by query,
comparisons, logs of trainings), contents of collections and rotations, ends of trainings, the test
queries that are drawn, and checks of given candidates.

A system is named by its ``Facts``, the same for all its seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json
from positionbias.core.records import Interval, Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.core.run_files import read_rankings
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.answers import Compared, compared
from positionbias.evaluation.convergence import Ending
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.records import Comparison, Facts
from positionbias.evaluation.significance import HOLM, adjust, clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    compare_trainings,
    mean_interval,
    query_means,
)
from positionbias.models.checkpoint import LOG, read_log
from positionbias.models.remedied import trained_folder
from positionbias.models.tensors import FACTS
from positionbias.positions.debias import add_rotation as add_counts
from positionbias.positions.debias import rotation_of
from positionbias.positions.rewrite import Rewritten
from positionbias.training.measured import training_rows

FIRST_STAGE, POSITION_ONLY = "bm25", "position-only"  # kinds of systems beside models


class Trial(NamedTuple):
    """A system of one seed. ``facts`` are the same for all seeds, ``name`` is the model's in the
    study, ``runs`` are by split, ``trained`` is the checkpoint (None for an ensemble)."""

    name: str
    facts: Facts
    seed: int
    runs: Mapping[str, Path]
    trained: Path | None


def trial_inputs(trials: Iterable[Trial]) -> dict[str, Path]:
    """Return the runs and checkpoints of trials by name, as the inputs of a step."""
    known = list(trials)
    runs = {path.stem: path for trial in known for path in trial.runs.values()}
    return {
        **runs,
        **{trial.trained.name: trial.trained for trial in known if trial.trained is not None},
    }


def own_judgements(collection: Collection, split: str, judgements: str | None = None) -> list[Qrel]:
    """Return the judgements of a split's own queries."""
    own = {query_id for query_id, _ in collection.query_texts(split)}
    return [qrel for qrel in collection.qrels(split, judgements) if qrel.query_id in own]


class Tested(NamedTuple):
    """Two systems on a test, by the trainings that both have; p-values are corrected within a
    ``family``. ``named`` is the baseline in the rows, by default how it differs; ``cells`` are
    further ones of the rows. ``answer`` is that of a comparison that no test decides. A difference
    of changes has no ``relative`` change.
    """

    family: str
    measure: str
    test: str
    base: Facts
    system: Facts
    repeats: Mapping[Repeat, tuple[Values, Values]]
    named: str = ""
    cells: Mapping[str, Any] = {}
    answer: str = ""
    relative: bool = True


def system_cells(facts: Facts) -> dict[str, Any]:
    """Return the cells that name a system.

    Example:
        >>> cells = system_cells(Facts(model="tk", variant="original", role="re-ranker"))
        >>> {name: cell for name, cell in cells.items() if cell}
        {'model': 'tk', 'role': 're-ranker', 'variant': 'original', 'finished': True}
    """
    named = ("model", "role", "training", "source", "variant", "loss", "test")
    cells: dict[str, Any] = {name: getattr(facts, name) for name in named}
    seeds = {"seed": facts.seed, "rotation": facts.rotation}
    return {**cells, "start": facts.pretrained, "finished": not facts.unfinished, **seeds}


def against(base: Facts, system: Facts) -> str:
    """Return how a baseline differs from the system that is compared with it.

    Example:
        >>> against(Facts(model="tk", variant="original"), Facts(model="tk", variant="cleaned"))
        'variant=original'
    """
    first, second = system_cells(base), system_cells(system)
    apart = [name for name in first if first[name] != second[name] and name != "finished"]
    filled = [name for name in apart if first[name]]
    return ", ".join(f"{name}={first[name] or ''}" for name in filled or apart)


class Systems:
    """The values of a study's systems by query, and the rows that are made of them.

    ``qrels`` has the judgements of each test; queries that share a relevant passage are one cluster
    in intervals. ``cells`` are those that name a system; p-values have this ``correction``.
    """

    correction = HOLM
    cells: Callable[[Facts], dict[str, Any]] = staticmethod(system_cells)

    def __init__(
        self, made: Collected, qrels: Mapping[str, Sequence[Qrel]], *, relevant_from: int, seed: int
    ) -> None:
        self.made, self.qrels, self.seed = made, qrels, seed
        self.clusters = {
            test: clusters_by_passage(own, level=relevant_from) for test, own in qrels.items()
        }
        # by system, test, measure
        self.values: dict[tuple[Facts, str, str], Mapping[Repeat, Values]] = {}

    def estimate(
        self, test: str, repeats: Mapping[Repeat, Values], *, changes: bool = False
    ) -> tuple[float, Interval | None, dict[str, Any]]:
        """Return the mean over trainings and queries of a measure, or of ``changes`` of it, its
        interval, and the cells that say what it is over.
        """
        values = query_means(repeats)
        bounds = mean_interval(repeats, self.clusters[test], seed=self.seed, changes=changes)
        cells = {"split": test, "count": len(values), "counted": "queries", **over(repeats)}
        return float(np.mean(list(values.values()))), bounds, cells

    def mean(
        self, measure: str, test: str, facts: Facts, repeats: Mapping[Repeat, Values], **cells: Any
    ) -> float:
        """Add a system's mean, a query's value being its mean over trainings; return it."""
        mean, bounds, own = self.estimate(test, repeats)
        named = {**self.cells(facts), **own, **cells}
        by_query, clusters = query_means(repeats), self.clusters[test]
        self.made.add(measure, "mean", mean, bounds, items=by_query, cluster_of=clusters, **named)
        return mean

    def compare(self, tests: Iterable[Tested]) -> None:
        """Add comparisons of systems, with p-values corrected over each family."""
        families: dict[str, list[Tested]] = {}
        for test in tests:
            families.setdefault(test.family, []).append(test)
        for tested in families.values():
            comparisons = [self._comparison(test) for test in tested]
            for test, comparison in zip(
                tested, adjust(comparisons, [self.correction]), strict=True
            ):
                self._add(test, comparison)

    def _comparison(self, tested: Tested) -> Comparison:
        return compare_trainings(
            tested.repeats,
            names=[f"{facts.model} {facts.variant}" for facts in (tested.base, tested.system)],
            clusters=self.clusters[tested.test],
            seed=self.seed,
        )

    def _add(self, tested: Tested, comparison: Comparison) -> None:
        add, measure, p = self.made.add, tested.measure, comparison.p_adjusted.get(self.correction)
        cells: dict[str, Any] = {
            **self.cells(tested.system),
            "split": tested.test,
            "against": tested.named or against(tested.base, tested.system),
            "family": tested.family,
            **tested.cells,
        }
        answer = tested.answer or compared(comparison.difference, p)
        if tested.base.unfinished or tested.system.unfinished:
            answer = Compared.UNFINISHED
        own = {"count": comparison.queries, "counted": "queries", **over(tested.repeats)}
        own |= {"p": comparison.p, "p_adjusted": p, "answer": answer}
        bounds = comparison.difference_interval
        add(measure, "difference", comparison.difference, bounds, **cells, **own)
        seeds = dict.fromkeys(seed for seed, _ in tested.repeats)
        for seed, value in zip(seeds, comparison.by_seed, strict=False):
            add(measure, "difference", value, **{**cells, "seed": seed})
        if tested.relative:
            judged = {**cells, **self.judged(tested, comparison)}
            add(measure, "relative", comparison.relative, comparison.relative_interval, **judged)
        add(measure, "baseline mean", comparison.baseline_mean, **cells)
        add(measure, "candidate mean", comparison.candidate_mean, **cells)
        add(measure, "effect size", comparison.effect_size, **cells)
        add(measure, "Student's t", None, p=comparison.p_t, **cells)
        add(measure, "Wilcoxon", None, p=comparison.p_wilcoxon, **cells)

    def judged(self, tested: Tested, comparison: Comparison) -> dict[str, Any]:
        """Return further cells of a comparison's relative change."""
        return {}

    def training(self, facts: Facts, seed: int, checkpoint: Path) -> dict[str, float]:
        """Add the rows of a training; return what it logged in the last half of its steps."""
        return training_rows(self.made, checkpoint, **{**self.cells(facts), "seed": seed})


def over(repeats: Mapping[Repeat, object]) -> dict[str, Any]:
    """Return the cells that say how many trainings there are, and what an interval is over."""
    trainings = len({seed for seed, _ in repeats if seed is not None})
    several = "trainings and queries" if trainings > 1 else "queries"
    return {"trainings": trainings or None, "interval": several}


def as_ended(facts: Facts, *models: Path) -> Facts:
    """Mark facts as unfinished if one of these trainings is; a model that a dry run has not made
    changes nothing.
    """
    unfinished = facts.unfinished or any(ending_at(model).unfinished for model in models)
    return replace(facts, unfinished=unfinished)


def ending_at(model: Path) -> Ending:
    """Return how the training of a checkpoint ended."""
    own = trained_folder(model)
    return read_log(own).ending if (own / LOG).is_file() else Ending()


def checkpoint_facts(model: Path) -> Mapping[str, Any]:
    """Return a checkpoint's own record: kind, shape, re-ranking depth."""
    return read_json(trained_folder(model) / FACTS, what="a checkpoint's facts")


def add_contents(made: Collected, collection: Collection, **cells: Any) -> None:
    """Add the numbers of a collection's passages and, by split, of its queries, judgements and
    answers.
    """
    made.add("passages", "count", len(collection), **cells)
    for split, facts in collection.split_facts.items():
        numbers = {"queries": facts.queries, "judgements": facts.qrels, "answers": facts.answers}
        for name, number in numbers.items():
            made.add(name, "count", number, split=split, **cells)


def add_rotation(made: Collected, rotated: Collection, **cells: Any) -> None:
    """Add what a rotation did to passages, by outcome, and to the answers of each split."""
    facts = rotated.manifest.content_as(Rewritten, "rotation")
    rotation = rotation_of(rotated)
    add_counts(made, rotation, facts.passages, facts.splits, **cells, test="rotated")


def check_splits(collection: Collection, splits: Sequence[str], tests: Sequence[str] = ()) -> None:
    """Check that the collection has the splits, and that test splits share no query.

    Raises:
        InputError: one of these does not hold.
    """
    if missing := [split for split in splits if split not in collection.splits]:
        raise InputError(
            f"{collection.path}: wanted the splits {', '.join(splits)}; found no "
            f"{', '.join(missing)} (there are {', '.join(collection.splits) or 'none'}); name "
            "others, or import it with all of them (SQuAD, MS MARCO: --validation-queries N)"
        )
    seen: dict[str, str] = {}
    for split in tests:
        for query_id, _ in collection.query_texts(split):
            if seen.setdefault(query_id, split) != split:
                raise InputError(
                    f"--test-split: wanted splits that share no query; found {query_id!r} in "
                    f"{seen[query_id]} and in {split}; study them separately"
                )


# queries of a run, or groups of a training set, that may be too large to read whole
LOOKED_AT = 1_000


def check_candidates(
    given: Mapping[str, Path], collection: Collection, *, large: Container[str] = ()
) -> None:
    """Check that runs, by split, fit the collection's passages and queries, and that at least one
    query is the split's.

    Only the beginning of ``large`` ones is read.

    Raises:
        InputError: an unreadable run, or one that does not fit.
    """
    for split, path in given.items():
        if split in large:
            first = islice(read_rankings(path), LOOKED_AT)
            run = Run(path.name, ((of.query_id, of.passage_ids, of.scores) for of in first))
        else:
            run = Run.from_file(path)
        check_run(run, collection, split)
        if not any(query_id in run for query_id, _ in collection.query_texts(split)):
            found = f"none among its first {len(run):,}" if split in large else "none"
            do = "check that --candidates names the split that the run was made for"
            raise bad_input(path, wanted=f"queries of split {split!r}", found=found, do=do)


def drawn_queries(qrels: Iterable[Qrel], number: int, seed: int) -> set[str]:
    """Draw ``number`` of the judged queries, whatever was retrieved for them, or all if there are
    fewer.
    """
    judged = {qrel.query_id for qrel in qrels}
    return set(drawn_order(judged, seed, "test queries")[:number])


def judgements(
    collection: Collection, tests: Sequence[str], number: int | None, seed: int
) -> list[Qrel]:
    """Return the judgements of the test splits; with a ``number``, of so many drawn queries of
    each.
    """
    chosen: list[Qrel] = []
    for split in tests:
        qrels = list(collection.qrels(split))
        drawn = None if number is None else drawn_queries(qrels, number, seed)
        chosen += [qrel for qrel in qrels if drawn is None or qrel.query_id in drawn]
    return chosen
