"""Settings of the contamination study (splits, teacher, students, ways of distillation, levels),
and its command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Literal, NamedTuple

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import (
    Panel,
    check_once,
    check_settings,
    declared_setting,
    refuse_idle,
    required_setting,
    seed_setting,
    setting,
)
from positionbias.experiments.model_options import CANDIDATES, SEEDS
from positionbias.experiments.model_settings import ModelSettings
from positionbias.firststage.settings import PRESETS, Bm25Settings
from positionbias.models.kinds import KINDS, begins_with, scores_log_probabilities
from positionbias.papers import StudyCommand
from positionbias.results.result import Facts
from positionbias.training.config import LOSSES, TrainConfig, refuse_validating

__all__ = ["CLEAN", "COMMAND", "DISTILLATIONS", "ContaminationSettings", "Distillation", "Source"]

RATE = 1e-5  # learning rate of models over an encoder (contaminated-distillation paper, §4)
FORM = "LOSS[:GROUP[:PART]]"


class Source(NamedTuple):
    """A teacher's data beside the training queries: a ``share`` of the queries of a target, or none
    if that is empty.
    """

    target: str
    share: float

    @property
    def name(self) -> str:
        """The name in file names."""
        return (
            "clean"
            if not self.target
            else self.target + (f"-{self.share:g}" if self.share < 1 else "")
        )

    def facts(self, role: str, model: str, loss: str) -> Facts:
        """Return the facts of a teacher trained on this data, or of a student of such a teacher."""
        share = self.share if self.target else None
        return Facts(model=model, role=role, loss=loss, source=self.target, share=share)


CLEAN = Source("", 0.0)


@dataclass(frozen=True, slots=True)
class Distillation:
    """One way of distillation: a loss, over groups of ``group_size`` passages (None: the student's
    own), for a part of the student's epochs or steps (in the paper half, for RankNet)."""

    loss: str
    group_size: int | None = None
    part: float = 1.0

    def __post_init__(self) -> None:
        fitting = [name for name, kind in LOSSES.items() if kind.teacher]
        if self.loss not in fitting:
            raise SettingError(
                f"--loss: wanted one that reads a teacher's scores ({', '.join(fitting)}); found "
                f"{self.loss!r}; give one of these"
            )
        if self.group_size is not None and self.group_size < 2:
            raise SettingError(
                "--loss: wanted groups of 2 passages or more; found "
                f"{self.loss}:{self.group_size}; raise it"
            )
        if not 0 < self.part <= 1:
            raise SettingError(
                f"--loss: wanted a part of the steps above 0, at most 1; found {self.part:g}; give "
                "another"
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
        loss, *more = text.split(":")
        try:
            if len(more) > 2:
                raise ValueError(text)
            return Distillation(
                loss, int(more[0]) if more else None, float(more[1]) if len(more) > 1 else 1.0
            )
        except ValueError as error:
            raise SettingError(
                f"--loss: wanted {FORM}, as ranknet:8:0.5; found {text!r}; write it so"
            ) from error

    def training(self, of: TrainConfig, groups: int) -> TrainConfig:
        """Return a student's training settings with this loss, over so many groups."""
        of = replace(of, loss=self.loss, group_size=self.group_size or of.group_size)
        return (
            of
            if self.part == 1
            else replace(of, max_steps=ceil(self.part * of.steps(groups)), epochs=None)
        )


DISTILLATIONS = (Distillation("margin_mse"), Distillation("kl"), Distillation("ranknet", 8, 0.5))
_DOSED_LOSS = "kl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationSettings:
    """Settings of the study; all splits belong to one collection (merged, if they are of several
    corpora).

    ``models`` are the students. A target's passages are relevant, and positives of a contaminated
    teacher, from grade ``target_relevant_from`` on; those of the source, and of ``validation``,
    from ``relevant_from``. Smaller ``shares`` are those of ``dose_target``, and their student is
    ``dose_student`` by ``dose_loss``. ``teacher_queries`` and ``student_queries`` (None: all, as in
    the paper) bound most of the study's work. ``candidates`` are runs to use instead of BM25's, by
    split. ``seeds`` are those of the trainings, ``seed`` that of the training sets and the
    bootstrap.
    """

    PANEL = Panel.ADVANCED

    targets: tuple[str, ...] = required_setting(
        "Test queries, judged; may be given again.",
        flags=("--target",),
        metavar="SPLIT",
        panel=Panel.BASIC,
    )
    teacher: ModelSettings = required_setting("The teacher's model.", hidden=True)
    models: tuple[ModelSettings, ...]
    source: str = setting("train", "Training queries.", metavar="SPLIT", panel=Panel.BASIC)
    contaminating: tuple[str, ...] | None = setting(
        None,
        "A target whose judgements contaminate a teacher; may be given again.",
        flags=("--contaminate",),
        metavar="SPLIT",
        absent="each target, a teacher for each",
        panel=Panel.BASIC,
    )
    losses: tuple[Distillation, ...] = setting(
        DISTILLATIONS,
        "Loss of the students, with a group size that replaces --group-size, and a part of the "
        "steps; may be given again.",
        flags=("--loss",),
        metavar=FORM,
        panel=Panel.BASIC,
    )
    seeds: tuple[int, ...] = declared_setting((1,), SEEDS)
    shares: tuple[float, ...] = setting(
        (0.25, 0.5),
        "Teachers contaminated with a share of one target's queries, for the curve; may be given "
        "again.",
        flags=("--share",),
        metavar="0..1",
        panel=Panel.BASIC,
    )
    doses: bool = setting(True, "No --share, no curve.", flags=("--no-doses",))
    dose_target: str | None = setting(
        None, "The target of the curve.", metavar="SPLIT", absent="the first to contaminate with"
    )
    dose_student: str | None = setting(
        None, "The student of the curve.", choices=tuple(KINDS), absent="the first"
    )
    dose_loss: str | None = setting(None, "Its loss.", absent="kl, or the first")
    negatives_from: Literal["teacher", "candidates"] = setting(
        "teacher",
        "Source of a student's negatives: the top of its teacher's order, as in the paper, or the "
        "candidates, the same for all teachers.",
        choices=("teacher", "candidates"),
        wanted="teacher or candidates",
        do="give one of the two",
    )
    relevant_from: int = setting(
        1,
        "Grade from which a passage is relevant to a training or validation query.",
        least=1,
        metavar="GRADE",
    )
    target_relevant_from: int = setting(
        2,
        "Grade from which a passage is relevant to a test query, in measures and in contaminated "
        "training sets.",
        least=1,
        metavar="GRADE",
    )
    teacher_queries: int | None = setting(
        None,
        "Training queries on whose judgements teachers are trained, drawn by --seed.",
        least=1,
        absent="all",
    )
    student_queries: int | None = setting(
        None,
        "Training queries that teachers score for students, drawn by --seed.",
        least=1,
        absent="all",
    )
    train_depth: int = setting(
        100,
        "Candidates per training query, for a teacher to score and as source of negatives.",
        least=1,
    )
    depth: int = setting(100, "Candidates per test query; all are re-ranked.", least=1)
    candidates: Mapping[str, Path] = declared_setting({}, CANDIDATES)
    validation: str | None = setting(
        None,
        "Queries to validate on, so that trainings stop early.",
        flags=("--validation-split",),
        metavar="SPLIT",
        absent="none, all epochs",
    )
    bm25: Bm25Settings = PRESETS["robertson"]
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        if not self.doses:
            of_curve = ("--share", "--dose-target", "--dose-student", "--dose-loss")
            refuse_idle(of_curve, wanted="a curve", found="--no-doses")
            object.__setattr__(self, "shares", ())
        if 0 in self.shares:
            refuse_idle(["--share"], wanted="shares above 0", found="0, the clean teacher")
        if self.validation is None:
            refuse_validating("no --validation-split")
        self._check_lists()
        self._check_splits()
        check_settings(self)
        if self.contaminating is None:
            object.__setattr__(self, "contaminating", self.targets)
        self._settle_dose()
        students = tuple(self._trained(student) for student in self.models)
        for student in students:
            if student.training.loss is not None:
                found = f"{student.training.loss} of {student.kind}"
                raise SettingError(
                    f"--set loss: wanted none of a student; found {found}; give --loss instead"
                )
        logs = scores_log_probabilities(self.teacher.kind, self.teacher.model)
        own = self.teacher.training.loss or (
            None if logs else "lce"
        )  # a model that scores by log-probability has a loss of its own
        teacher = self._trained(
            replace(self.teacher, training=replace(self.teacher.training, loss=own))
        )
        object.__setattr__(self, "teacher", teacher)
        object.__setattr__(self, "models", students)
        for student in students:  # report conflicts before the study begins
            for way in self.losses:
                student.plan(teacher_scores=Path(), training=way.training(student.training, 1))

    def _check_lists(self) -> None:
        check_once({"--target": self.targets, "--seeds": self.seeds})
        check_once(
            {"--models": [m.kind for m in self.models], "--loss": [way.loss for way in self.losses]}
        )
        if len(set(self.shares)) < len(self.shares) or not all(
            0 <= share <= 1 for share in self.shares
        ):
            found = ", ".join(f"{share:g}" for share in self.shares)
            raise SettingError(
                "--share: wanted shares of a target's queries from 0 to 1, each once; found "
                f"{found}; change them"
            )

    def _check_splits(self) -> None:
        if self.source in self.targets:
            raise SettingError(
                f"--source, --target: wanted different splits; found {self.source!r} as both; "
                "merging joins splits with the same name: posbias merge --apart keeps them separate"
            )
        if self.validation in (self.source, *self.targets):
            raise SettingError(
                "--validation-split: wanted a split beside the source and the targets; found "
                f"{self.validation!r}; give another, or leave it out"
            )
        known = ", ".join(self.targets)
        for flag, splits in (
            ("--contaminate", self.contaminating or ()),
            ("--dose-target", (self.dose_target,) if self.dose_target else ()),
        ):
            if strange := [split for split in splits if split not in self.targets]:
                do = or_closest(strange[0], self.targets, "name one of these")
                raise SettingError(
                    f"{flag}: wanted targets of the study ({known}); found {strange[0]!r}; {do}"
                )
        if len(set(self.contaminating or ())) < len(self.contaminating or ()):
            found = ", ".join(self.contaminating or ())
            raise SettingError(f"--contaminate: wanted each target once; found {found}; drop one")
        if unused := [split for split in self.candidates if split not in self.splits]:
            found = ", ".join(self.splits)
            do = or_closest(unused[0], self.splits, "name one of these")
            raise SettingError(
                f"--candidates: wanted splits of the study ({found}); found {unused[0]!r}; {do}"
            )

    def _settle_dose(self) -> None:
        """Choose the target of the levels if none is given, and check that it is in the study."""
        assert self.contaminating is not None
        kinds, losses = [model.kind for model in self.models], [way.loss for way in self.losses]
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
                do = or_closest(value, known, "name one of these")
                raise SettingError(
                    f"{flag}: wanted one of the study's own ({among}); found {value!r}; {do}"
                )
            object.__setattr__(self, name, own if value is None else value)
        if self.shares and not self.contaminating:
            raise SettingError(
                "--share: wanted a target to contaminate with; found none; give --contaminate"
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
        return replace(
            model,
            training=replace(
                given,
                epochs=epochs,
                most_depth=self.train_depth,
                learning_rate=rate,
                probe_passages=0,
            ),
        )

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits of the study."""
        return (self.source, *self.targets, *([self.validation] if self.validation else []))

    def sources(self) -> list[Source]:
        """Return the teachers' contaminations: none, each target whole, then the levels. Share 0 is
        the clean teacher, share 1 that of the whole target."""
        doses = [
            Source(str(self.dose_target), share) for share in sorted(self.shares) if 0 < share < 1
        ]
        return [CLEAN, *(Source(target, 1.0) for target in self.contaminating or ()), *doses]

    def taught(self, source: Source) -> list[tuple[ModelSettings, Distillation]]:
        """Return the students of one teacher with their losses; for a level only one."""
        whole = source == CLEAN or source.share == 1
        return [
            (student, way)
            for student in self.models
            for way in self.losses
            if whole or (student.kind, way.loss) == (self.dose_student, self.dose_loss)
        ]

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        plain = [
            "source",
            "dose_target",
            "dose_student",
            "dose_loss",
            "negatives_from",
            "relevant_from",
            "target_relevant_from",
        ]
        plain += ["student_queries", "train_depth", "depth", "validation", "seed"]
        return {
            **{name: getattr(self, name) for name in plain},
            **{
                name: list(getattr(self, name))
                for name in ("targets", "contaminating", "seeds", "shares")
            },
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
    quick=(
        "only KL, no curve by share, 3,000 training queries for teachers and 1,000 for students, "
        "10 candidates per query"
    ),
    quick_sizes={
        "losses": ("kl",),
        "shares": (),
        "teacher_queries": 3_000,
        "student_queries": 1_000,
        "depth": 10,
        "train_depth": 10,
    },
    quick_steps=False,
    help="Does a teacher that was trained on a test of COLLECTION make its students look better "
    "on it?"
    r"""

Trains teachers without and with the judgements of each target, lets each score the training
queries' candidates, trains students on those scores only, and re-ranks every target's candidates
with all models. Merge targets of other corpora with the source first (posbias merge --apart).

    posbias study contamination msmarco --target dl19 --target dl20 --encoder minilm \
            --out contaminated
    posbias study contamination planted --target test --target validation \
            --target-relevant-from 1 --encoder small-bert --models tk …
""",
)
