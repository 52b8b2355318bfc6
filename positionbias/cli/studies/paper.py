"""The command of a paper's study, made of what its ``COMMAND`` says: an attribute of this module for each paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from positionbias.cli.common import all_of, out_option
from positionbias.cli.generate import help_text
from positionbias.cli.quick import quick_study_option
from positionbias.cli.settings_options import option_of, settings_options
from positionbias.cli.studies.common import Running, candidates_option, keys, run_options, runs_by_split, seeds_option
from positionbias.cli.studies.models import model_options, models_of, teacher_of, teacher_options
from positionbias.core.operation import made_of, settings_parameters
from positionbias.papers import PAPERS, StudyCommand, module_of
from positionbias.training.config import TrainConfig

__all__ = ["study_command"]


def __getattr__(name: str) -> click.Command:
    if name not in PAPERS:
        raise AttributeError(name)
    return study_command(name, module_of(name, "settings").COMMAND)


def study_command(name: str, of: StudyCommand) -> click.Command:
    """Return ``posbias study NAME COLLECTION``."""

    def run(collection: str, running: Running, seed: int, seeds: tuple[int, ...], **given: Any) -> None:
        from positionbias.core.collection import find_collection

        fields = {"seed": seed, "seeds": keys(seeds, seed, quick=given["quick"])}
        fields["candidates"] = runs_by_split(given.pop("candidates"))
        depth = given["train_depth" if of.teacher else "depth"]  # where validation looks
        if of.teacher:
            fields["teacher"] = teacher_of(given, depth=depth, quick_steps=of.quick_steps)
        how: dict[str, Any] = {"own_encoders": of.own_encoders, "decided": of.decided, "quick_steps": of.quick_steps}
        settings = made_of(of.settings, given, models=models_of(given, depth=depth, **how), **fields)
        found = find_collection(collection)
        run_study = module_of(name, "study").run_study
        running.run(lambda shop: run_study(found, settings, shop), found.name)

    epochs = next(one for one in settings_parameters(TrainConfig, "") if one.name == "epochs")
    options = all_of(
        click.argument("collection"),
        settings_options(of.settings),
        out_option(what="The study, a folder."),
        *([teacher_options(of.teacher)] if of.teacher else []),
        model_options,
        option_of(replace(epochs, of=replace(epochs.of, absent=of.lasting or epochs.of.absent))),
        seeds_option,
        candidates_option,
        quick_study_option(of.quick, **of.quick_sizes),
        run_options,
    )
    text = help_text(of.help, settings_parameters(of.settings, ""))
    return click.command(name, help=text, context_settings={"default_map": of.defaults})(options(run))
