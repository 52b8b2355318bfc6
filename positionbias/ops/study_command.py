"""``posbias study NAME``: the operation ``study`` with the options that a paper's ``StudyCommand``
has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from positionbias.core.operation import (
    Command,
    Given,
    Parameter,
    made_of,
    parameters_of,
    settings_parameters,
)
from positionbias.core.settings import REQUIRED, Setting
from positionbias.engine.choose import Engine
from positionbias.experiments.models import TEACHER, model_parameters, models_of
from positionbias.ops.studies import study
from positionbias.papers import StudyCommand, command_of

SEVERAL = {"seeds": 3, "draws": 2}  # where none are named: what an interval over trainings takes


def study_command(name: str) -> Command:
    """Return the command of a study."""
    of = command_of(name)

    def call(given: Given) -> object:
        collections = [given[one] for one in of.collections]
        others = {
            one.name: given[one.name]
            for one in parameters_of(study)
            if one.name in given and not one.owner
        }
        if of.trains:
            others["engine"] = made_of(Engine, given)
        return study(name, *collections, settings=settings_of_command(of, given), **others)

    return Command(of.help, [_of_study(of, one) for one in _parameters(of)], call)


def _parameters(of: StudyCommand) -> list[Parameter]:
    shared = {one.name: one for one in parameters_of(study)}
    quick = Setting(
        f"A small study, of one small training each: {of.quick}. What is given beside it counts "
        "more. See docs/studies.md.",
        implies=of.quick_sizes,
    )
    return [
        *(
            Parameter(one, "", str, False, REQUIRED, Setting(""), argument=True)
            for one in of.collections
        ),
        *settings_parameters(of.settings, "settings"),
        shared["out"],
        *([Parameter("teacher", "", str, False, of.teacher, TEACHER)] if of.teacher else []),
        *(model_parameters(epochs=of.epochs, lasting=of.lasting) if of.trains else ()),
        *([Parameter("quick", "", bool, False, False, quick)] if of.quick else []),
        shared["dry_run"],
        shared["overwrite"],
        *(settings_parameters(Engine, "engine") if of.trains else ()),
    ]


def _of_study(of: StudyCommand, one: Parameter) -> Parameter:
    """Return an option with the study's own default; with None where it depends on --quick."""
    if one.name in SEVERAL:
        return replace(one, default=None, optional=True)
    return replace(one, default=of.defaults.get(one.name, one.default))


def settings_of_command(of: StudyCommand, given: Given) -> Any:
    """Return the settings that the options make."""
    for field, number in SEVERAL.items():
        if field in given:
            given[field] = given[field] or (1 if given["quick"] else number)
    for one in settings_parameters(of.settings, ""):  # before models are made of some of them
        one.check(given[one.name])
    made: dict[str, Any] = {}
    if of.trains:
        depth = given["train_depth" if of.teacher else "depth"]  # where validation looks
        if of.teacher:
            given["models"] = (given["teacher"], *given["models"])
        made["models"] = models_of(
            given,
            depth=depth,
            quick_steps=of.quick_steps,
            own_encoders=of.own_encoders,
            decided=of.decided,
        )
        if of.teacher:
            made["teacher"], *made["models"] = made["models"]
    return made_of(of.settings, given, **made)
