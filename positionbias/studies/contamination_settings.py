"""What a contamination study is run with: splits, teacher, students, ways of distillation, doses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.firststage.settings import PRESETS, Bm25Settings
from positionbias.models.kinds import begins_with, scores_log_probabilities
from positionbias.studies.model_settings import ModelSettings
from positionbias.training.config import LOSSES, TrainConfig

__all__ = ["CLEAN", "DISTILLATIONS", "ContaminationSettings", "Distillation", "Source"]

RATE = 1e-5  # of models over an encoder (contaminated-distillation paper, §4)
FORM = "LOSS[:GROUP[:PART]]"


class Source(NamedTuple):
    """What a teacher was trained on beside the training queries: ``share`` of the queries of a target; nothing where there is none."""

    target: str
    share: float

    @property
    def name(self) -> str:
        """As the names of files have it."""
        return "clean" if not self.target else self.target + (f"-{self.share:g}" if self.share < 1 else "")


CLEAN = Source("", 0.0)


@dataclass(frozen=True, slots=True)
class Distillation:
    """How a student learns from a teacher: by a loss, over groups of ``group_size`` passages (None: the student's own), for a part of the
    epochs or steps that the student would be trained for (in the paper half, for RankNet)."""

    loss: str
    group_size: int | None = None
    part: float = 1.0

    def __post_init__(self) -> None:
        fitting = [name for name, kind in LOSSES.items() if kind.teacher]
        if self.loss not in fitting:
            raise SettingError(
                f"--losses: wanted one that reads a teacher's scores ({', '.join(fitting)}); found {self.loss!r}; give one of these"
            )
        if self.group_size is not None and self.group_size < 2:
            raise SettingError(f"--losses: wanted groups of 2 passages or more; found {self.loss}:{self.group_size}; raise it")
        if not 0 < self.part <= 1:
            raise SettingError(f"--losses: wanted a part of the steps above 0, at most 1; found {self.part:g}; give another")

    @staticmethod
    def read(text: str) -> Distillation:
        """As the command line has it: ``kl``, ``ranknet:8``, ``ranknet:8:0.5``.

        Raises:
            SettingError: another form.
        """
        loss, *more = text.split(":")
        try:
            if len(more) > 2:
                raise ValueError(text)
            return Distillation(loss, int(more[0]) if more else None, float(more[1]) if len(more) > 1 else 1.0)
        except ValueError as error:
            raise SettingError(f"--losses: wanted {FORM}, as ranknet:8:0.5; found {text!r}; write it so") from error

    def training(self, of: TrainConfig, groups: int) -> TrainConfig:
        """A student's training by this loss, over so many groups."""
        of = replace(of, loss=self.loss, group_size=self.group_size or of.group_size)
        return of if self.part == 1 else replace(of, max_steps=ceil(self.part * of.steps(groups)), epochs=None)


DISTILLATIONS = (Distillation("margin_mse"), Distillation("kl"), Distillation("ranknet", 8, 0.5))
_DOSED_LOSS = "kl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationSettings:
    """What the study is run with.

    ``source`` is the split that is trained on, ``targets`` those that are tested on, of one collection (merged, where they are several
    corpora); ``contaminating`` are the targets that a teacher is contaminated with (None: each). A target's passages are relevant, and
    positives of a contaminated teacher, from grade ``target_relevant_from`` on; those of the source, and of ``validation``, from ``relevant_from``.

    ``shares`` add teachers contaminated with less of ``dose_target``, and of their students ``dose_student`` by ``dose_loss``; without them there
    is no curve. ``negatives`` of a student stand in the first ``train_depth`` of its "teacher"'s own order, as in the paper, or among all
    "candidates" of the source, the same for all teachers. Teachers are trained on the judgements of ``teacher_queries`` of the training queries, students on the
    scores of ``student_queries`` of them, drawn by ``seed`` (None: all, as in the paper): these are most of a study's work. ``depth`` is that of the targets' candidates, ``candidates`` are runs to take instead
    of BM25's, by split. With ``validation``, a split of held-out queries, trainings are stopped early. ``seeds`` are those of the
    trainings, ``seed`` that of the training sets and the bootstrap.
    """

    targets: tuple[str, ...]
    teacher: ModelSettings
    students: tuple[ModelSettings, ...]
    source: str = "train"
    contaminating: tuple[str, ...] | None = None
    losses: tuple[Distillation, ...] = DISTILLATIONS
    seeds: tuple[int, ...] = (1,)
    shares: tuple[float, ...] = ()
    dose_target: str | None = None
    dose_student: str | None = None
    dose_loss: str | None = None
    negatives: Literal["teacher", "candidates"] = "teacher"
    relevant_from: int = 1
    target_relevant_from: int = 2
    teacher_queries: int | None = None
    student_queries: int | None = None
    train_depth: int = 100
    depth: int = 100
    candidates: Mapping[str, Path] = field(default_factory=dict)
    validation: str | None = None
    bm25: Bm25Settings = PRESETS["robertson"]
    seed: int = 1

    def __post_init__(self) -> None:
        self._check_lists()
        self._check_splits()
        if self.negatives not in ("teacher", "candidates"):
            raise SettingError(f"--negatives: wanted teacher or candidates; found {self.negatives!r}; give one of the two")
        for name in ("relevant_from", "target_relevant_from", "train_depth", "depth"):
            if getattr(self, name) < 1:
                raise SettingError(f"--{name.replace('_', '-')}: wanted at least 1; found {getattr(self, name)}; raise it")
        for name in ("teacher_queries", "student_queries"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise SettingError(f"--{name.replace('_', '-')}: wanted at least 1; found {number}; raise it")
        if self.contaminating is None:
            object.__setattr__(self, "contaminating", self.targets)
        self._settle_dose()
        students = tuple(self._trained(student) for student in self.students)
        for student in students:
            if student.training.loss is not None:
                found = f"{student.training.loss} of {student.kind}"
                raise SettingError(f"--set loss: wanted none of a student; found {found}; give --losses instead")
        logs = scores_log_probabilities(self.teacher.kind, self.teacher.model)
        own = self.teacher.training.loss or (None if logs else "lce")  # what scores by log-probability has a loss of its own
        teacher = self._trained(replace(self.teacher, training=replace(self.teacher.training, loss=own)))
        object.__setattr__(self, "teacher", teacher)
        object.__setattr__(self, "students", students)
        for student in students:  # what does not go together shows before the study begins
            for way in self.losses:
                student.plan_taught(Path(), way.training(student.training, 1), seed=1)

    def _check_lists(self) -> None:
        listed: dict[str, Sequence[Any]] = {"--targets": self.targets, "--seeds": self.seeds}
        listed |= {"--models": [model.kind for model in self.students], "--losses": [way.loss for way in self.losses]}
        for flag, values in listed.items():
            if not values or len(set(values)) < len(values):
                found = ", ".join(map(str, values)) or "none"
                raise SettingError(f"{flag}: wanted at least one, each once; found {found}; give each once")
        if len(set(self.shares)) < len(self.shares) or not all(0 <= share <= 1 for share in self.shares):
            found = ", ".join(f"{share:g}" for share in self.shares)
            raise SettingError(
                f"--shares: wanted shares of a target's queries from 0 to 1, each once; found {found}; change them"
            )

    def _check_splits(self) -> None:
        if self.source in self.targets:
            raise SettingError(
                f"--source, --targets: wanted different splits; found {self.source!r} as both; in a merged collection splits of one name are "
                "one: posbias merge --apart keeps them apart"
            )
        if self.validation in (self.source, *self.targets):
            raise SettingError(
                f"--validation: wanted a split beside the source and the targets; found {self.validation!r}; give another, or leave it out"
            )
        known = ", ".join(self.targets)
        for flag, splits in (
            ("--contaminate", self.contaminating or ()),
            ("--dose-target", (self.dose_target,) if self.dose_target else ()),
        ):
            if strange := [split for split in splits if split not in self.targets]:
                raise SettingError(f"{flag}: wanted targets of the study ({known}); found {strange[0]!r}; name one of these")
        if len(set(self.contaminating or ())) < len(self.contaminating or ()):
            found = ", ".join(self.contaminating or ())
            raise SettingError(f"--contaminate: wanted each target once; found {found}; drop one")
        if unused := [split for split in self.candidates if split not in self.splits]:
            found = ", ".join(self.splits)
            raise SettingError(f"--candidates: wanted splits of the study ({found}); found {unused[0]!r}; name one of these")

    def _settle_dose(self) -> None:
        """Choose what the doses are of, where nothing says, and see that it is in the study."""
        assert self.contaminating is not None
        kinds, losses = [model.kind for model in self.students], [way.loss for way in self.losses]
        own_loss = _DOSED_LOSS if _DOSED_LOSS in losses else losses[0]
        own_target = next(iter(self.contaminating), self.targets[0])
        for name, own, known in (
            ("dose_target", own_target, self.contaminating),
            ("dose_student", kinds[0], kinds),
            ("dose_loss", own_loss, losses),
        ):
            value = getattr(self, name)
            if value is not None and value not in known:
                flag, among = f"--{name.replace('_', '-')}", ", ".join(known) or "none"
                raise SettingError(f"{flag}: wanted one of the study's own ({among}); found {value!r}; name one of these")
            object.__setattr__(self, name, own if value is None else value)
        if self.shares and not self.contaminating:
            raise SettingError("--shares: wanted a target to contaminate with; found none; give --contaminate")

    def _trained(self, model: ModelSettings) -> ModelSettings:
        """A model's training: in the paper one epoch, which is what it is where nothing else is asked for, of an encoder with its rate."""
        given = model.training
        rate, epochs = given.learning_rate, given.epochs
        if rate is None and begins_with(model.kind) == "encoder":
            rate = RATE
        if epochs is None and given.max_steps == TrainConfig().max_steps:
            epochs = 1
        return replace(
            model, training=replace(given, epochs=epochs, most_depth=self.train_depth, learning_rate=rate, probe_passages=0)
        )

    @property
    def splits(self) -> tuple[str, ...]:
        """Every split that is read."""
        return (self.source, *self.targets, *([self.validation] if self.validation else []))

    def sources(self) -> list[Source]:
        """What the teachers are contaminated with: nothing, each target whole, then the doses. A share of nothing is the clean teacher, the
        whole one that of its target."""
        doses = [Source(str(self.dose_target), share) for share in sorted(self.shares) if 0 < share < 1]
        return [CLEAN, *(Source(target, 1.0) for target in self.contaminating or ()), *doses]

    def taught(self, source: Source) -> list[tuple[ModelSettings, Distillation]]:
        """The students of one teacher, and their losses; of a dose, the one."""
        whole = source == CLEAN or source.share == 1
        return [
            (student, way)
            for student in self.students
            for way in self.losses
            if whole or (student.kind, way.loss) == (self.dose_student, self.dose_loss)
        ]

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready, files by name."""
        plain = ["source", "dose_target", "dose_student", "dose_loss", "negatives", "relevant_from", "target_relevant_from"]
        plain += ["student_queries", "train_depth", "depth", "validation", "seed"]
        return {
            **{name: getattr(self, name) for name in plain},
            **{name: list(getattr(self, name)) for name in ("targets", "contaminating", "seeds", "shares")},
            "teacher": self.teacher.record(),
            "students": [student.record() for student in self.students],
            "losses": [asdict(way) for way in self.losses],
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "bm25": asdict(self.bm25),
        }
