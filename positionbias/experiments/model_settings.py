"""The models of a study: their kinds, shapes, trainings and starting weights."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import manifest_if_any
from positionbias.core.settings import check_once, flag_of, flags_as
from positionbias.models.kinds import begins_with, config_class
from positionbias.positions.rotate import Rotation
from positionbias.training.config import TrainConfig

if TYPE_CHECKING:
    from positionbias.training.plan import TrainPlan

__all__ = ["ModelSettings", "Taught", "with_assignments"]

FORM = "MODEL.SETTING=VALUE"
OWN = ("seed",)  # settings for which the study has options
# one form of warm-up replaces the other
_INSTEAD: Mapping[str, Mapping[str, float]] = {
    "warmup_steps": {"warmup_share": 0.0},
    "warmup_share": {"warmup_steps": 0},
}


@dataclass(frozen=True, slots=True)
class Taught:
    """A teacher's scores on a split. Negatives come from the first ``depth`` of its order, or from
    ``candidates``.
    """

    scores: Path
    split: str | None = None
    depth: int | None = None
    candidates: Path | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model of a study. ``model`` None is the kind's own shape, or that of ``start``, a
    checkpoint to continue from.
    """

    kind: str = "tk"
    model: Any = None
    training: TrainConfig = field(default_factory=TrainConfig)
    word_vectors: Path | None = None
    encoder: str | None = None
    start: Path | None = None

    def __post_init__(self) -> None:
        shape = config_class(self.kind)
        self._check_start()
        if self.model is None and self.start is None:
            object.__setattr__(self, "model", shape())
        self.plan(Path(), Path())  # report conflicts before the study begins

    def _check_start(self) -> None:
        """Refuse a checkpoint of ours of another kind; other faults of ``start`` are found when it
        is read.
        """
        if self.start is None:
            return
        from positionbias.models.tensors import FACTS

        if not (self.start / FACTS).is_file():
            return
        kind = dict(read_json(self.start / FACTS, what="a checkpoint's facts")).get("kind")
        if kind != self.kind:
            raise SettingError(
                f"--start: wanted a checkpoint of kind {self.kind}; found {kind} in {self.start}; "
                "give another"
            )

    def plan(
        self,
        candidates: Path,
        validation_candidates: Path,
        *,
        seed: int = 1,
        rotate: Rotation | None = None,
        start: Path | None = None,
        validation_split: str = "validation",
    ) -> TrainPlan:
        """Return the plan of one training of this model. ``start`` is a checkpoint to continue from
        instead of its own start.
        """
        from positionbias.training.plan import TrainPlan

        return TrainPlan(
            kind=self.kind,
            candidates=candidates,
            validation_candidates=validation_candidates,
            model=self.model,
            training=replace(self.training, seed=seed),
            rotate=rotate,
            word_vectors=self.word_vectors,
            validation_split=validation_split,
            encoder=self.encoder if start is None else None,
            start=self.start if start is None else start,
        )

    def plan_on(
        self,
        trainset: Path,
        *,
        seed: int,
        validation: tuple[Path, str] | None = None,
        relevant_from: int = 1,
        words_of: tuple[str, ...] | None = None,
    ) -> TrainPlan:
        """Return the plan of one training on a stored set. ``validation`` is a run and its split;
        without it the last weights are kept. ``words_of`` is as in ``TrainPlan``, for a model of
        words."""
        from positionbias.training.plan import TrainPlan

        return TrainPlan(
            trainset=trainset,
            words_of=None if begins_with(self.kind) == "encoder" else words_of,
            training=replace(self.training, seed=seed),
            **self._begun(),
            **_validated(validation, relevant_from),
        )

    def plan_taught(
        self,
        taught: Taught,
        training: TrainConfig,
        *,
        seed: int,
        validation: tuple[Path, str] | None = None,
        relevant_from: int = 1,
    ) -> TrainPlan:
        """Return the plan of one training by a teacher, ``training`` with its loss; ``validation``
        as in ``plan_on``.
        """
        from positionbias.training.plan import TrainPlan

        return TrainPlan(
            teacher_scores=taught.scores,
            teacher_depth=taught.depth if taught.candidates is None else None,
            candidates=taught.candidates,
            split=taught.split,
            training=replace(training, seed=seed),
            **self._begun(),
            **_validated(validation, relevant_from),
        )

    def _begun(self) -> dict[str, Any]:
        """Return the model and its starting weights, as a plan takes them."""
        return {
            name: getattr(self, name)
            for name in ("kind", "model", "word_vectors", "encoder", "start")
        }

    @property
    def pretrained(self) -> str:
        """Name the initial weights of a training; empty if they are random."""
        if self.start is not None:
            return self.start.name
        if self.word_vectors is None:
            return "" if self.encoder is None else Path(self.encoder).name
        made = manifest_if_any(self.word_vectors)
        encoder = made.settings.get("encoder") if made else None
        name = encoder.get("name") if isinstance(encoder, dict) else encoder
        return self.word_vectors.name + (f" ({Path(str(name)).name})" if name else "")

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        return {
            "kind": self.kind,
            "model": None if self.model is None else asdict(self.model),
            "training": {
                k: v
                for k, v in self.plan(Path(), Path()).training.deciding().items()
                if k not in OWN
            },
            "begins with": self.pretrained,
        }


