"""Settings of the contamination study: splits, teacher, students, ways of distillation; and its
command.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import REQUIRED, check_once, check_settings, setting
from positionbias.core.shared_settings import (
    RelevantFrom,
    StopBy,
    TargetRelevantFrom,
    TrainDepth,
    TrainingSplit,
)
from positionbias.experiments.models import ModelSettings, StudySettings
from positionbias.firststage.settings import PRESETS, Bm25Settings
from positionbias.models.kinds import begins_with, scores_log_probabilities
from positionbias.papers import StudyCommand
from positionbias.training.config import LOSSES, TrainConfig, refuse_validating

RATE = 1e-5  # learning rate of models over an encoder (contaminated-distillation paper, §4)
FORM = "LOSS[:GROUP[:PART]]"


@dataclass(frozen=True, slots=True)
class Distillation:
    """One way of distillation: a loss, over groups of ``group_size`` passages (None: the student's
    own), for a part of the student's epochs or steps (in the paper half, for RankNet)."""

    loss: str
    group_size: int | None = None
    part: float = 1.0

    def __post_init__(self) -> None:
        fitting = [name for name, kind in LOSSES.items() if kind.teacher]
        sound = (self.group_size is None or self.group_size >= 2) and 0 < self.part <= 1
        if self.loss not in fitting or not sound:
            raise SettingError(
                f"--loss: wanted one that reads a teacher's scores ({', '.join(fitting)}), groups "
                f"of 2 or more, and a part of the steps above 0, at most 1; found {self}; change it"
            )

    def __str__(self) -> str:
        parts = [self.loss, f"{self.group_size or ''}", f"{self.part:g}" if self.part < 1 else ""]
        return ":".join(parts).rstrip(":")

    @staticmethod
    def parse(text: str) -> Distillation:
        """Read ``kl``, ``ranknet:8``, ``ranknet:8:0.5``.

        Raises:
            SettingError: another form.
        """
        loss, _, more = text.partition(":")
        size, _, part = more.partition(":")
        try:
            numbers = int(size) if size else None, float(part) if part else 1.0
        except ValueError as error:
            raise SettingError(
                f"--loss: wanted {FORM}, as ranknet:8:0.5; found {text!r}; write it so"
            ) from error
        return Distillation(loss, *numbers)

    def training(self, of: TrainConfig, groups: int) -> TrainConfig:
        """Return a student's training settings with this loss, over so many groups."""
        of = replace(of, loss=self.loss, group_size=self.group_size or of.group_size)
        if self.part == 1:
            return of
        return replace(of, max_steps=ceil(self.part * of.steps(groups)), epochs=None)


