"""Run the contamination study: the effect of a teacher trained on the test on its students
(contaminated-distillation paper, §3–5).

    BM25 candidates → a teacher's training set, without and with the judgements of a target
    → teacher → its scores of the training candidates → students, by loss
    → every target's candidates re-ranked → measures and tests → report

Every step is restartable (``experiments.step``). All students see only the training queries and
start from the same weights. They differ in the teacher's scores and in the passages that it ranks
high, which are their negatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import Trial, check_candidates
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.contamination.measured import ContaminationStudy, measure_contamination
from positionbias.papers.contamination.settings import ContaminationSettings, Distillation

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
    """
    return _Study(collection, settings, workspace).run()


class _Taught(NamedTuple):
    """A teacher: the target that contaminated it ("": none), and its scores of the training
    candidates.
    """

    source: str
    trial: Trial
    scores: Path


class _Study:
    def __init__(
        self, collection: Collection, settings: ContaminationSettings, workspace: Workspace
    ) -> None:
        self.collection, self.settings, self.workspace = collection, settings, workspace
        self._check()
        self.runs = {split: self._candidates(split) for split in settings.splits}
        held_out = settings.validation
        self.validation = None if held_out is None else (self.runs[held_out], held_out)
        # candidates of the training queries, all or some
        self.training, number = self.runs[settings.source], settings.train_queries
        self.groups = self._positives(settings.source, settings.relevant_from)  # about, ordinary
        if number is not None:
            self.training = workspace.some_queries(
                settings.source, self.training, number, seed=settings.seed
            )
            part = min(1.0, number / len(collection.queries(settings.source)))
            self.groups = max(1, round(self.groups * part))

    def _check(self) -> None:
        settings, there = self.settings, self.collection.splits
        if missing := [split for split in settings.splits if split not in there]:
            raise InputError(
                f"{self.collection.path}: wanted the splits {', '.join(settings.splits)}; found no "
                f"{', '.join(missing)} (there are {', '.join(there) or 'none'}); where a target is "
                "another collection, join them first: posbias collection merge --apart"
            )
        level = settings.target_relevant_from
        for target in settings.targets:
            if not self._positives(target, level):
                raise InputError(
                    f"{self.collection.path}: wanted passages judged {level} or higher in target "
                    f"{target!r}; found none that is in the collection; give a lower "
                    "--target-relevant-from, or another of --target"
                )
        check_candidates(settings.candidates, self.collection)

    def _positives(self, split: str, relevant_from: int) -> int:
        """Count the pairs of a query and a relevant passage in the collection."""
        passages = [
            qrel.passage_id for qrel in self.collection.qrels(split) if qrel.grade >= relevant_from
        ]
        absent = set(self.collection.absent(sorted(set(passages))))
        return sum(passage_id not in absent for passage_id in passages)

    def _candidates(self, split: str) -> Path:
        settings = self.settings
        depth = settings.depth if split in settings.targets else settings.train_depth
        return settings.candidates.get(split) or self.workspace.candidates(
            self.collection.path, split, depth, settings.bm25
        )

    def run(self) -> Path:
        """Run all steps in order; one seed after another, and one teacher with all its students, so
        that an interrupted study has whole comparisons.
        """
        settings, workspace = self.settings, self.workspace
        trainsets = {source: self._trainset(source) for source in ("", *settings.contaminated)}
        taught: list[_Taught] = []

        def students() -> Iterator[tuple[_Taught, ModelSettings, Distillation]]:
            asked = product(settings.training_seeds, trainsets.items())
            for teacher in workspace.side_by_side(self._teacher, asked, [settings.teacher]):
                taught.append(teacher)
                yield from product([teacher], settings.models, settings.losses)

        trials = list(workspace.side_by_side(self._student, students(), settings.models))
        study = ContaminationStudy(
            collection=self.collection.path,
            targets=settings.targets,
            candidates={target: self.runs[target] for target in settings.targets},
            trainsets=trainsets,
            trials=[*(teacher.trial for teacher in taught), *trials],
            relevant_from=settings.target_relevant_from,
            seed=settings.seed,
        )
        return workspace.results(
            f"Contamination: {', '.join(settings.targets)} of {self.collection.name}",
            "study contamination",
            {**settings.record(), "collection": dict(self.collection.manifest.settings)},
            study.inputs(),
            lambda: measure_contamination(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _trainset(self, source: str) -> Path:
        settings, name = self.settings, source or "clean"
        wanted = ContaminatedSettings(
            split=settings.source,
            targets=(source,) if source else (),
            group_size=settings.teacher.training.group_size,
            relevant_from=settings.relevant_from,
            target_relevant_from=settings.target_relevant_from,
            train_depth=settings.train_depth,
            seed=settings.seed,
        )
        place = self.workspace.folder / "trainsets" / name

        def make() -> None:
            write_contaminated_set(place, self.collection, self.training, wanted, overwrite=True)

        inputs = {"collection": self.collection.path, "candidates": self.training}
        return self.workspace.make(f"trainset-{name}", place, wanted.record(), inputs, make)

    def _teacher(self, wanted: tuple[int, tuple[str, Path]]) -> _Taught:
        settings, model = self.settings, self.settings.teacher
        seed, (source, trainset) = wanted
        plan = model.plan(
            trainset=trainset,
            seed=seed,
            validation=self.validation,
            relevant_from=settings.relevant_from,
            # otherwise a contaminated teacher would start from other weights
            words_of=(settings.source, *settings.contaminated),
        )
        name = f"teacher-{model.kind}-{source or 'clean'}-seed-{seed}"
        place = self.workspace.trained(name, self.collection.path, plan)
        scores = self.workspace.taught(
            place,
            self.collection.path,
            settings.source,
            self.training,
            settings.train_depth,
            relevant_from=settings.relevant_from,
        )
        facts = Facts(model=model.kind, role="teacher", loss=str(plan.training.loss), source=source)
        return _Taught(source, Trial(model.kind, facts, seed, self._reranked(place), place), scores)

    def _student(self, wanted: tuple[_Taught, ModelSettings, Distillation]) -> Trial:
        teacher, model, way = wanted
        settings, source, seed = self.settings, teacher.source, teacher.trial.seed
        plan = model.plan(
            teacher_scores=teacher.scores,
            teacher_depth=settings.train_depth,
            split=settings.source,
            training=way.training(model.training, self.groups),
            seed=seed,
            validation=self.validation,
            relevant_from=settings.relevant_from,
        )
        name = f"student-{model.kind}-{way.loss}-{source or 'clean'}-seed-{seed}"
        place = self.workspace.trained(name, self.collection.path, plan)
        facts = Facts(model=model.kind, role="student", loss=way.loss, source=source)
        return Trial(model.kind, facts, seed, self._reranked(place), place)

    def _reranked(self, model: Path) -> dict[str, Path]:
        """Return each target's candidates in a model's order, all of them."""
        return {
            target: self.workspace.reranked(
                model, self.collection.path, target, self.runs[target], depth=self.settings.depth
            )
            for target in self.settings.targets
        }