def _validated(validation: tuple[Path, str] | None, relevant_from: int) -> dict[str, Any]:
    if validation is None:
        return {"relevant_from": relevant_from}
    run, split = validation
    return {"relevant_from": relevant_from, "validation_candidates": run, "validation_split": split}


def with_assignments(
    models: Sequence[ModelSettings],
    assignments: Sequence[str],
    *,
    flag: str = "--set",
    decided: Mapping[str, str] = types.MappingProxyType({}),
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
    changed = list(models)
    if assignments:
        check_once(
            {flag: [text.partition("=")[0].strip().replace("-", "_") for text in assignments]}
        )
    for text in assignments:
        name, equals, value = text.partition("=")
        kind, dot, setting = name.strip().rpartition(".")
        setting = setting.strip().replace("-", "_")
        if not equals or not setting:
            raise SettingError(
                f"{flag}: wanted {FORM}, or SETTING=VALUE for all models; found {text!r}; write it "
                "so"
            )
        if setting in decided:
            raise SettingError(
                f"{flag}: wanted a setting that the study leaves open; found {setting!r} in "
                f"{text!r}, and {decided[setting]}; leave it out"
            )
        kinds = [model.kind for model in models]
        if dot and kind not in kinds:
            raise SettingError(
                f"{flag}: wanted a model of the study ({', '.join(kinds)}); found {kind!r} in "
                f"{text!r}; {or_closest(kind, kinds, 'name one')}"
            )
        chosen = [place for place, model in enumerate(changed) if not dot or model.kind == kind]
        having = [place for place in chosen if setting in _hints(changed[place])]
        if not having or (dot and len(having) < len(chosen)):
            known = list(
                dict.fromkeys(known for place in chosen for known in _hints(changed[place]))
            )
            raise SettingError(
                f"{flag}: wanted a setting of {kind or 'one of the models'}: {', '.join(known)}; "
                f"found {setting!r}; {or_closest(setting, known, 'give one of these')}"
            )
        for place in having:
            changed[place] = _with_setting(changed[place], setting, value.strip(), flag)
    return tuple(changed)


def _hints(model: ModelSettings) -> Mapping[str, object]:
    """Return the settings of a model with their types."""
    shape: type = config_class(model.kind) if model.model is None else type(model.model)
    parts = (TrainConfig, shape)
    return {
        f.name: get_type_hints(part)[f.name]
        for part in parts
        for f in fields(part)
        if f.name not in OWN
    }


def _with_setting(model: ModelSettings, setting: str, text: str, flag: str) -> ModelSettings:
    named = f"{flag} {model.kind}.{setting}"
    value = _read(text, _hints(model)[setting], named)
    with flags_as({flag_of(setting): named}):
        if setting in TrainConfig.__dataclass_fields__:
            return replace(
                model,
                training=replace(model.training, **{**_INSTEAD.get(setting, {}), setting: value}),
            )
        shape = model.model if model.model is not None else config_class(model.kind)()
        return replace(model, model=replace(shape, **{setting: value}))


def _read(text: str, hint: Any, flag: str) -> Any:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if type(None) in options and text.lower() == "none":
        return None
    for option in options:
        if get_origin(option) is Literal:
            if text in get_args(option):
                return text
        elif option is bool:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
        elif option in (int, float, str):
            try:
                return option(text)
            except ValueError:
                continue
    raise SettingError(
        f"{flag}: wanted {' or '.join(map(_in_words, options))}; found {text!r}; give another"
    )


def _in_words(option: Any) -> str:
    if get_origin(option) is Literal:
        return " or ".join(map(str, get_args(option)))
    names = {int: "a whole number", float: "a number", bool: "true or false", type(None): "none"}
    return names.get(option, "a word")
