"""The models of a study: their kinds, shapes, trainings and starting weights."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import manifest_if_any
from positionbias.core.settings import check_once, flag_of, flags_as
from positionbias.models.kinds import begins_with, config_class
from positionbias.training.config import TrainConfig

if TYPE_CHECKING:
    from positionbias.training.plan import TrainPlan

__all__ = ["ModelSettings", "with_assignments"]

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
        from positionbias.training.plan import TrainPlan

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
        known = [_hints(model) if kind in ("", model.kind) else {} for model in changed]
        if not any(setting in hints for hints in known):
            names = list({name: None for hints in known for name in hints})
            raise SettingError(
                f"{flag}: wanted a setting of {kind or 'one of the models'}: {', '.join(names)}; "
                f"found {setting!r}; {or_closest(setting, names, 'give one of these')}"
            )
        changed = [
            _with_setting(model, setting, value.strip(), flag) if setting in hints else model
            for model, hints in zip(changed, known, strict=True)
        ]
    return tuple(changed)


def _hints(model: ModelSettings) -> dict[str, Any]:
    """Return the settings of a model with their types."""
    hints = get_type_hints(TrainConfig) | get_type_hints(type(model.model))
    names = [one.name for part in (TrainConfig, model.model) for one in fields(part)]
    return {name: hints[name] for name in names if name not in OWN}


def _with_setting(model: ModelSettings, setting: str, text: str, flag: str) -> ModelSettings:
    named, hint = f"{flag} {model.kind}.{setting}", _hints(model)[setting]
    none = text.lower() == "none" and type(None) in get_args(hint)
    try:
        value = None if none else msgspec.convert(text, hint, strict=False)
    except msgspec.ValidationError as error:
        wanted = " or ".join(map(_in_words, get_args(hint) or [hint]))
        raise SettingError(f"{named}: wanted {wanted}; found {text!r}; give another") from error
    with flags_as({flag_of(setting): named}):
        if setting in TrainConfig.__dataclass_fields__:
            instead = {**_INSTEAD.get(setting, {}), setting: value}
            return replace(model, training=replace(model.training, **instead))
        return replace(model, model=replace(model.model, **{setting: value}))


def _in_words(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", type(None): "none"}
    return names.get(kind, "a word") if isinstance(kind, type) else str(kind)
