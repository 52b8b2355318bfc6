"""The options for the models of a study, and the models they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.operation import Given, Parameter, made_of, settings_parameters
from positionbias.core.places import input_place, model_place
from positionbias.core.settings import Panel, Setting, declared_setting, setting, settings_of
from positionbias.experiments.model_settings import ModelSettings, with_assignments
from positionbias.models.kinds import KINDS, begins_with, config_class
from positionbias.models.shapes import TKConfig
from positionbias.training.config import TrainConfig, settle_steps
from positionbias.training.quick import quick_shape, quick_training

__all__ = [
    "CANDIDATES",
    "DRAWS",
    "SEEDS",
    "ModelOptions",
    "TeacherOptions",
    "model_parameters",
    "models_of",
    "teacher_of",
]

SEEDS = Setting(
    "Seed of a training; may be given again. Three or more have intervals over trainings. "
    "[default: 3, from --seed on; 1 with --quick]",
    least=0,
    panel=Panel.BASIC,
)
DRAWS = Setting(
    "Seed of a rotation draw; may be given again; every training seed meets every draw. [default: "
    "2, from --seed on; 1 with --quick]",
    least=0,
    flags=("--rotations",),
    panel=Panel.BASIC,
)
CANDIDATES = Setting("A run to use instead of BM25's; may be given again.", metavar="SPLIT=RUN")
# training settings that have options of their own, or --set
_LEFT_OUT = frozenset(
    ("loss", "margin", "temperature", "most_depth", "probe_passages", "dropout", "seed")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The models that a study trains, their starting points, and their training."""

    PANEL = Panel.ADVANCED

    models: tuple[str, ...] = setting(
        ("tk",), f"Of {', '.join(KINDS)}; may be given again.", panel=Panel.BASIC
    )
    encoder: str | None = setting(
        None,
        "The encoder of models over an encoder: a folder, a hub id, or minilm.",
        metavar="PATH|ID",
        panel=Panel.BASIC,
    )
    word_vectors: str | None = setting(
        None,
        "Word vectors for models of words (not duet); random by default.",
        metavar="FILE",
        panel=Panel.BASIC,
    )
    starts: tuple[str, ...] = setting(
        (),
        "A checkpoint that a model continues from, instead; may be given again.",
        flags=("--start",),
        metavar="MODEL=CHECKPOINT",
    )
    training: TrainConfig = field(default_factory=TrainConfig)
    embedding_deviation: float = declared_setting(
        TKConfig().embedding_deviation, settings_of(TKConfig)["embedding_deviation"]
    )
    assignments: tuple[str, ...] = setting(
        (),
        "As bert_cat.batch_size=16; may be given again; a training's or a shape's setting, without "
        "MODEL for all models that have it.",
        flags=("--set",),
        metavar="[MODEL.]SETTING=VALUE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherOptions:
    """The teacher of other models."""

    teacher: str = setting(
        "bert_cat", "Kind of the teachers; --models are the students.", choices=tuple(KINDS)
    )
    teacher_encoder: str | None = setting(
        None, "The encoder of a teacher over an encoder.", metavar="PATH|ID", absent="--encoder"
    )
    teacher_assignments: tuple[str, ...] = setting(
        (),
        "As learning_rate=3e-5: a setting of the teacher's training or shape; may be given again. "
        "--set is for students.",
        flags=("--teacher-set",),
        metavar="SETTING=VALUE",
        panel=Panel.ADVANCED,
    )


def model_parameters(*, epochs: bool, lasting: str) -> list[Parameter]:
    """Return the options of a study's models; ``lasting`` describes the default number of epochs,
    if they can be given.
    """
    left_out = _LEFT_OUT if epochs else _LEFT_OUT | {"epochs"}
    every = [one for one in settings_parameters(ModelOptions, "") if one.name not in left_out]
    return [
        replace(one, of=replace(one.of, absent=lasting))
        if one.name == "epochs" and lasting
        else one
        for one in every
    ]


def teacher_of(given: Given, *, depth: int, quick_steps: bool) -> ModelSettings:
    """Return the teacher, which starts and trains like the students except for its own options.

    An encoder that only the teacher can use is removed from ``given``.
    """
    kind, encoder = given["teacher"], given["teacher_encoder"]
    beginning = begins_with(kind)
    if encoder and beginning != "encoder":
        raise SettingError(
            f"--teacher-encoder: wanted a teacher over an encoder; found {kind}; leave it out"
        )
    begun = {
        "models": (kind,),
        "encoder": (encoder or given["encoder"]) if beginning == "encoder" else None,
        "word_vectors": given["word_vectors"] if beginning == "words" else None,
    }
    asked = Given({**given, **begun, "starts": (), "assignments": ()}, given.stated)
    (teacher,) = models_of(asked, depth=depth, quick_steps=quick_steps)
    (settled,) = with_assignments((teacher,), given["teacher_assignments"], flag="--teacher-set")
    if (
        given["encoder"]
        and not encoder
        and not any(begins_with(model) == "encoder" for model in given["models"])
    ):
        given["encoder"] = None
    return settled


def models_of(
    given: Given,
    *,
    depth: int,
    quick_steps: bool = True,
    own_encoders: bool = False,
    decided: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ModelSettings, ...]:
    """Return the models described by the values of ``ModelOptions``.

    ``quick_steps``: whether --quick sets the number of steps. ``own_encoders``: a model may be
    KIND=ENCODER, and a model over an encoder must name its start. ``decided`` as in
    ``with_assignments``.
    """
    texts, encoder, vectors = given["models"], given["encoder"], given["word_vectors"]
    asked = [text.partition("=") if own_encoders else (text, "", "") for text in texts]
    kinds = [kind for kind, _, _ in asked]
    settle_steps(given)
    own = {name: value for name, value in given.items() if name not in _LEFT_OUT}
    training = replace(made_of(TrainConfig, own), most_depth=depth)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        known = ", ".join(KINDS) + ", or KIND=ENCODER" * own_encoders
        do = or_closest(unknown[0], KINDS, "give one of these")
        raise SettingError(f"--models: wanted some of {known}; found {unknown[0]!r}; {do}")
    starts = _starts(given["starts"], kinds)
    models, flags = [], set()
    for kind, equals, own_encoder in asked:
        beginning, start = begins_with(kind), None if own_encoder else starts.get(kind)
        if equals and (beginning != "encoder" or not own_encoder):
            raise SettingError(
                "--models: wanted KIND=ENCODER of a model over an encoder; found "
                f"{kind}={own_encoder}; write it so"
            )
        begun = (own_encoder or encoder) if beginning == "encoder" and start is None else None
        if own_encoders and beginning == "encoder" and not (begun or start):
            wanted = (
                f"what {kind} begins with ({kind}=ENCODER, --encoder or --start {kind}=CHECKPOINT)"
            )
            raise SettingError(f"--models: wanted {wanted}; found none; give one of these")
        shape = (
            {"embedding_deviation": given["embedding_deviation"]} if beginning == "words" else {}
        )
        model = ModelSettings(
            kind,
            config_class(kind)(**shape) if start is None else None,
            training,
            word_vectors=_file(vectors) if vectors and beginning == "words" else None,
            encoder=str(model_place(begun)) if begun else None,
            start=start,
        )
        models.append(_quick(model, given, steps=quick_steps) if given["quick"] else model)
        flags |= (
            {"--word-vectors"}
            if beginning == "words"
            else {"--encoder"}
            if begun and not own_encoder
            else set()
        )
    for flag, value in (("--word-vectors", vectors), ("--encoder", encoder)):
        if value and flag not in flags:
            raise SettingError(
                f"{flag}: wanted a model that uses it; found {', '.join(texts)}; leave it out"
            )
    if idle := next(
        (
            kind
            for kind in starts
            if not any(model.kind == kind and model.start for model in models)
        ),
        None,
    ):
        raise SettingError(
            f"--start: wanted a model without an encoder of its own; found {idle}=ENCODER; give "
            "one of the two"
        )
    return with_assignments(models, given["assignments"], decided=decided)


def _quick(model: ModelSettings, given: Given, *, steps: bool) -> ModelSettings:
    """Return a model with its kind's quick settings where no option overrides them, including their
    number of steps with ``steps``.

    A model that continues from a checkpoint keeps its shape.
    """
    left_out = (
        given.stated
        | ({"warmup_share"} if "warmup_steps" in given.stated else set())
        | (set() if steps else {"max_steps"})
    )
    training = {
        name: value for name, value in quick_training(model.kind).items() if name not in left_out
    }
    shape = None if model.model is None else replace(model.model, **quick_shape(model.kind))
    return replace(model, training=replace(model.training, **training), model=shape)


def _there(name: str) -> Path:
    """Return the path of initial weights, and report a missing file before the study begins rather
    than at its training.
    """
    if not (place := input_place(name)).exists():
        raise bad_input(
            place,
            wanted="weights or word vectors to begin with",
            found="no such file",
            do="check the path",
        )
    return place


def _file(name: str) -> Path:
    if (place := _there(name)).is_dir():
        raise bad_input(
            place,
            wanted="a file of word vectors",
            found="a folder",
            do="give the file in it, or posbias vectors distil",
        )
    return place


def _starts(texts: Sequence[str], kinds: Sequence[str]) -> dict[str, Path]:
    """Return the checkpoints that ``--start MODEL=CHECKPOINT`` names, by model.

    Raises:
        SettingError: another form, a model that is not in the study, or a repeated model.
        InputError: no such file or folder.
    """
    starts = {}
    for text in texts:
        kind, equals, place = text.partition("=")
        if not equals or kind not in kinds:
            raise SettingError(
                f"--start: wanted MODEL=CHECKPOINT with a model of the study ({', '.join(kinds)}); "
                f"found {text!r}; write it so"
            )
        if kind in starts:
            raise SettingError(
                f"--start: wanted one checkpoint a model; found two of {kind!r}; drop one"
            )
        starts[kind] = _there(place)
    return starts
