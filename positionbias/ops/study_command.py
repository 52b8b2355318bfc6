"""``posbias study NAME``: the operation ``study`` with the options that a paper's ``StudyCommand``
has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from positionbias.core.settings import REQUIRED, Given, Setting
from positionbias.engine.choose import Engine
from positionbias.ops.operation import (
    Command,
    Parameter,
    made_of,
    parameters_of,
    settings_parameters,
)
from positionbias.ops.studies import study
from positionbias.ops.study_models import TEACHER, model_parameters, models_of
from positionbias.papers import StudyCommand, command_of

SEVERAL = {"seeds": 3, "draws": 2}  # where none are named: what an interval over trainings takes


def study_command(name: str) -> Command:
    """Return the command of a study."""
    command = command_of(name)

    def call(given: Given) -> object:
        collections = [given[name] for name in command.collections]
        others = {
            parameter.name: given[parameter.name]
            for parameter in parameters_of(study)
            if parameter.name in given and not parameter.owner
        }
        if command.trains:
            others["engine"] = made_of(Engine, given)
        return study(name, *collections, settings=settings_of_command(command, given), **others)

    return Command(
        command.help, [_of_study(command, parameter) for parameter in _parameters(command)], call
    )


def _parameters(command: StudyCommand) -> list[Parameter]:
    shared = {parameter.name: parameter for parameter in parameters_of(study)}
    quick = Setting(
        f"A small study, of one small training each: {command.quick}. What is given beside it "
        "counts more. See docs/studies.md.",
        implies=command.quick_sizes,
    )
    return [
        *(
            Parameter(name, "", str, False, REQUIRED, Setting(""), argument=True)
            for name in command.collections
        ),
        *settings_parameters(command.settings, "settings"),
        shared["out"],
        *(
            [Parameter("teacher", "", str, False, command.teacher, TEACHER)]
            if command.teacher
            else []
        ),
        *(
            model_parameters(epochs=command.epochs, lasting=command.lasting)
            if command.trains
            else ()
        ),
        *([Parameter("quick", "", bool, False, False, quick)] if command.quick else []),
        shared["dry_run"],
        shared["overwrite"],
        *(settings_parameters(Engine, "engine") if command.trains else ()),
    ]


def _of_study(command: StudyCommand, parameter: Parameter) -> Parameter:
    """Return an option with the study's own default; with None where it depends on --quick."""
    if parameter.name in SEVERAL:
        return replace(parameter, default=None, optional=True)
    return replace(parameter, default=command.defaults.get(parameter.name, parameter.default))


def settings_of_command(command: StudyCommand, given: Given) -> Any:
    """Return the settings that the options make."""
    for field, number in SEVERAL.items():
        if field in given:
            given[field] = given[field] or (1 if given["quick"] else number)
    for parameter in settings_parameters(
        command.settings, ""
    ):  # before models are made of some of them
        parameter.check(given[parameter.name])
    made: dict[str, Any] = {}
    if command.trains:
        depth = given["train_depth" if command.teacher else "depth"]  # where validation looks
        if command.teacher:
            given["models"] = (given["teacher"], *given["models"])
        made["models"] = models_of(
            given,
            depth=depth,
            quick_steps=command.quick_steps,
            own_encoders=command.own_encoders,
            decided=command.decided,
        )
        if command.teacher:
            made["teacher"], *made["models"] = made["models"]
    return made_of(command.settings, given, **made)
