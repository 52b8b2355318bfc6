"""Settings of contaminated training sets and of a suspicion: models, clean models, sets of queries,
and the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.places import Place
from positionbias.core.settings import (
    Panel,
    check_settings,
    declared_setting,
    required_setting,
    seed_setting,
    setting,
)
from positionbias.models.kinds import READ_AS

__all__ = ["ContaminatedSettings", "QuerySets", "SuspectSettings", "Suspects"]


def _several(help: str, flag: str, metavar: str = "RUN", panel: Panel = Panel.BASIC) -> Any:
    return setting((), help, flags=(flag,), metavar=metavar, place="read", panel=panel)


@dataclass(frozen=True, slots=True)
class QuerySets:
    """The public queries, and those to compare them with."""

    candidates: Place = required_setting(
        "Candidates to re-rank for the public queries.", metavar="RUN", place="read"
    )
    split: str = setting("test", "The public queries.", metavar="SPLIT")
    fresh: str | None = setting(
        None, "Judged queries that the model cannot have seen.", metavar="SPLIT"
    )
    fresh_candidates: Place | None = setting(
        None,
        "Candidates of the fresh queries.",
        metavar="RUN",
        place="read",
        absent="for a paraphrase, those of the query itself",
    )
    paraphrases: Place | None = setting(
        None,
        "The fresh queries are paraphrases: lines of fresh id, tab, public id.",
        metavar="FILE",
        place="read",
        absent="those with the same id",
        panel=Panel.ADVANCED,
    )
    pairs: Place | None = setting(
        None,
        "Compare the public queries that have near-duplicates in training with the others: output "
        "of posbias leakage find.",
        metavar="DIR|FILE",
        place="read",
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        if self.fresh is None and self.pairs is None:
            wanted = "judged queries that the model cannot have seen, or pairs of near-duplicates"
            raise SettingError(
                f"--fresh, --pairs: wanted {wanted}; found neither; give --fresh SPLIT, or "
                "--pairs, or both"
            )
        for flag, value in (
            ("--fresh-candidates", self.fresh_candidates),
            ("--paraphrases", self.paraphrases),
        ):
            if self.fresh is None and value is not None:
                raise SettingError(
                    f"{flag}: wanted --fresh too; found none; give --fresh SPLIT, or leave it out"
                )

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the public split, and the fresh one if any."""
        return (self.split,) if self.fresh is None else (self.split, self.fresh)


