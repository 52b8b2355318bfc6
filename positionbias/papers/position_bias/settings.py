"""Settings of the studies of position, and their commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from positionbias.audit.settings import AuditSettings
from positionbias.core.errors import SettingError, or_closest
from positionbias.core.settings import (
    check_once,
    check_settings,
    setting,
)
from positionbias.core.shared_settings import TrainDepth
from positionbias.experiments.models import (
    ModelSettings,
    StudySettings,
)
from positionbias.models.kinds import scores_log_probabilities
from positionbias.models.remedies import AnyRemedy, Remedy, read_remedy
from positionbias.models.shapes import POSITIONS, Positions
from positionbias.papers import StudyCommand
from positionbias.papers.position_bias import IN_TRAINING, OF_TK, TAUGHT
from positionbias.positions.rotate import Rotation

TRAIN = "train"  # the split of training queries
DEPTH = 10  # candidates per query with --quick


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSettings(StudySettings):
    """Settings of every study that trains on original and on rotated passages.

    ``draws`` rotations have seeds from ``seed`` on. The default measures are the paper's.
    ``probe_passages`` None measures MATS on all passages.
    """

    models: tuple[ModelSettings, ...] = (ModelSettings(),)
    draws: int = setting(
        1,
        "Rotation draws, with seeds from --seed on; every training meets every draw.",
        least=1,
        most=1_000,
        absent="2, with --quick 1",
        flags=("--rotations",),
        shown=True,
    )
    train_depth: TrainDepth = 100
    validation: str = setting(
        "validation",
        "Split for validation and tuning.",
        flags=("--validation-split",),
        metavar="SPLIT",
    )
    tests: tuple[str, ...] = setting(
        ("test",),
        "A test split; several are joined to one set of queries.",
        flags=("--test-split",),
        metavar="SPLIT",
        shown=True,
    )
    test_queries: int | None = setting(
        None,
        "Queries of each test split, drawn by --seed.",
        least=1,
        metavar="N",
        absent="all",
        shown=True,
    )
    test_relevant_from: int = setting(
        1, "Grade from which a test passage is relevant, in RR and R.", least=1, metavar="GRADE"
    )
    measures: tuple[str, ...] = setting(
        (),
        "As ir_measures names it; repeatable. [default: nDCG@10, RR@10, R@10]",
        flags=("-m", "--measure"),
        metavar="MEASURE",
    )
    probe_passages: int | None = setting(
        None, "Passages for MATS at the end; by default all.", least=1, metavar="N"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        kinds = [model.kind for model in self.models]
        check_once({"--models": kinds})
        if unused := [split for split in self.candidates if split not in self.splits]:
            raise SettingError(
                f"--candidates: wanted splits of the study ({', '.join(self.splits)}); found "
                f"{unused[0]!r}; {or_closest(unused[0], self.splits, 'name one of these')}"
            )
        from positionbias.evaluation.measures import canonical  # needs ir_measures

        level = f"(rel={self.test_relevant_from})" if self.test_relevant_from > 1 else ""
        usual = ("nDCG@10", f"RR{level}@10", f"R{level}@10")
        object.__setattr__(self, "measures", canonical(self.measures or usual))

    @property
    def rotation_draws(self) -> range:
        """The seeds of the rotations."""
        return range(self.seed, self.seed + self.draws)

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits of the study."""
        return (TRAIN, self.validation, *self.tests)

    def rotation(self, draw: int) -> Rotation:
        """Return the rotation of a draw."""
        return Rotation(seed=draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBiasSettings(GridSettings):
    """The same settings, with an arm for each kind of positions of one TK."""

    positions: tuple[Positions, ...] = setting(
        (),
        "An arm for TK with these positions, the usual ones first: sinusoid, none or relative; "
        "given twice or more.",
        shown=True,
        absent="the model's own, in one arm",
    )

    def __post_init__(self) -> None:
        GridSettings.__post_init__(self)
        known = {name for name in self.positions if name in POSITIONS}
        if self.positions and len(known) < max(2, len(self.positions)):
            raise SettingError(
                f"--positions: wanted two or more of {', '.join(POSITIONS)}, each once; found "
                f"{', '.join(self.positions)}; give --positions again"
            )
        kinds = [model.kind for model in self.models]
        if self.positions and kinds != ["tk"]:
            raise SettingError(
                f"--models: wanted tk, whose positions can be changed; found {', '.join(kinds)}; "
                "leave it out"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedySettings(GridSettings):
    """The same settings, with the remedies to compare: in training by name, at inference as
    ``models.remedies`` names them.

    ``moved_queries`` of the first test split have their answering sentence moved.
    """

    remedies: tuple[str, ...] = setting(
        (*IN_TRAINING, "rotate:4", "rotate-max:4", "segments-max:3", "calibrate:0.5"),
        "A remedy in training, by its name in the report, or at inference, as for posbias "
        "model remedy; repeatable.",
        flags=("--remedy",),
        metavar="REMEDY",
        shown=True,
        absent="all in training, rotate:4, rotate-max:4, segments-max:3 and calibrate:0.5",
    )
    moved_queries: int = setting(
        500, "Test queries whose answering sentence is moved.", least=20, metavar="N"
    )

    def __post_init__(self) -> None:
        GridSettings.__post_init__(self)
        check_once({"--remedy": self.remedies})
        # refuse unknown names, and a model without any, before the study begins
        for model in self.models:
            if not (*self.at_inference(model), *self.in_training(model)):
                raise SettingError(
                    f"--remedy: wanted one or more that {model.kind} can have; found "
                    f"{', '.join(self.remedies)}; add another, such as rotate:4, or leave the "
                    "model out"
                )

    def in_training(self, model: ModelSettings) -> tuple[str, ...]:
        """Return the remedies in training of a model; those in its positions are of tk alone, and
        no log-probabilities are taught.
        """
        unfit = set() if model.kind == "tk" else set(OF_TK)
        if scores_log_probabilities(model.kind, model.model):
            unfit.add(TAUGHT)
        return tuple(name for name in IN_TRAINING if name in self.remedies and name not in unfit)

    def at_inference(self, model: ModelSettings) -> tuple[AnyRemedy, ...]:
        """Return the remedies at inference of a model; attention is calibrated in models with one
        vector a text.

        Raises:
            SettingError: a name is neither one of these nor one in training.
        """
        names = [name for name in self.remedies if name not in IN_TRAINING]
        remedies = [read_remedy(name, tuple(IN_TRAINING)) for name in names]
        fits = [model.kind == "bert_dot" or isinstance(remedy, Remedy) for remedy in remedies]
        return tuple(remedy for remedy, fitting in zip(remedies, fits, strict=True) if fitting)

    @property
    def audit(self) -> AuditSettings:
        """Return the settings of moving sentences."""
        return AuditSettings(
            measure=self.measures[0],
            needles=self.moved_queries,
            rotation=False,
            depth=self.depth,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSettings(GridSettings):
    """The same settings; tests are on original passages, without MATS."""

    probe_passages: int | None = None


def _command(
    run: str,
    settings: type,
    help: str,
    collections: Sequence[str] = ("collection",),
    decided: Mapping[str, str] = MappingProxyType({}),
    **sizes: int,
) -> StudyCommand:
    return StudyCommand(
        decided=decided,
        settings=settings,
        collections=collections,
        run=run,
        epochs=False,
        defaults={"models": ("tk",)},
        quick="10 candidates per query, 1,000 test queries",
        quick_sizes={"depth": DEPTH, "train_depth": DEPTH, "test_queries": 1_000, **sizes},
        help=help,
    )


COMMANDS: Mapping[str, StudyCommand] = {
    "position-bias": _command(
        "study.run_position_bias",
        PositionBiasSettings,
        "Do re-rankers depend on the answer positions of COLLECTION, and does rotation "
        "remove this?"
        """

Trains each model on the original and on the rotated passages, tests both on both, and writes
results, tables and report.html.

With --positions it does so for TK with each kind of positions (relative: Shaw et al. 2018): is
rotating the data better than changing the model?

    posbias study position-bias squad --positions sinusoid --positions none --positions relative \\
            --out squad-positions
""",
        probe_passages=2_000,
    ),
    "remedies": _command(
        "study.run_remedies",
        RemedySettings,
        """Which remedy lowers the position bias of models of COLLECTION, and what does it cost?

Trains each model without a remedy and with each in data, loss or model, gives the first each remedy
at inference, and measures quality on original passages against bias: the change by rotation, and
the effect of moving the answering sentence, so that each remedy meets a manipulation that it did
not use. Writes results, tables and report.html.

    posbias study remedies squad --quick --seeds 3 --out squad-remedies
""",
        decided={"positions": "a remedy changes them"},
        probe_passages=2_000,
        moved_queries=200,
    ),
    "transfer": _command(
        "study.run_transfer",
        TransferSettings,
        "Does training on SOURCE first help on TARGET, and does it help more with SOURCE's "
        "passages rotated?"
        """

Trains each model on TARGET only; on SOURCE, then TARGET; and on rotated SOURCE, then TARGET. Tests
all on TARGET's original passages.
""",
        collections=("source", "target"),
    ),
}
