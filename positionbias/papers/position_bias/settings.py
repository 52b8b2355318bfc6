"""Settings of the studies of position, and their commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType

from positionbias.audit.settings import AuditSettings
from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import (
    Panel,
    check_once,
    check_settings,
    declared_setting,
    flags_as,
    refuse_idle,
    seed_setting,
    setting,
    settings_of,
)
from positionbias.evaluation.records import TEXTS
from positionbias.experiments.model_options import CANDIDATES, DRAWS, SEEDS
from positionbias.experiments.model_settings import ModelSettings, with_assignments
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.kinds import scores_log_probabilities
from positionbias.models.remedies import AnyRemedy, Remedy, read_remedy
from positionbias.models.shapes import POSITIONS, Positions
from positionbias.papers import StudyCommand
from positionbias.papers.position_bias import CALIBRATE, IN_TRAINING, OF_TK, TAUGHT
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import SEVERAL, AnswerRange, Matching, Selection, Several
from positionbias.text.words import USUAL_WORDS, WordMethod
from positionbias.training.config import AT_READING

__all__ = [
    "COMMANDS",
    "SOURCE_FLAGS",
    "TRAIN",
    "GridSettings",
    "Level",
    "PositionBiasSettings",
    "RemedySettings",
    "TransferSettings",
]

TRAIN = "train"  # the split of training queries
DEPTH = 10  # candidates per query with --quick
SOURCE_FLAGS = {
    "--candidates": "--source-candidates",
    "--validation-split": "--source-validation-split",
}


class Level(AnswerRange):
    """A range of the starts of training answers."""

    @classmethod
    def parse(cls, text: str, *, flag: str = "--answers-in") -> AnswerRange:
        """Read ``LOW:HIGH``."""
        return super().parse(text, flag=flag)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSettings:
    """Settings of every study that trains on original and on rotated passages.

    ``seeds`` are those of the trainings, ``draws`` those of the rotations. ``candidates`` are runs
    to use instead of BM25's, by split. The default measures are the paper's. ``probe_passages``
    None measures MATS on all passages; ``seed`` is that of the bootstrap and of the sample for
    MATS.
    """

    PANEL = Panel.ADVANCED

    models: tuple[ModelSettings, ...] = (ModelSettings(),)
    seeds: tuple[int, ...] = declared_setting((1,), SEEDS)
    draws: tuple[int, ...] = declared_setting((1,), DRAWS)
    words: WordMethod = declared_setting(USUAL_WORDS, settings_of(Rotation)["words"])
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    depth: int = setting(100, "Candidates per validation or test query.", least=1)
    train_depth: int = setting(100, "Candidates from which negatives are drawn.", least=1)
    candidates: Mapping[str, Path] = declared_setting({}, CANDIDATES)
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
        panel=Panel.BASIC,
    )
    test_queries: int | None = setting(
        None,
        "Queries of each test split, drawn by --seed.",
        least=1,
        metavar="N",
        absent="all",
        panel=Panel.BASIC,
    )
    rotate_at_reading: bool = declared_setting(False, AT_READING)
    test_relevant_from: int = setting(
        1, "Grade from which a test passage is relevant, in RR and R.", least=1, metavar="GRADE"
    )
    measures: tuple[str, ...] = setting(
        (),
        "As ir_measures names it; may be given again. [default: nDCG@10, RR@10, R@10]",
        flags=("-m", "--measure"),
        metavar="MEASURE",
    )
    probe_passages: int | None = setting(
        None, "Passages for MATS at the end; by default all.", least=1, metavar="N"
    )
    trainings: tuple[str, ...] = setting(
        TEXTS, "Only this training: original or rotated.", flags=("--only",), metavar="TRAINING"
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
        check_once(
            {
                "--models": [m.kind for m in self.models],
                "--seeds": self.seeds,
                "--rotations": self.draws,
            }
        )
        if unknown := [name for name in self.trainings if name not in TEXTS]:
            do = or_closest(unknown[0], TEXTS, "give one of these")
            raise SettingError(
                f"--only: wanted some of {', '.join(TEXTS)}; found {', '.join(unknown)}; {do}"
            )
        check_once({"--only": self.trainings})
        if unused := [split for split in self.candidates if split not in self.splits]:
            raise SettingError(
                f"--candidates: wanted splits of the study ({', '.join(self.splits)}); found "
                f"{unused[0]!r}; {or_closest(unused[0], self.splits, 'name one of these')}"
            )
        if self.measures:
            from positionbias.evaluation.measures import canonical  # needs ir_measures

            object.__setattr__(self, "measures", canonical(self.measures))
        else:
            level = f"(rel={self.test_relevant_from})" if self.test_relevant_from > 1 else ""
            object.__setattr__(self, "measures", ("nDCG@10", f"RR{level}@10", f"R{level}@10"))

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits of the study."""
        return (TRAIN, self.validation, *self.tests)

    @property
    def rotations(self) -> Mapping[int, Rotation]:
        """The rotations by draw."""
        return {draw: Rotation(words=self.words, seed=draw) for draw in self.draws}

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        plain = (
            "depth",
            "train_depth",
            "test_queries",
            "validation",
            "rotate_at_reading",
            "test_relevant_from",
            "probe_passages",
        )
        return {
            "models": [model.record() for model in self.models],
            "seeds": list(self.seeds),
            "draws": list(self.draws),
            "rotation": {
                key: value
                for key, value in asdict(Rotation(words=self.words)).items()
                if key != "seed"
            },
            "bm25": asdict(self.bm25),
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "tests": list(self.tests),
            "measures": list(self.measures),
            "trainings": [name for name in TEXTS if name in self.trainings],
            **{name: getattr(self, name) for name in (*plain, "seed")},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBiasSettings(GridSettings):
    """The same settings, with arms: ranges of the starts of training answers (``doses``), or kinds
    of positions of one TK.

    ``queries`` is the number of training queries per range; None: as many as the smallest range
    has. They are drawn by (seed of the study, id).
    """

    doses: tuple[Level, ...] = setting(
        (),
        "An arm for this range of the starts of training answers, as for posbias select; given "
        "twice or more.",
        flags=("--answers-in",),
        metavar="LOW:HIGH",
        panel=Panel.BASIC,
        absent="all training answers, in one arm",
    )
    queries: int | None = setting(
        None,
        "Training queries per --answers-in; by default as many as the smallest range has.",
        least=1,
        metavar="N",
    )
    several: Several = setting(
        "all",
        "Whether all answers of a training query must start in --answers-in, or any.",
        choices=SEVERAL,
    )
    positions: tuple[Positions, ...] = setting(
        (),
        "An arm for TK with these positions, the usual ones first: sinusoid, none or relative; "
        "given twice or more.",
        panel=Panel.BASIC,
        absent="the model's own, in one arm",
    )

    def __post_init__(self) -> None:
        GridSettings.__post_init__(self)
        if self.doses and self.positions:
            raise SettingError(
                "--answers-in, --positions: give one of the two; each makes the arms of a study"
            )
        if self.doses:
            if len(set(self.doses)) < max(2, len(self.doses)):
                found = ", ".join(map(str, self.doses))
                raise SettingError(
                    f"--answers-in: wanted two or more, each once; found {found}; give "
                    "--answers-in LOW:HIGH again"
                )
        else:
            refuse_idle(("--queries", "--several"), wanted="--answers-in", found="none")
        if self.positions:
            self._check_positions()

    def _check_positions(self) -> None:
        known = [name for name in self.positions if name in POSITIONS]
        if len(set(known)) < max(2, len(self.positions)):
            raise SettingError(
                f"--positions: wanted two or more of {', '.join(POSITIONS)}, each once; found "
                f"{', '.join(self.positions)}; give --positions again"
            )
        kinds = [model.kind for model in self.models]
        if kinds != ["tk"]:
            raise SettingError(
                f"--models: wanted tk, whose positions can be changed; found {', '.join(kinds)}; "
                "leave it out"
            )
        if self.models[0].model.positions != POSITIONS[0]:
            raise SettingError(
                "--set tk.positions: --positions names those that are compared; leave it out"
            )

    @property
    def matching(self) -> Matching:
        """Return the settings of matching answers."""
        return Matching(words=self.words)

    def selection(self, dose: AnswerRange, queries: int | None = None) -> Selection:
        """Return the selection of training queries of a range."""
        return Selection(
            dose, TRAIN, self.several, queries or self.queries, self.matching, self.seed
        )

    def with_positions(self, positions: Positions) -> ModelSettings:
        """Return the model with these positions."""
        model = self.models[0]
        return replace(model, model=replace(model.model, positions=positions))

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready."""
        arms: JsonObject = {}
        if self.doses:
            arms = {
                "doses": [str(dose) for dose in self.doses],
                "several": self.several,
                "matching": asdict(self.matching),
            }
        if self.positions:
            arms = {"models": [self.with_positions(name).record() for name in self.positions]}
        return {**GridSettings.record(self), **arms}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedySettings(GridSettings):
    """The same settings, with the remedies to compare: in training by name, at inference as
    ``models.remedies`` names them.

    ``moved_queries`` of the first test split have their answering sentence moved.
    """

    remedies: tuple[str, ...] = setting(
        (*IN_TRAINING, "rotate:4", "rotate-max:4", "segments-max:3", CALIBRATE),
        "A remedy in training, by its name in the report, or at inference, as for posbias "
        "debias-model; calibrate alone lets validation choose its settings; may be given again.",
        flags=("--remedy",),
        metavar="REMEDY",
        panel=Panel.BASIC,
        absent="all in training, rotate:4, rotate-max:4, segments-max:3 and calibrate",
    )
    moved_queries: int = setting(
        500, "Test queries whose answering sentence is moved.", least=20, metavar="N"
    )

    def __post_init__(self) -> None:
        GridSettings.__post_init__(self)
        check_once({"--remedy": self.remedies})
        if self.trainings != TEXTS or self.rotate_at_reading:
            raise SettingError(
                "--only, --rotate-at-reading: wanted --remedy, which says what is trained; found "
                "one of them; leave it out"
            )
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

    def at_inference(self, model: ModelSettings) -> tuple[AnyRemedy | None, ...]:
        """Return the remedies at inference of a model, None for calibration with settings to
        choose; that is of models with one vector a text.

        Raises:
            SettingError: a name is neither one of these nor one in training.
        """
        others = (*IN_TRAINING, CALIBRATE)
        found = [
            None if name == CALIBRATE else read_remedy(name, others)
            for name in self.remedies
            if name not in IN_TRAINING
        ]
        return tuple(one for one in found if model.kind == "bert_dot" or isinstance(one, Remedy))

    @property
    def audit(self) -> AuditSettings:
        """Return the settings of moving sentences."""
        return AuditSettings(
            measures=self.measures[:1],
            needles=self.moved_queries,
            draws=0,
            depth=self.depth,
            seed=self.seed,
        )

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready."""
        return {
            **GridSettings.record(self),
            "remedies": list(self.remedies),
            "moved_queries": self.moved_queries,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSettings(GridSettings):
    """The settings of the target, and those of the source. Tests are on original passages, without
    MATS.
    """

    rotate_at_reading: bool = False
    probe_passages: int | None = None
    trainings: tuple[str, ...] = TEXTS
    source_assignments: tuple[str, ...] = setting(
        (),
        "As --set, only for the training on SOURCE; may be given again.",
        flags=("--set-source",),
        metavar="[MODEL.]SETTING=VALUE",
        panel=Panel.BASIC,
    )
    source_candidates: Mapping[str, Path] = setting(
        {},
        "A run over SOURCE to use instead of BM25's; may be given again.",
        metavar="SPLIT=RUN",
        panel=Panel.BASIC,
    )
    source_validation: str = setting(
        "validation",
        "Validation split of SOURCE.",
        flags=("--source-validation-split",),
        metavar="SPLIT",
    )

    def __post_init__(self) -> None:
        GridSettings.__post_init__(self)
        _ = self.source  # report conflicts before the study begins

    @property
    def source(self) -> GridSettings:
        """Return the settings of the source, without tests; ``flags_as(SOURCE_FLAGS)`` names its
        options in errors.
        """
        shared = {one.name: getattr(self, one.name) for one in fields(GridSettings)}
        own = {
            "models": with_assignments(self.models, self.source_assignments, flag="--set-source"),
            "candidates": self.source_candidates,
            "validation": self.source_validation,
            "tests": (),
        }
        with flags_as(SOURCE_FLAGS):
            return GridSettings(**{**shared, **own})


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
        "arms.run_position_bias",
        PositionBiasSettings,
        "Do re-rankers depend on the answer positions of COLLECTION, and does rotation "
        "remove this?"
        """

Trains each model on the original and on the rotated passages, tests both on both, and writes
results, tables and report.html.

With --answers-in it does so for each range of the starts of training answers, with equally many
queries in each: does the bias grow with their front-loading? With --positions it does so for TK
with each kind of positions (relative: Shaw et al. 2018): is rotating the data better than changing
the model?

    posbias study position-bias squad --answers-in 0:0.2 --answers-in 0:0.5 --answers-in 0:1 \\
            --out squad-dose
    posbias study position-bias squad --positions sinusoid --positions none --positions relative \\
            --out squad-positions
""",
        probe_passages=2_000,
    ),
    "remedies": _command(
        "arms.run_remedies",
        RemedySettings,
        """Which remedy lowers the position bias of models of COLLECTION, and what does it cost?

Trains each model without a remedy and with each in data, loss or model, gives the first each remedy
at inference, and measures quality on original passages against bias: the change by rotation, and
the effect of moving the answering sentence, so that each remedy meets a manipulation that it did
not use. Writes results, tables and report.html.

    posbias study remedies squad --quick --seeds 1 --seeds 2 --seeds 3 --out squad-remedies
""",
        decided={"positions": "a remedy changes them"},
        probe_passages=2_000,
        moved_queries=200,
    ),
    "transfer": _command(
        "transfer.run_transfer",
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
