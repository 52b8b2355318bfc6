"""The command of a paper's study, made of what its ``StudyCommand`` says: an attribute of this module for each study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import click

from positionbias.cli.before import yes_option
from positionbias.cli.common import Decorator, all_of, json_option, out_option, seed_option, workers_option
from positionbias.cli.generate import help_text, print_outcome
from positionbias.cli.quick import quick_study_option
from positionbias.cli.settings_options import option_of, settings_options
from positionbias.cli.studies.common import (
    DRAWS,
    SEEDS,
    candidates_option,
    draws_option,
    dry_run_option,
    keys,
    runs_by_split,
    say_steps_before,
    seeds_option,
)
from positionbias.cli.studies.models import model_options, models_of, teacher_of, teacher_options
from positionbias.core.operation import made_of, settings_parameters
from positionbias.core.settings import settings_of
from positionbias.papers import PAPERS, StudyCommand, command_of
from positionbias.training.config import TrainConfig

__all__ = ["settings_of_command", "study_command"]

SHARED: dict[str, Decorator] = {  # the options of fields that declare nothing
    "models": model_options,
    "seeds": seeds_option,
    "draws": draws_option,
    "candidates": candidates_option,
}


def __getattr__(name: str) -> click.Command:
    if name not in PAPERS:
        raise AttributeError(name)
    return study_command(name, command_of(name))


def study_command(name: str, of: StudyCommand) -> click.Command:
    """Return ``posbias study NAME`` with its collections as arguments."""

    def run(out: str, dry_run: bool, yes: bool, as_json: bool, **given: Any) -> None:
        from positionbias.ops.studies import study

        collections = [given.pop(one) for one in of.collections]
        workers = given.pop("workers", 1)
        asked: Callable[..., Any] = partial(
            study, name, *collections, settings=settings_of_command(of, given), out=out, workers=workers
        )
        outcome = asked(dry_run=True)
        if not dry_run:
            say_steps_before(outcome.steps, yes=yes, shorter=of.shorter)
            outcome = asked()
        print_outcome(outcome, as_json=as_json)

    shared = _shared(of)
    options = all_of(
        *map(click.argument, of.collections),
        settings_options(of.settings),
        out_option(what="The study, a folder."),
        *([teacher_options(of.teacher)] if of.teacher else []),
        *(option for field, option in SHARED.items() if field in shared),
        *([_epochs(of)] if of.trains and of.epochs else []),
        *([quick_study_option(of.quick, of.quick_sizes)] if of.quick else []),
        dry_run_option,
        *([seed_option()] if "seed" in shared else []),
        *([workers_option] if of.trains else []),
        yes_option,
        json_option,
    )
    text = help_text(of.help, settings_parameters(of.settings, ""))
    return click.command(name, help=text, context_settings={"default_map": of.defaults})(options(run))


def _epochs(of: StudyCommand) -> Decorator:
    """Return the option of a training's epochs, with the study's own default in its help."""
    epochs = next(one for one in settings_parameters(TrainConfig, "") if one.name == "epochs")
    return option_of(replace(epochs, of=replace(epochs.of, absent=of.lasting or epochs.of.absent)))


def _shared(of: StudyCommand) -> set[str]:
    """The fields of a study's settings that have the options of all studies."""
    return {one.name for one in fields(of.settings)} & {*SHARED, "seed"} - set(settings_of(of.settings))


def settings_of_command(of: StudyCommand, given: dict[str, Any]) -> Any:
    """Return the settings that the options make."""
    for one in settings_parameters(of.settings, ""):  # before models are made of some of them
        one.check(given[one.name])
    shared, quick = _shared(of), given.get("quick", False)
    made: dict[str, Any] = {"seed": given.pop("seed")} if "seed" in shared else {}
    for field, number in (("seeds", SEEDS), ("draws", DRAWS)):
        if field in shared:
            made[field] = keys(given.pop(field), made["seed"], number, quick=quick)
    if "candidates" in shared:
        made["candidates"] = runs_by_split(given.pop("candidates"))
    if of.trains:
        depth = given["train_depth" if of.teacher else "depth"]  # where validation looks
        if of.teacher:
            made["teacher"] = teacher_of(given, depth=depth, quick_steps=of.quick_steps)
        made["models"] = models_of(
            given, depth=depth, quick_steps=of.quick_steps, own_encoders=of.own_encoders, decided=of.decided
        )
    return made_of(of.settings, given, **made)
