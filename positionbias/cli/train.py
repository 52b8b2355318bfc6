"""``posbias train``: a command a kind of model, each of them the operation ``train``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from positionbias.cli.before import say_before, yes_option
from positionbias.cli.common import all_of, json_option, stated
from positionbias.cli.generate import print_outcome
from positionbias.cli.quick import quick_train_option, settle_warm_up
from positionbias.cli.settings_options import option_of
from positionbias.core.errors import SettingError
from positionbias.core.operation import Parameter, made_of, parameters_of, settings_parameters
from positionbias.core.places import input_place
from positionbias.core.settings import flag_of
from positionbias.models.kinds import KINDS, Beginning, Kind
from positionbias.ops import training
from positionbias.positions.rotate import Rotation
from positionbias.training.plan import TrainPlan

__all__ = ["train"]

# the options that a kind has not, by what its models begin with
_NOT_OF: Mapping[Beginning, frozenset[str]] = {
    "words": frozenset({"encoder", "dropout"}),
    "n-graphs": frozenset({"encoder", "dropout", "word_vectors"}),
    "encoder": frozenset({"word_vectors"}),
}
_own_options = all_of(
    click.option("--rotate", is_flag=True, help="Rotate every passage anew at each read in training."),
    quick_train_option,
    yes_option,
    json_option,
)


@click.group()
def train() -> None:
    """Train a re-ranker.

    Several GPUs, or machines that share a file system: accelerate launch --no_python posbias train …
    """


def _command(name: str, kind: Kind) -> click.Command:
    def run(collection: str, as_json: bool, quick: bool, yes: bool, **given: Any) -> None:
        plan = _plan(name, kind, given)
        before = partial(say_before, yes=yes, shorter="--quick is a small one")
        print_outcome(training.train(collection, plan, before=before, **given), as_json=as_json)

    left_out = _NOT_OF[kind.beginning] | {"before"} | ({"probe_passages"} if name != "tk" else set())
    shared = [_of_kind(kind, one) for one in parameters_of(training.train) if one.name not in left_out]
    options = map(option_of, [*shared, *settings_parameters(kind.shape, "model")])
    return click.command(name, help=kind.about)(all_of(*options, _own_options)(run))


def _of_kind(kind: Kind, parameter: Parameter) -> Parameter:
    """An option as a kind has it: what its encoder may be."""
    if parameter.name != "encoder":
        return parameter
    return replace(parameter, of=replace(parameter.of, help=kind.sources, absent=kind.encoder))


def _plan(name: str, kind: Kind, given: dict[str, Any]) -> TrainPlan:
    """The plan that a command's options describe, which are taken out of ``given``."""
    shape = {one.name: given.pop(one.name) for one in settings_parameters(kind.shape, "")}
    asked = {one.name: given.pop(one.name, one.default) for one in settings_parameters(TrainPlan, "")}
    settle_warm_up(asked)
    rotation = Rotation(seed=asked["seed"]) if given.pop("rotate") else None
    if asked["epochs"] is not None and stated("max_steps"):
        found = f"{asked['epochs']} and {asked['max_steps']}"
        raise SettingError(f"--epochs, --max-steps: wanted one of the two; found {found}; give one")
    if asked["validation_candidates"] is None and stated("validation_queries"):
        raise SettingError(
            f"--validation-queries: wanted --validation-candidates beside it; found {asked['validation_queries']} alone; give both"
        )
    if asked["start"] is not None:
        input_place(asked["start"], flag="--start")
        if own := next(filter(stated, shape), None):
            raise SettingError(
                f"{flag_of(own)}: wanted no shape beside --start, which has its own; found {shape[own]}; leave it out"
            )
        return made_of(TrainPlan, asked, kind=name, model=None, rotate=rotation)
    if name == "bert_cat" and asked["loss"] == "pointwise":
        shape["head"] = "relevance"
    asked["encoder"] = asked["encoder"] or kind.encoder or None
    return made_of(TrainPlan, asked, kind=name, model=kind.shape(**shape), rotate=rotation)


for name, kind in KINDS.items():
    train.add_command(_command(name, kind))
