"""``--quick``: the same, at settings that end within an hour on two cores and still learn. An option that is given counts more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import Decorator, stated

if TYPE_CHECKING:
    from positionbias.studies.model_settings import ModelSettings

__all__ = ["quick_models", "quick_study_option", "quick_train_option"]


def quick_study_option(**sizes: Any) -> Decorator:
    """``--quick`` of a study: options that are not given take ``sizes``, its models are trained by ``quick_models``, and once each."""
    what = ", ".join(f"--{name.replace('_', '-')} {_shown(value)}".strip() for name, value in sizes.items())
    text = f"One small training each: {what}, one seed, and fewer steps of training. What is given beside it counts more. See docs/studies.md."
    return _option(text, lambda context: sizes)


def _quick_train(context: click.Context) -> Mapping[str, Any]:
    from positionbias.training.quick import quick_shape, quick_training

    kind = str(context.command.name)
    return quick_training(kind) | quick_shape(kind)


def _option(text: str, values: Callable[[click.Context], Mapping[str, Any]]) -> Decorator:
    def take(context: click.Context, _: click.Parameter, quick: bool) -> bool:
        if quick:
            context.default_map = {**(context.default_map or {}), **values(context)}
        return quick

    return click.option("--quick", is_flag=True, is_eager=True, callback=take, help=text)


quick_train_option: Decorator = _option(
    "A small training of some minutes on two cores. What is given beside it counts more. See docs/studies.md.", _quick_train
)


def _shown(value: Any) -> str:
    if value is True:
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def quick_models(models: Sequence[ModelSettings]) -> list[ModelSettings]:
    """The models of a command, each at its kind's quick settings where an option does not say otherwise; one that goes on from a checkpoint keeps its shape."""
    from positionbias.training.quick import quick_shape, quick_training

    made = []
    for one in models:
        training = {name: value for name, value in quick_training(one.kind).items() if not stated(name)}
        shape = None if one.model is None else replace(one.model, **quick_shape(one.kind))
        made.append(replace(one, training=replace(one.training, **training), model=shape))
    return made
