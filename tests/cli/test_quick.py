"""``--quick``: a small study or training, in which an option that is given counts more."""

from __future__ import annotations

from typing import Any
from unittest import mock

import click
import pytest

from positionbias.cli.groups import study
from positionbias.core.settings import Given
from positionbias.ops.study_command import settings_of_command, study_command
from positionbias.ops.train_command import TRAIN
from positionbias.papers import PAPERS, StudyCommand, command_of
from positionbias.training.quick import quick_shape, quick_training


def settings_of(*arguments: str) -> Any:
    """What ``study position-bias`` would be run with."""
    command = study.get_command(click.Context(study), "position-bias")
    assert command is not None
    made: list[Any] = []

    def settings_alone(of: StudyCommand, given: Given) -> Any:
        made.append(settings_of_command(of, given))
        raise click.Abort

    with (
        mock.patch("positionbias.ops.study_command.settings_of_command", settings_alone),
        pytest.raises(click.Abort),
    ):
        command.main(["squad", "--out", "x", *arguments], standalone_mode=False)
    return made[0]


def test_a_quick_study_has_one_small_training() -> None:
    quick, full = settings_of("--quick"), settings_of()
    assert (quick.seeds, quick.draws, quick.depth, quick.train_depth, quick.test_queries) == (
        1,
        1,
        10,
        10,
        1_000,
    )
    assert (full.seeds, full.draws, full.depth) == (3, 2, 100)
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
        "--set",
        "depth=20",
        "--seeds",
        "2",
        "--set",
        "max_steps=100000",
        "--set",
        "layers=3",
    )
    for arguments in (given, (*given[1:], given[0])):  # before the flag or behind it
        quick = settings_of(*arguments)
        (model,) = quick.models
        assert (quick.depth, quick.train_depth, quick.seeds, quick.draws) == (20, 10, 2, 1)
        assert (model.training.max_steps, model.training.validate_every) == (100_000, 100)
        assert (model.model.layers, model.model.heads) == (3, 8)


def test_the_probe_of_the_study_is_not_that_of_its_trainings() -> None:
    settings = settings_of("--quick", "--set", "probe_passages=50")
    assert (settings.probe_passages, settings.models[0].training.probe_passages) == (50, 500)


@pytest.mark.parametrize("name", [name for name in PAPERS if command_of(name).quick])
def test_every_size_of_a_quick_study_is_a_setting_of_it(name: str) -> None:
    parameters = {one.name: one for one in study_command(name).parameters}
    assert set(parameters["quick"].setting.implies) <= parameters.keys()


@pytest.mark.parametrize("kind", ["tk", "knrm", "bert_cat"])
def test_every_setting_of_a_quick_training_is_one_of_it(kind: str) -> None:
    names = {one.name for one in (*TRAIN.parameters, *TRAIN.further(kind))}
    assert {*quick_training(kind), *quick_shape(kind)} <= names