@dataclass(frozen=True, slots=True)
class Suspects:
    """Models, or their runs, and trainings known to be clean."""

    models: Sequence[Place] = _several(
        "The model, as for posbias rerank; may be given again to screen several together.",
        "--model",
        "MODEL",
    )
    runs: Sequence[Place] = _several(
        "A model's ranking of the public queries, instead of or besides --model.", "--run"
    )
    fresh_runs: Sequence[Place] = _several(
        "The same model's ranking of the fresh queries, one for each --run.", "--fresh-run"
    )
    kind: str | None = declared_setting(None, READ_AS)
    controls: Sequence[Place] = _several(
        "A training of the model's own configuration that is known to be clean; give at least 2, "
        "better 8.",
        "--control",
        "MODEL",
    )
    control_runs: Sequence[Place] = _several(
        "A control's ranking of the public queries.", "--control-run", panel=Panel.ADVANCED
    )
    control_fresh_runs: Sequence[Place] = _several(
        "A control's ranking of the fresh queries, one for each --control-run.",
        "--control-fresh-run",
        panel=Panel.ADVANCED,
    )
    banks: Sequence[Place] = _several(
        "Clean trainings of another configuration, which show how much trainings differ: a file "
        "with one checkpoint per line, or a run of the public queries and, after a tab, one of the "
        "fresh. Give one file per configuration, at least 3.",
        "--bank",
        "FILE",
        Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.models and not self.runs:
            raise SettingError(
                "--model, --run: wanted a model or its rankings; found neither; give one"
            )
        if both := set(self.models) & set(self.controls):
            raise SettingError(
                "--control: wanted models other than the suspected one; found "
                f"{min(map(str, both))} as both; leave it out"
            )
        for flag, given in (("--model", self.models), ("--control", self.controls)):
            if len(set(given)) < len(given):
                raise SettingError(f"{flag}: wanted each once; found one twice; drop the copy")

    def check_runs(self, fresh: str | None) -> None:
        """Check that there is a run of the ``fresh`` queries for each of the public ones.

        Raises:
            SettingError: more or fewer runs, or any without fresh queries.
        """
        of_models, of_controls = (
            (self.runs, self.fresh_runs),
            (self.control_runs, self.control_fresh_runs),
        )
        for name, (public, other) in (("", of_models), ("control-", of_controls)):
            wanted = len(public) if fresh else 0
            if len(other) != wanted:
                one_each = f"one for each --{name}run if there is --fresh, in the same order"
                raise SettingError(
                    f"--{name}fresh-run: wanted {one_each}; found {len(other)} for {wanted}; give "
                    "as many"
                )


@dataclass(frozen=True, slots=True)
class SuspectSettings:
    """Settings of the test of a suspicion; ``seed`` keys the simulation of its error rates."""

    measure: str = setting(
        "nDCG@10", "Measure, as ir_measures names it.", flags=("-m", "--measure"), metavar="MEASURE"
    )
    alpha: float = setting(
        0.05,
        "Significance level of the one-sided p, corrected for all tests of the call.",
        above=0,
        below=0.5,
        do="0.05 is common",
        panel=Panel.ADVANCED,
    )
    configuration: str = setting(
        "",
        "The configuration of models and controls, if their runs or checkpoints do not record it: "
        "you vouch that they differ in seed and test data alone.",
        metavar="WORDS",
        panel=Panel.ADVANCED,
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminatedSettings:
    """Settings of a set: the training split, the test splits, and the share of each test split's
    queries.

    A group has ``group_size`` passages: a positive and ``group_size`` − 1 negatives. Positives are
    judged at least ``relevant_from`` in the training split, ``target_relevant_from`` in a target
    (the paper: 2 of 0 to 3). Ordinary negatives are from the first ``train_depth`` candidates.

    Raises:
        SettingError: a setting outside its range, a target twice, or the training split as a
            target.
    """

    split: str = setting("train", "Training queries of the ordinary groups.", metavar="SPLIT")
    targets: tuple[str, ...] = setting(
        (),
        "A split whose judgements to train on; may be given again. Without one the set is clean.",
        flags=("--contaminate",),
        metavar="SPLIT",
    )
    share: float = setting(
        1.0,
        "Share of each target's queries; 0: the clean set.",
        least=0,
        most=1,
        wanted="a share of each target's queries, 0 to 1",
        metavar="0..1",
    )
    group_size: int = setting(
        2, "Passages per group: one positive, the others negatives.", least=2, panel=Panel.ADVANCED
    )
    relevant_from: int = setting(
        1, "Lowest grade of a positive in --split.", least=1, metavar="GRADE", panel=Panel.ADVANCED
    )
    target_relevant_from: int = setting(
        2, "Lowest grade of a positive in a target.", least=1, metavar="GRADE", panel=Panel.ADVANCED
    )
    train_depth: int = setting(
        100, "Candidates per query to draw negatives from.", least=1, panel=Panel.ADVANCED
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
        if len(set(self.targets)) != len(self.targets):
            raise SettingError(
                f"--contaminate: wanted each target once; found {', '.join(self.targets)}; drop one"
            )
        if self.split in self.targets:
            raise SettingError(
                f"--contaminate, --split: wanted different splits; found {self.split!r} as both; "
                "merging joins splits of the same name: keep them apart with posbias merge --apart"
            )

    @property
    def contaminates(self) -> bool:
        """Return True if the set has groups of a target."""
        return bool(self.targets) and self.share > 0

    def record(self) -> JsonObject:
        """Return the settings that the set depends on, for its manifest; those of contamination
        only if it contaminates.
        """
        names = ["split", "group_size", "relevant_from", "train_depth"]
        names += ["targets", "share", "target_relevant_from"] if self.contaminates else []
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in names
        }
