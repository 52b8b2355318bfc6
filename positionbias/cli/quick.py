"""``--quick``: the same, at settings for an hour on two cores. An option that is given counts more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import Decorator, stated

if TYPE_CHECKING:
    from positionbias.experiments.model_settings import ModelSettings

__all__ = ["DEPTH", "quick_models", "quick_study_option", "quick_train_option", "settle_warm_up"]

DEPTH = 10  # candidates of a query


def quick_study_option(what: str, sizes: Mapping[str, object]) -> Decorator:
    """``--quick`` of a study: options that are not given take ``sizes``, ``what`` in words; its models are trained by ``quick_models``, and once each."""
    text = f"A small study, of one small training each: {what}. What is given beside it counts more. See docs/studies.md."
    return _option(text, lambda context: sizes)


def _quick_train(context: click.Context) -> Mapping[str, object]:
    from positionbias.training.quick import quick_shape, quick_training

    kind = str(context.command.name)
    return {**quick_training(kind), **quick_shape(kind), "most_depth": DEPTH}


def _option(text: str, values: Callable[[click.Context], Mapping[str, object]]) -> Decorator:
    def take(context: click.Context, _: click.Parameter, quick: bool) -> bool:
        if quick:
            context.default_map = {**(context.default_map or {}), **values(context)}
        return quick

    return click.option("--quick", is_flag=True, is_eager=True, callback=take, help=text)


quick_train_option: Decorator = _option(
    "A small training of some minutes on two cores. What is given beside it counts more. See docs/studies.md.", _quick_train
)


def settle_warm_up(given: dict[str, object]) -> None:
    """--warmup-steps that were given take the place of a share that was not."""
    if given["warmup_steps"] and not stated("warmup_share"):
        given["warmup_share"] = 0.0


def quick_models(models: Sequence[ModelSettings], *, steps: bool) -> list[ModelSettings]:
    """The models of a command, each at its kind's quick settings where an option does not say otherwise, with the number of ``steps`` or without; one that goes on from a
    checkpoint keeps its shape."""
    from positionbias.training.quick import quick_shape, quick_training

    made = []
    for one in models:
        training = {name: value for name, value in quick_training(one.kind).items() if not stated(name)}
        for name, left_out in (("warmup_share", stated("warmup_steps")), ("max_steps", not steps)):
            if left_out:
                training.pop(name, None)
        shape = None if one.model is None else replace(one.model, **quick_shape(one.kind))
        made.append(replace(one, training=replace(one.training, **training), model=shape))
    return made
