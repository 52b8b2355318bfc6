"""Run the contamination study: the effect of a teacher trained on the test on its students
(contaminated-distillation paper, §3–5).

    BM25 candidates → a teacher's training set, without and with the judgements of a target
    → teacher → its scores of the training candidates → students, by loss
    → every target's candidates re-ranked → measures, tests, inflation by share → report

Every step is restartable (``experiments.step``). All students see only the training queries and
start from the same weights. They differ in the teacher's scores and, if negatives come from its
order, in the passages that it ranks high.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.experiments.candidates import check_candidates
from positionbias.experiments.measured import Trial
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.contamination.measured import ContaminationStudy, measure_contamination
from positionbias.papers.contamination.settings import (
    CLEAN,
    ContaminationSettings,
    Distillation,
    Source,
)

__all__ = ["NOTES", "run_study"]

NOTES = (
    (
        "The training sets are drawn once, by the study's seed; a training's seed draws its first "
        "weights and orders its groups."
    ),
    (
        "Students are trained on the training queries alone: no judgement of a target reaches them "
        "but by their teacher's scores."
    ),
    (
        "A target's judgements are also more training data: what they teach in general shows on "
        "the other targets, which are the control."
    ),
    (
        "Every candidate of a target is re-ranked, also where validation tuned a depth: systems "
        "are compared at one depth."
    ),
    (
        "A teacher over words counts those of all targets' queries too, so that all teachers begin "
        "with the same weights."
    ),
)


def run_study(
    collection: Collection, settings: ContaminationSettings, workspace: Workspace
) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: a missing split, a target without a positive, given candidates of another
            collection, or a set that cannot be built.
        SettingError: a share without a query.
    """
    return _Study(collection, settings, workspace).run()


class _Taught(NamedTuple):
    """A teacher: its checkpoint and its scores of the training candidates."""

    source: Source
    trial: Trial
    scores: Path


class _Student(NamedTuple):
    """A student to train, and the number of its teacher."""

    number: int
    teacher: _Taught
    model: ModelSettings
    way: Distillation


