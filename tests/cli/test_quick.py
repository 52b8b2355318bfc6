"""``--quick``: a small study or training, in which an option that is given counts more."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.core import ParameterSource

from positionbias.cli.groups import study, train
from positionbias.core.operation import Given
from positionbias.ops.study_command import settings_of_command
from positionbias.papers import PAPERS, command_of


def settings_of(*arguments: str) -> Any:
    """What ``study position-bias`` would be run with."""
    command = study.get_command(click.Context(study), "position-bias")
    assert command is not None
    with command.make_context("position-bias", ["squad", "--out", "x", *arguments]) as context:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        stated = [name for name, source in sources.items() if source is ParameterSource.COMMANDLINE]
        return settings_of_command(command_of("position-bias"), Given(context.params, stated))


def test_a_quick_study_has_one_small_training() -> None:
    quick, full = settings_of("--quick"), settings_of()
    assert (quick.seeds, quick.draws, quick.depth, quick.train_depth, quick.test_queries) == (
        (1,),
        (1,),
        10,
        10,
        1_000,
    )
    assert (full.seeds, full.draws, full.depth) == ((1, 2, 3), (1, 2), 100)
    (model,) = quick.models
    assert (model.training.max_steps, model.training.threads, model.training.most_depth) == (
        1_000,
        1,
        10,
    )
    assert (model.model.layers, model.model.dimension) == (1, 300)


def test_what_is_given_counts_more() -> None:
    given = (
        "--quick",
        "--depth",
        "20",
        "--seeds",
        "4",
        "--seeds",
        "5",
        "--max-steps",
        "100000",
        "--set",
        "layers=3",
    )
    for arguments in (given, (*given[1:], given[0])):  # before the flag or behind it
        quick = settings_of(*arguments)
        (model,) = quick.models
        assert (quick.depth, quick.train_depth, quick.seeds, quick.draws) == (20, 10, (4, 5), (1,))
        assert (model.training.max_steps, model.training.validate_every) == (100_000, 100)
        assert (model.model.layers, model.model.heads) == (3, 8)


def test_a_warm_up_in_another_form_counts_more() -> None:
    for given in (("--warmup-steps", "50"), ("--set", "warmup_steps=50")):
        (model,) = settings_of("--quick", *given).models
        assert (model.training.warmup_steps, model.training.warmup_share) == (50, 0)


def test_the_probe_of_the_study_is_not_that_of_its_trainings() -> None:
    settings = settings_of("--quick", "--probe-passages", "50")
    assert (settings.probe_passages, settings.models[0].training.probe_passages) == (50, 500)


@pytest.mark.parametrize("name", [name for name in PAPERS if command_of(name).quick])
def test_every_size_of_a_quick_study_is_an_option_of_it(name: str) -> None:
    command = study.get_command(click.Context(study), name)
    assert command is not None
    (flag,) = (one for one in command.params if one.name == "quick")
    context = click.Context(command)
    assert flag.callback is not None
    flag.callback(context, flag, True)
    names = {one.name for one in command.params}
    assert context.default_map is not None
    assert set(context.default_map) <= names


@pytest.mark.parametrize("kind", ["tk", "knrm", "bert_cat"])
def test_every_setting_of_a_quick_training_is_an_option_of_it(kind: str) -> None:
    command = train.get_command(click.Context(train), kind)
    assert command is not None
    (flag,) = (one for one in command.params if one.name == "quick")
    context = click.Context(command)
    assert flag.callback is not None
    flag.callback(context, flag, True)
    assert context.default_map is not None
    assert set(context.default_map) <= {one.name for one in command.params}
    assert context.default_map["most_depth"] == 10
