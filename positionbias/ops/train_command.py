"""``posbias train KIND``: the operation ``train`` with the options that a kind of model has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from positionbias.core.errors import SettingError
from positionbias.core.operation import (
    Command,
    Given,
    Parameter,
    made_of,
    parameters_of,
    settings_parameters,
)
from positionbias.core.places import input_place
from positionbias.core.settings import Setting, flag_of, refuse_idle
from positionbias.models.kinds import KINDS, Beginning, Kind
from positionbias.models.shapes import TKConfig
from positionbias.ops.training import train
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.config import AT_READING, SHUFFLED, refuse_validating, settle_steps
from positionbias.training.plan import TrainPlan
from positionbias.training.quick import DEPTH, quick_shape, quick_training

__all__ = ["train_command"]

# the options that a kind has not, by what its models begin with
_NOT_OF: Mapping[Beginning, frozenset[str]] = {
    "words": frozenset({"encoder", "dropout"}),
    "n-graphs": frozenset({"encoder", "dropout", "word_vectors"}),
    "encoder": frozenset({"word_vectors"}),
}
_WITH_KERNELS = ("tk", "knrm", "conv_knrm")
_QUICK = Setting(
    "A small training of some minutes on two cores. What is given beside it counts more. See "
    "docs/studies.md."
)


def train_command(name: str) -> Command:
    """Return the command that trains a kind of model."""
    kind = KINDS[name]

    def call(given: Given) -> object:
        others = {one.name: given[one.name] for one in parameters_of(train) if not one.owner}
        plan = _plan(name, kind, given)
        _refuse_idle(plan)
        return train(plan=plan, **others)

    left_out = _NOT_OF[kind.beginning] | ({"probe_passages"} if name != "tk" else set())
    quick = {**quick_training(name), **quick_shape(name), "most_depth": DEPTH}
    parameters = (
        *(_of_kind(kind, one) for one in parameters_of(train) if one.name not in left_out),
        *settings_parameters(kind.shape, "model"),
        Parameter("rotate_at_reading", "", bool, False, False, AT_READING),
        Parameter("shuffle_at_reading", "", bool, False, False, SHUFFLED),
        Parameter("quick", "", bool, False, False, replace(_QUICK, implies=quick)),
    )
    return Command(kind.about, parameters, call)


def _of_kind(kind: Kind, parameter: Parameter) -> Parameter:
    """Return an option as a kind has it: what its encoder may be."""
    if parameter.name != "encoder":
        return parameter
    return replace(parameter, of=replace(parameter.of, help=kind.sources, absent=kind.encoder))


def _refuse_idle(plan: TrainPlan) -> None:
    """Refuse options that this training does not read.

    Raises:
        SettingError: one was given.
    """
    if plan.validation_candidates is None:
        refuse_validating("no --validation-candidates")
    for flag, loss in (("--temperature", "kl"), ("--hinge-margin", "hinge")):
        if plan.training.loss != loss:
            refuse_idle(
                [flag],
                wanted=f"--loss {loss}, which it is of",
                found=f"--loss {plan.training.loss}",
            )
    if isinstance(plan.model, TKConfig) and plan.model.positions != "relative":
        found = f"--positions {plan.model.positions}"
        refuse_idle(
            ["--relative-distance"], wanted="--positions relative, which it is of", found=found
        )
    if plan.kind not in _WITH_KERNELS:
        wanted = f"a model with kernels ({', '.join(_WITH_KERNELS)})"
        refuse_idle(["--kernel-learning-rate"], wanted=wanted, found=plan.kind)


def _plan(name: str, kind: Kind, given: Given) -> TrainPlan:
    """Return the plan that the options describe.

    Raises:
        SettingError: some do not go together.
    """
    settle_steps(given)
    if given["validation_candidates"] is None and "validation_queries" in given.stated:
        raise SettingError(
            "--validation-queries: wanted --validation-candidates beside it; found "
            f"{given['validation_queries']} alone; give both"
        )
    shape = {one.name: given[one.name] for one in settings_parameters(kind.shape, "")}
    remedies = {
        "rotate": Rotation(seed=given["seed"]) if given["rotate_at_reading"] else None,
        "shuffle": SentenceShuffle(seed=given["seed"]) if given["shuffle_at_reading"] else None,
    }
    if given["start"] is not None:
        input_place(given["start"], flag="--start")
        if own := next((one for one in shape if one in given.stated), None):
            raise SettingError(
                f"{flag_of(own)}: wanted no shape beside --start, which has its own; found "
                f"{shape[own]}; leave it out"
            )
        return made_of(TrainPlan, given, kind=name, model=None, **remedies)
    if name == "bert_cat" and given["loss"] == "pointwise":
        shape["head"] = "relevance"
    if kind.encoder:
        given["encoder"] = given["encoder"] or kind.encoder
    return made_of(TrainPlan, given, kind=name, model=kind.shape(**shape), **remedies)
