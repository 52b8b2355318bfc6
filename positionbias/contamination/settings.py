"""Settings of the test of a suspicion, and of contaminated training sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.places import Place
from positionbias.core.settings import REQUIRED, Seeded, check_once, check_settings, setting
from positionbias.core.shared_settings import (
    Measure,
    RelevantFrom,
    Split,
    TargetRelevantFrom,
    TrainDepth,
)
from positionbias.models.kinds import ReadAs


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Suspected models, trainings known to be clean, and the queries to test them on. A system is a
    model that re-ranks the candidates, or its rankings: files with the same tag are joined.
    """

    models: Sequence[Place] = setting(
        (),
        "The model, as for posbias rerank, or its rankings of both sets of queries; "
        "repeatable to screen several together.",
        flags=("--model",),
        metavar="MODEL",
        place="read",
    )
    controls: Sequence[Place] = setting(
        (),
        "A training with the model's architecture and settings that is known to be clean, or its "
        "rankings; give at least 2, better 8.",
        flags=("--control",),
        metavar="MODEL",
        place="read",
    )
    candidates: Sequence[Place] = setting(
        (),
        "Candidates to re-rank, of both sets of queries; repeatable.",
        metavar="RUN",
        place="read",
        absent="none, if all systems are given by rankings",
    )
    split: str = setting("test", "The public queries.", metavar="SPLIT")
    fresh: str = setting(
        REQUIRED, "Judged queries that the model cannot have seen.", metavar="SPLIT"
    )
    kind: ReadAs = None

    def __post_init__(self) -> None:
        check_settings(self)
        check_once({"--model": self.models})
        if self.controls:
            check_once({"--control": self.controls})
        if self.fresh == self.split:
            raise SettingError(
                f"--split, --fresh: wanted two splits; found {self.split!r} as both; change one"
            )


@dataclass(frozen=True, slots=True)
class SuspectSettings(Seeded):
    """Settings of the test of a suspicion; ``seed`` keys the simulation of its error rates."""

    measure: Measure = "nDCG@10"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminatedSettings(Seeded):
    """Settings of a set: the training split, and the test splits.

    Raises:
        SettingError: a setting outside its range, a target twice, or the training split as a
            target.
    """

    split: Split = "train"
    targets: tuple[str, ...] = setting(
        (),
        "A split whose judgements to train on; repeatable. Without one the set is clean.",
        flags=("--contaminate",),
        metavar="SPLIT",
    )
    group_size: int = setting(
        2, "Passages per group: one positive, the others negatives.", least=2, shown=False
    )
    relevant_from: RelevantFrom = 1
    target_relevant_from: TargetRelevantFrom = 2
    train_depth: TrainDepth = 100

    def __post_init__(self) -> None:
        check_settings(self)
        if self.targets:
            check_once({"--contaminate": self.targets})
        if self.split in self.targets:
            raise SettingError(
                f"--contaminate, --split: wanted different splits; found {self.split!r} as both; "
                "merging joins splits of the same name: keep them apart with posbias collection "
                "merge --apart"
            )

    def record(self) -> JsonObject:
        """Return the settings for a manifest."""
        return {**asdict(self), "targets": list(self.targets)}
