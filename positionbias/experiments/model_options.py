"""The options for the models of a study, and the models they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.operation import Given, Parameter, made_of, settings_parameters
from positionbias.core.places import input_place, model_place
from positionbias.core.settings import Panel, Setting, setting
from positionbias.experiments.model_settings import ModelSettings, with_assignments
from positionbias.models.kinds import KINDS, begins_with, config_class
from positionbias.training.config import TrainConfig, settle_steps
from positionbias.training.quick import quick_shape, quick_training

__all__ = [
    "CANDIDATES",
    "DRAWS",
    "SEEDS",
    "TEACHER",
    "ModelOptions",
    "model_parameters",
    "models_of",
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
TEACHER = Setting("Kind of the teachers; --models are the students.", choices=tuple(KINDS))
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
    training: TrainConfig = field(default_factory=TrainConfig)
    assignments: tuple[str, ...] = setting(
        (),
        "As bert_cat.batch_size=16; may be given again; a training's or a shape's setting, without "
        "MODEL for all models that have it.",
        flags=("--set",),
        metavar="[MODEL.]SETTING=VALUE",
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
    KIND=ENCODER, and a model over an encoder must have one. ``decided`` as in
    ``with_assignments``.
    """
    settle_steps(given)
    own = {name: value for name, value in given.items() if name not in _LEFT_OUT}
    training = replace(made_of(TrainConfig, own), most_depth=depth)
    models, used = [], set[str]()
    for text in given["models"]:
        kind, equals, encoder = text.partition("=") if own_encoders else (text, "", "")
        TEACHER.check("--models", kind)
        shape, over = config_class(kind)(), begins_with(kind) == "encoder"
        if equals and not (over and encoder):
            raise SettingError(
                f"--models: wanted KIND=ENCODER of a model over an encoder; found {text}; write it "
                "so"
            )
        if over and not encoder and (encoder := given["encoder"] or ""):
            used.add("encoder")
        if own_encoders and over and not encoder:
            raise SettingError(
                f"--models: wanted the encoder of {kind} ({kind}=ENCODER or --encoder); found "
                "none; give one of these"
            )
        vectors = None
        if begins_with(kind) == "words" and given["word_vectors"]:
            used.add("word_vectors")
            vectors = _word_vectors(given["word_vectors"])
        start = str(model_place(encoder)) if encoder else None
        model = ModelSettings(kind, shape, training, word_vectors=vectors, encoder=start)
        models.append(_quick(model, given, steps=quick_steps) if given["quick"] else model)
    for name in ("word_vectors", "encoder"):
        if given[name] and name not in used:
            raise SettingError(
                f"--{name.replace('_', '-')}: wanted a model that uses it; found "
                f"{', '.join(given['models'])}; leave it out"
            )
    return with_assignments(models, given["assignments"], decided=decided)


def _quick(model: ModelSettings, given: Given, *, steps: bool) -> ModelSettings:
    """Return a model with its kind's quick settings where no option overrides them, including their
    number of steps with ``steps``.
    """
    left_out = {*given.stated, *([] if steps else ["max_steps"])}
    left_out |= {"warmup_share"} if "warmup_steps" in given.stated else set()
    quick = {k: v for k, v in quick_training(model.kind).items() if k not in left_out}
    shape = replace(model.model, **quick_shape(model.kind))
    return replace(model, training=replace(model.training, **quick), model=shape)


def _word_vectors(name: str) -> Path:
    """Return the path of word vectors, and report a missing file before the study begins rather
    than at its training.
    """
    if not (place := input_place(name)).is_file():
        raise bad_input(
            place,
            wanted="a file of word vectors",
            found="a folder" if place.is_dir() else "no such file",
            do="check the path; posbias vectors distil makes one",
        )
    return place
