"""The models of a study: their settings, and the options that describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import manifest_if_any
from positionbias.core.operation import Given, Parameter, made_of, settings_parameters
from positionbias.core.places import input_place, model_place
from positionbias.core.settings import Seed, Setting, check_once, flags_as, setting
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.kinds import begins_with, config_class
from positionbias.models.shapes import KINDS
from positionbias.training.config import TrainConfig, settle_steps
from positionbias.training.plan import TrainPlan
from positionbias.training.quick import quick_shape, quick_training

if TYPE_CHECKING:
    from positionbias.training.plan import TrainPlan

OWN = ("seed",)  # settings for which the study has options
# one form of warm-up replaces the other
_INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "warmup_steps": {"warmup_share": 0.0},
    "warmup_share": {"warmup_steps": 0},
}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model of a study; ``model`` None is the kind's own shape."""

    kind: str = "tk"
    model: Any = None
    training: TrainConfig = field(default_factory=TrainConfig)
    word_vectors: Path | None = None
    encoder: str | None = None

    def __post_init__(self) -> None:
        if self.model is None:
            object.__setattr__(self, "model", config_class(self.kind)())
        self.plan(candidates=Path())  # report conflicts before the study begins

    def plan(
        self,
        *,
        seed: int = 1,
        training: TrainConfig | None = None,
        validation: tuple[Path, str] | None = None,
        **data: Any,
    ) -> TrainPlan:
        """Return the plan of one training of this model; ``data`` are its other fields, such as
        ``candidates`` or ``trainset``.

        ``validation`` is a run and its split; without it the last weights are kept. A training from
        a checkpoint ``start`` uses neither the encoder nor words of its own.
        """
        if validation is not None:
            run, split = validation
            data |= {"validation_candidates": run, "validation_split": split}
        if begins_with(self.kind) == "encoder":
            data.pop("words_of", None)
        return TrainPlan(
            kind=self.kind,
            model=self.model,
            training=replace(training or self.training, seed=seed),
            word_vectors=self.word_vectors,
            encoder=None if data.get("start") else self.encoder,
            **data,
        )

    @property
    def pretrained(self) -> str:
        """Name the initial weights of a training; empty if they are random."""
        if self.word_vectors is None:
            return "" if self.encoder is None else Path(self.encoder).name
        made = manifest_if_any(self.word_vectors)
        encoder = made.settings.get("encoder") if made else None
        name = encoder.get("name") if isinstance(encoder, dict) else encoder
        return self.word_vectors.name + (f" ({Path(str(name)).name})" if name else "")

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        deciding = self.plan(candidates=Path()).training.deciding()
        return {
            "kind": self.kind,
            "model": asdict(self.model),
            "training": {name: value for name, value in deciding.items() if name not in OWN},
            "begins with": self.pretrained,
        }


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """Settings of every study: its models, each trained ``seeds`` times with seeds from ``seed``
    on, which is also that of what the study draws. ``candidates`` are runs to use instead of
    BM25's, by split.
    """

    SHOWN = False

    models: tuple[ModelSettings, ...]
    seeds: int = setting(
        1,
        "Trainings of each model, with seeds from --seed on; three or more have intervals over "
        "trainings.",
        least=1,
        most=1_000,
        absent="3, with --quick 1",
        shown=True,
    )
    depth: int = setting(100, "Candidates per validation or test query.", least=1)
    candidates: Mapping[str, Path] = setting(
        {}, "A run to use instead of BM25's; repeatable.", metavar="SPLIT=RUN"
    )
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    seed: Seed = 1

    @property
    def training_seeds(self) -> range:
        """The seeds of the trainings."""
        return range(self.seed, self.seed + self.seeds)


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