class _Study:
    def __init__(
        self, collection: Collection, settings: ContaminationSettings, workspace: Workspace
    ) -> None:
        self.collection, self.settings, self.workspace = collection, settings, workspace
        self.checksum = workspace.checksum(collection.path)
        self._check()
        self.runs = {split: self._candidates(split) for split in settings.splits}

    def _check(self) -> None:
        settings = self.settings
        if missing := [split for split in settings.splits if split not in self.collection.splits]:
            raise InputError(
                f"{self.collection.path}: wanted the splits {', '.join(settings.splits)}; found no "
                f"{', '.join(missing)} (there are {', '.join(self.collection.splits) or 'none'}); "
                "where a target is another collection, join them first: posbias merge --apart"
            )
        for target in settings.targets:
            if not self._positives(target, settings.target_relevant_from):
                raise InputError(
                    f"{self.collection.path}: wanted passages judged "
                    f"{settings.target_relevant_from} or higher in target {target!r}; found none "
                    "that is in the collection; give a lower --target-relevant-from, or another "
                    "of --target"
                )
        check_candidates(settings.candidates, self.collection)

    def _positives(self, split: str, relevant_from: int) -> int:
        """Count the pairs of a query and a relevant passage in the collection."""
        passages = [
            qrel.passage_id for qrel in self.collection.qrels(split) if qrel.grade >= relevant_from
        ]
        absent = set(self.collection.absent(sorted(set(passages))))
        return sum(passage_id not in absent for passage_id in passages)

    @cached_property
    def student_groups(self) -> int:
        """Estimate the number of groups of a student's training."""
        settings = self.settings
        groups = self._positives(settings.source, settings.relevant_from)
        every, queries = len(self.collection.queries(settings.source)), settings.student_queries
        share = 1.0 if queries is None else min(1.0, queries / every)
        return max(1, round(groups * share))

    @cached_property
    def taught(self) -> Path:
        """Return the candidates of the students' training queries."""
        return self._some(self.settings.student_queries)

    def _some(self, queries: int | None) -> Path:
        """Return the candidates of so many training queries; a smaller number is a prefix of a
        larger one.
        """
        settings, run = self.settings, self.runs[self.settings.source]
        return (
            run
            if queries is None
            else self.workspace.some_queries(settings.source, run, queries, seed=settings.seed)
        )

    def run(self) -> Path:
        """Run all steps in order."""
        settings = self.settings
        sources = settings.sources()
        trainsets = {source: self._trainset(source) for source in sources}
        trials = self._trials(trainsets)
        study = ContaminationStudy(
            collection=self.collection.path,
            targets=settings.targets,
            candidates={target: self.runs[target] for target in settings.targets},
            trainsets={(source.target, source.share): path for source, path in trainsets.items()},
            trials=trials,
            relevant_from=settings.target_relevant_from,
            seed=settings.seed,
        )
        return self.workspace.results(
            f"Contamination: {', '.join(settings.targets)} of {self.collection.name}",
            "study contamination",
            {**settings.record(), "collection": dict(self.collection.manifest.settings)},
            study.inputs(),
            lambda: measure_contamination(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _candidates(self, split: str) -> Path:
        given = self.settings.candidates.get(split)
        depth = self.settings.depth if split in self.settings.targets else self.settings.train_depth
        return (
            given
            if given is not None
            else self.workspace.candidates(self.collection.path, split, depth, self.settings.bm25)
        )

    def _trainset(self, source: Source) -> Path:
        settings = self.settings
        wanted = ContaminatedSettings(
            split=settings.source,
            targets=() if source == CLEAN else (source.target,),
            share=source.share if source != CLEAN else 1.0,
            group_size=settings.teacher.training.group_size,
            relevant_from=settings.relevant_from,
            target_relevant_from=settings.target_relevant_from,
            train_depth=settings.train_depth,
            seed=settings.seed,
        )
        place, candidates = (
            self.workspace.folder / "trainsets" / source.name,
            self._some(settings.teacher_queries),
        )

        def make() -> None:
            write_contaminated_set(place, self.collection, candidates, wanted, overwrite=True)

        inputs = {"collection": self.checksum, "candidates": self.workspace.checksum(candidates)}
        name = f"{self.workspace.prefix}trainset-{source.name}"
        return self.workspace.steps.make(
            name, place, {**wanted.record(), "seed": wanted.seed}, inputs, make
        )

    def _trials(self, trainsets: Mapping[Source, Path]) -> list[Trial]:
        """Train one seed after another, and one teacher with all its students, so that an
        interrupted study has whole comparisons.
        """
        settings, trials = self.settings, list[list[Trial]]()
        asked = (
            (source, trainset, seed)
            for seed in settings.seeds
            for source, trainset in trainsets.items()
        )
        teachers = self.workspace.side_by_side(self._teacher, asked, [settings.teacher])

        def students() -> Iterator[_Student]:
            for number, teacher in enumerate(teachers):
                trials.append([teacher.trial])
                yield from (
                    _Student(number, teacher, *one) for one in settings.taught(teacher.source)
                )

        for number, trial in self.workspace.side_by_side(
            self._student, students(), settings.models
        ):
            trials[number].append(trial)
        return list(chain.from_iterable(trials))

    def _teacher(self, wanted: tuple[Source, Path, int]) -> _Taught:
        settings, model = self.settings, self.settings.teacher
        source, trainset, seed = wanted
        plan = model.plan(
            trainset=trainset,
            seed=seed,
            validation=self._validation,
            relevant_from=settings.relevant_from,
            words_of=(
                settings.source,
                *(settings.contaminating or ()),
            ),  # otherwise a contaminated teacher would start from other weights
        )
        name = f"teacher-{model.kind}-{source.name}-seed-{seed}"
        place = self.workspace.trained(name, self.collection.path, plan)
        scores = self.workspace.taught(
            place,
            self.collection.path,
            settings.source,
            self.taught,
            settings.train_depth if settings.negatives_from == "teacher" else None,
            relevant_from=settings.relevant_from,
        )
        facts = source.facts("teacher", model.kind, str(plan.training.loss))
        return _Taught(source, Trial(model.kind, facts, seed, self._reranked(place), place), scores)

    def _student(self, wanted: _Student) -> tuple[int, Trial]:
        number, teacher, model, way = wanted
        settings, source, seed = self.settings, teacher.source, teacher.trial.seed
        negatives = self.taught if settings.negatives_from == "candidates" else None
        plan = model.plan(
            teacher_scores=teacher.scores,
            teacher_depth=settings.train_depth if negatives is None else None,
            candidates=negatives,
            split=settings.source,
            training=way.training(model.training, self.student_groups),
            seed=seed,
            validation=self._validation,
            relevant_from=settings.relevant_from,
        )
        name = f"student-{model.kind}-{way.loss}-{source.name}-seed-{seed}"
        place = self.workspace.trained(name, self.collection.path, plan)
        facts = source.facts("student", model.kind, way.loss)
        return number, Trial(model.kind, facts, seed, self._reranked(place), place)

    @property
    def _validation(self) -> tuple[Path, str] | None:
        split = self.settings.validation
        return None if split is None else (self.runs[split], split)

    def _reranked(self, model: Path) -> dict[str, Path]:
        """Return each target's candidates in a model's order, all of them."""
        return {
            target: self.workspace.reranked(
                model, self.collection.path, target, self.runs[target], depth=self.settings.depth
            )
            for target in self.settings.targets
        }