DISTILLATIONS = (Distillation("margin_mse"), Distillation("kl"), Distillation("ranknet", 8, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationSettings(StudySettings):
    """Settings of the study; all splits belong to one collection (merged, if they are of several
    corpora).

    ``models`` are the students. A target's passages are relevant, and positives of a contaminated
    teacher, from grade ``target_relevant_from`` on; those of the source, and of ``validation``,
    from ``relevant_from``. ``train_queries`` (None: all, as in the paper) bounds most of the
    study's work.
    """

    targets: tuple[str, ...] = setting(
        REQUIRED,
        "Test queries, judged; repeatable.",
        flags=("--target",),
        metavar="SPLIT",
        shown=True,
    )
    teacher: ModelSettings
    source: TrainingSplit = "train"
    contaminating: tuple[str, ...] | None = setting(
        None,
        "A target whose judgements contaminate a teacher; repeatable.",
        flags=("--contaminate",),
        metavar="SPLIT",
        absent="each target, a teacher for each",
        shown=True,
    )
    losses: tuple[Distillation, ...] = setting(
        DISTILLATIONS,
        "Loss of the students, with a group size that replaces --group-size, and a part of the "
        "steps; repeatable.",
        flags=("--loss",),
        metavar=FORM,
        shown=True,
    )
    relevant_from: RelevantFrom = 1
    target_relevant_from: TargetRelevantFrom = 2
    train_queries: int | None = setting(
        None,
        "Training queries that teachers are trained on, and score for students; drawn by --seed.",
        least=1,
        absent="all",
    )
    train_depth: TrainDepth = 100
    validation: StopBy = None
    bm25: Bm25Settings = PRESETS["robertson"]

    def __post_init__(self) -> None:
        if self.validation is None:
            refuse_validating("no --validation-split")
        check_settings(self)
        if self.contaminating is None:
            object.__setattr__(self, "contaminating", self.targets)
        self._check_lists()
        # a model that scores by log-probability has a loss of its own
        logs = scores_log_probabilities(self.teacher.kind, self.teacher.model)
        loss = self.teacher.training.loss or (None if logs else "lce")
        given = replace(self.teacher, training=replace(self.teacher.training, loss=loss))
        object.__setattr__(self, "teacher", self._trained(given))
        object.__setattr__(self, "models", tuple(map(self._trained, self.models)))
        for student in self.models:
            if student.training.loss is not None:
                found = f"{student.training.loss} of {student.kind}"
                raise SettingError(
                    f"--set loss: wanted none of a student; found {found}; give --loss instead"
                )
            for way in self.losses:  # report conflicts before the study begins
                student.plan(teacher_scores=Path(), training=way.training(student.training, 1))

    def _check_lists(self) -> None:
        check_once(
            {
                "--target": self.targets,
                "--contaminate": self.contaminated,
                "--models": [model.kind for model in self.models],
                "--loss": [way.loss for way in self.losses],
            }
        )
        if len(set(self.splits)) < len(self.splits):
            raise SettingError(
                "--source, --target, --validation-split: wanted different splits; found "
                f"{', '.join(self.splits)}; merging joins splits with the same name: posbias "
                f"collection merge "
                "--apart keeps them separate"
            )
        for flag, given, known in (
            ("--contaminate", self.contaminated, self.targets),
            ("--candidates", self.candidates, self.splits),
        ):
            if unknown := [split for split in given if split not in known]:
                raise SettingError(
                    f"{flag}: wanted splits among {', '.join(known)}; found {unknown[0]!r}; name "
                    "one of these"
                )

    def _trained(self, model: ModelSettings) -> ModelSettings:
        """Complete a model's training: by default one epoch, as in the paper, and for an encoder
        the paper's learning rate.
        """
        given = model.training
        rate, epochs = given.learning_rate, given.epochs
        if rate is None and begins_with(model.kind) == "encoder":
            rate = RATE
        if epochs is None and given.max_steps == TrainConfig().max_steps:
            epochs = 1
        training = replace(given, epochs=epochs, learning_rate=rate, probe_passages=0)
        return replace(model, training=replace(training, most_depth=self.train_depth))

    @property
    def contaminated(self) -> tuple[str, ...]:
        """The targets that contaminate a teacher."""
        return self.contaminating or ()

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits of the study."""
        return (self.source, *self.targets, *([self.validation] if self.validation else []))

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        plain = ("source", "relevant_from", "target_relevant_from", "train_queries", "train_depth")
        return {
            **{
                name: getattr(self, name)
                for name in (*plain, "depth", "validation", "seed", "seeds")
            },
            **{name: list(getattr(self, name)) for name in ("targets", "contaminating")},
            "teacher": self.teacher.record(),
            "students": [student.record() for student in self.models],
            "losses": [asdict(way) for way in self.losses],
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "bm25": asdict(self.bm25),
        }


COMMAND = StudyCommand(
    settings=ContaminationSettings,
    teacher="bert_cat",
    lasting="1, or as many as --max-steps takes",
    # as in the paper; a model without an encoder keeps its own learning rate
    defaults={
        "models": ("bert_cat", "bert_dot"),
        "schedule": "linear",
        "warmup_share": 0.1,
        **asdict(PRESETS["robertson"]),
    },
    quick="only KL, 2,000 training queries, 10 candidates per query",
    quick_sizes={"losses": ("kl",), "train_queries": 2_000, "depth": 10, "train_depth": 10},
    quick_steps=False,
    help="Does a teacher that was trained on a test of COLLECTION make its students look better "
    "on it?"
    r"""

Trains teachers without and with the judgements of each target, lets each score the training
queries' candidates, trains students on those scores only, and re-ranks every target's candidates
with all models. Merge targets of other corpora with the source first (posbias collection merge
--apart).

    posbias study contamination msmarco --target dl19 --target dl20 --encoder minilm \
            --out contaminated
    posbias study contamination planted --target test --target validation \
            --set target_relevant_from=1 --encoder small-bert --models tk …
""",
)
