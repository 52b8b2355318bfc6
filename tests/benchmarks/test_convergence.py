"""A miniature of the benchmark: flat curves are called finished, rising ones not."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("convergence")


@pytest.mark.parametrize("validations", [4, 6, 12, 30])
def test_flat_curves_raise_no_more_alarms_than_allowed(script: ModuleType, validations: int) -> None:
    found = script.called(script.curves(None, validations, 0.0, draws=1_000))
    assert found.not_finished / 1_000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1_000)
    # the best is the last by chance in one curve of as many as there are validations, which is no test
    assert found.best_is_last / 1_000 == pytest.approx(1 / validations, abs=0.05)


@pytest.mark.parametrize("validations", [4, 6, 12, 30])
def test_rising_curves_are_found_and_saturated_ones_are_not(script: ModuleType, validations: int) -> None:
    def share(name: str) -> float:
        return script.called(script.curves(script.SHAPES[name], validations, 0.0, draws=300, name=name)).not_finished / 300

    assert share("linear, +0.1") > 0.8
    assert share("linear, +0.3") > 0.95
    assert share("saturating, rate 20") < 0.12


def test_neighbours_agree_as_asked(script: ModuleType) -> None:
    values = script.curves(None, 50, 0.6, draws=2_000)
    assert np.corrcoef(values[:, 10], values[:, 11])[0, 1] == pytest.approx(0.6, abs=0.05)
    assert values.std() == pytest.approx(script.NOISE, rel=0.03)
