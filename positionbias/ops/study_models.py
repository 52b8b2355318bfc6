"""The options of a study that describe its models: ``--models``, their training, and ``--set``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.places import input_place, model_place
from positionbias.core.settings import Given, Setting, check_once, flags_as, setting
from positionbias.experiments.models import OWN, ModelSettings
from positionbias.models.kinds import begins_with, config_class
from positionbias.models.shapes import KINDS
from positionbias.ops.operation import Parameter, made_of, settings_parameters
from positionbias.training.config import TrainConfig, settle_steps
from positionbias.training.quick import quick_shape, quick_training

# one form of warm-up replaces the other
_INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "warmup_steps": {"warmup_share": 0.0},
    "warmup_share": {"warmup_steps": 0},
}


TEACHER = Setting("Kind of the teachers; --models are the students.", choices=tuple(KINDS))
# training settings that have options of their own, or --set
_LEFT_OUT = frozenset(("loss", "margin", "most_depth", "probe_passages", "dropout", "seed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The models that a study trains, their starting points, and their training."""

    SHOWN = False

    models: tuple[str, ...] = setting(("tk",), f"Of {', '.join(KINDS)}; repeatable.", shown=True)
    encoder: str | None = setting(
        None,
        "The encoder of models over an encoder: a folder, a hub id, or minilm.",
        metavar="PATH|ID",
        shown=True,
    )
    word_vectors: str | None = setting(
        None,
        "Word vectors for models of words (not duet); random by default.",
        metavar="FILE",
        shown=True,
    )
    training: TrainConfig = field(default_factory=TrainConfig)
    assignments: tuple[str, ...] = setting(
        (),
        "As bert_cat.batch_size=16; repeatable; a training's or a shape's setting, without "
        "MODEL for all models that have it.",
        flags=("--set",),
        metavar="[MODEL.]SETTING=VALUE",
    )


def model_parameters(*, epochs: bool, lasting: str) -> list[Parameter]:
    """Return the options of a study's models; ``lasting`` describes the default number of epochs,
    if they can be given.
    """
    left_out = _LEFT_OUT if epochs else _LEFT_OUT | {"epochs"}
    every = [
        parameter
        for parameter in settings_parameters(ModelOptions, "")
        if parameter.name not in left_out
    ]
    return [
        replace(parameter, setting=replace(parameter.setting, absent=lasting))
        if parameter.name == "epochs" and lasting
        else parameter
        for parameter in every
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
    training_values = {name: value for name, value in given.items() if name not in _LEFT_OUT}
    training = replace(made_of(TrainConfig, training_values), most_depth=depth)
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
            do="check the path; posbias model vectors makes one",
        )
    return place


def with_assignments(
    models: Sequence[ModelSettings],
    assignments: Sequence[str],
    *,
    flag: str = "--set",
    decided: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ModelSettings, ...]:
    """Return the models with settings changed: ``bert_cat.batch_size=16``, or without a model for
    all that have the setting.

    A setting belongs to the training or the model's shape, and is named as in a checkpoint's
    manifest. If it is set both for all models and for one, the later assignment wins. ``decided``
    are settings that the study sets itself, each with the reason.

    Raises:
        SettingError: another form, a model that is not in the study, an unknown setting or one that
            the study decides, a value out of range, or a repeated name.
    """
    given = [text.partition("=") for text in assignments]
    names = [name.strip().replace("-", "_") for name, _, _ in given]
    check_once({flag: names} if names else {})
    changed, kinds = list(models), [model.kind for model in models]
    for text, name, (_, equals, value) in zip(assignments, names, given, strict=True):
        kind, _, setting = name.rpartition(".")
        if not equals or not setting or kind not in ("", *kinds):
            raise SettingError(
                f"{flag}: wanted SETTING=VALUE, or MODEL.SETTING=VALUE with a model of the study "
                f"({', '.join(kinds)}); found {text!r}; {or_closest(kind, kinds, 'write it so')}"
            )
        if setting in decided:
            raise SettingError(
                f"{flag}: wanted a setting that the study leaves open; found {setting!r} in "
                f"{text!r}, and {decided[setting]}; leave it out"
            )
        known = [_parameters(model) if kind in ("", model.kind) else {} for model in changed]
        if not any(setting in parameters for parameters in known):
            names = list({name: None for parameters in known for name in parameters})
            raise SettingError(
                f"{flag}: wanted a setting of {kind or 'one of the models'}: {', '.join(names)}; "
                f"found {setting!r}; {or_closest(setting, names, 'give one of these')}"
            )
        changed = [
            _with_setting(model, setting, value.strip(), flag) if setting in parameters else model
            for model, parameters in zip(changed, known, strict=True)
        ]
    return tuple(changed)


def _parameters(model: ModelSettings) -> dict[str, Parameter]:
    """Return the settings of a model's training and shape by name."""
    parts = (("training", TrainConfig), ("model", type(model.model)))
    return {
        parameter.name: parameter
        for owner, kind in parts
        for parameter in settings_parameters(kind, owner)
        if parameter.name not in OWN
    }


def _with_setting(model: ModelSettings, setting: str, text: str, flag: str) -> ModelSettings:
    parameter, named = _parameters(model)[setting], f"{flag} {model.kind}.{setting}"
    value = parameter.read(text, named)
    with flags_as({parameter.flag: named}):
        if parameter.owner == "training":
            instead = {**_INSTEAD.get(setting, {}), setting: value}
            return replace(model, training=replace(model.training, **instead))
        return replace(model, model=replace(model.model, **{setting: value}))
