"""``posbias train KIND``: the operation ``train`` with the settings that a kind of model has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from positionbias.core.errors import SettingError
from positionbias.core.places import input_place
from positionbias.core.settings import REQUIRED, Given, Setting, flag_of, refuse_idle
from positionbias.models.shapes import KINDS, Beginning, Kind, TKConfig
from positionbias.ops.operation import (
    Command,
    Parameter,
    made_of,
    parameters_of,
    settings_parameters,
)
from positionbias.ops.training import train
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.config import AT_READING, SHUFFLED, refuse_validating, settle_steps
from positionbias.training.plan import TrainPlan
from positionbias.training.quick import DEPTH, quick_shape, quick_training

# options that a kind has not, by what its models begin with
NOT_OF: Mapping[Beginning, Sequence[str]] = {
    "words": ("--encoder", "--dropout"),
    "n-graphs": ("--encoder", "--dropout", "--word-vectors"),
    "encoder": ("--word-vectors",),
}
WITH_KERNELS = ("tk", "knrm", "conv_knrm")
SHOWN = ("epochs", "batch_size")  # of the settings
KIND = Setting(f"The kind of model: {', '.join(KINDS)}.", choices=tuple(KINDS), metavar="KIND")
ABOUT = "\n".join(
    f"    {name:9}  {kind.about.partition(chr(10))[0]}" for name, kind in KINDS.items()
)
HELP = f"""Train a re-ranker of one of these kinds:

{ABOUT}

A pairwise hinge loss unless told otherwise, stopped early on validation nDCG@10:

    posbias train tk squad --candidates train.run --validation-candidates validation.run \\
            --out tk.ckpt

``posbias train tk --help-all`` lists the settings of a kind. Several GPUs, or machines that share a
file system: accelerate launch --no_python posbias train …
"""


def _quick(name: str) -> Mapping[str, object]:
    if name not in KINDS:
        return {}
    return {**quick_training(name), **quick_shape(name), "most_depth": DEPTH}


QUICK = Setting(
    "A small training of some minutes on two cores. What is given beside it counts more. See "
    "docs/studies.md.",
    implies=_quick,
)


def _shown(parameter: Parameter) -> Parameter:
    return replace(parameter, shown=True) if parameter.name in SHOWN else parameter


def _further(name: str) -> Sequence[Parameter]:
    return tuple(settings_parameters(KINDS[name].shape, "model")) if name in KINDS else ()


def _train(given: Given) -> object:
    name = given["kind"]
    KIND.check("KIND", name)
    kind = KINDS[name]
    others = {
        parameter.name: given[parameter.name]
        for parameter in parameters_of(train)
        if not parameter.owner
    }
    plan = _plan(name, kind, given)
    _refuse_idle(plan)
    return train(plan=plan, **others)


TRAIN = Command(
    HELP,
    (
        Parameter("kind", "", str, False, REQUIRED, KIND, argument=True),
        *map(_shown, parameters_of(train)),
        Parameter("rotate_at_reading", "", bool, False, False, AT_READING),
        Parameter("shuffle_at_reading", "", bool, False, False, SHUFFLED, shown=False),
        Parameter("quick", "", bool, False, False, QUICK),
    ),
    _train,
    _further,
)


def _refuse_idle(plan: TrainPlan) -> None:
    """Refuse options that this training does not read.

    Raises:
        SettingError: one was given.
    """
    if plan.validation_candidates is None:
        refuse_validating("no --validation-candidates")
    if isinstance(plan.model, TKConfig) and plan.model.positions != "relative":
        refuse_idle(
            ["--relative-distance"],
            wanted="--positions relative, which it is of",
            found=f"--positions {plan.model.positions}",
        )
    left_out = NOT_OF[KINDS[plan.kind].beginning]
    refuse_idle(left_out, wanted="a kind that has it", found=plan.kind)
    if plan.kind != "tk":
        refuse_idle(
            ["--probe-passages"], wanted="tk, whose term vectors it compares", found=plan.kind
        )
    if plan.kind not in WITH_KERNELS:
        wanted = f"a model with kernels ({', '.join(WITH_KERNELS)})"
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
    shape = {
        parameter.name: given[parameter.name] for parameter in settings_parameters(kind.shape, "")
    }
    remedies = {
        "rotate": Rotation(seed=given["seed"]) if given["rotate_at_reading"] else None,
        "shuffle": SentenceShuffle(seed=given["seed"]) if given["shuffle_at_reading"] else None,
    }
    if given["start"] is not None:
        input_place(given["start"], flag="--start")
        if shaping := next((parameter for parameter in shape if parameter in given.stated), None):
            raise SettingError(
                f"{flag_of(shaping)}: wanted no shape beside --start, which has its own; found "
                f"{shape[shaping]}; leave it out"
            )
        return made_of(TrainPlan, given, kind=name, model=None, **remedies)
    if name == "bert_cat" and given["loss"] == "pointwise":
        shape["head"] = "relevance"
    if kind.encoder:
        given["encoder"] = given["encoder"] or kind.encoder
    return made_of(TrainPlan, given, kind=name, model=kind.shape(**shape), **remedies)
