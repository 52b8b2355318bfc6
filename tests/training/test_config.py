"""Training settings are checked when they are made; the message names the flag."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from positionbias.core.errors import SettingError
from positionbias.training.config import TrainConfig
from positionbias.training.train import TrainPlan


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"batch_size": 0}, "--batch-size: wanted at least 1; found 0"),
        ({"max_steps": 0}, "--max-steps"),
        ({"validate_every": -1}, "--validate-every"),
        ({"patience": 0}, "--patience"),
        ({"most_depth": 0}, "--most-depth"),
        ({"probe_passages": -1}, "--probe-passages: wanted at least 0"),
        ({"threads": -1}, "--threads: wanted at least 0"),
        ({"seed": -1}, "--seed"),
        ({"learning_rate": 0}, "--learning-rate: wanted a number above 0; found 0"),
        ({"learning_rate": math.inf}, "--learning-rate"),
        ({"kernel_learning_rate": math.nan}, "--kernel-learning-rate"),
        ({"margin": -1}, "--margin"),
        ({"precision": "int8"}, "--precision: wanted one of float32, bfloat16, float16; found 'int8'"),
    ],
)
def test_a_setting_out_of_range_names_its_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError) as stop:
        TrainConfig(**change)
    assert str(stop.value).startswith(named)


def test_relevance_begins_above_not_relevant() -> None:
    with pytest.raises(SettingError, match="--relevant-from: wanted a grade from 1"):
        TrainPlan(candidates=Path("a"), validation_candidates=Path("b"), relevant_from=0)
