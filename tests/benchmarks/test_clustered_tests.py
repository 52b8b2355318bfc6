"""A miniature of the benchmark: sign flips keep their level where Wilcoxon and t do not, t intervals theirs in small sets."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from positionbias.core.seeds import generator

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("clustered_tests")


@pytest.mark.parametrize("effect", [1.3, 1.7])
def test_the_design_effect_is_the_one_that_is_asked_for(script: ModuleType, effect: float) -> None:
    shared = script.latent_agreement(effect, pairs=50_000)
    rng = generator(2, "test")
    common = np.repeat(rng.normal(size=20_000), 5)
    values = script.differences(np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=100_000))
    of_passages = values.reshape(-1, 5).mean(axis=1)
    # the variance of the mean, by passages, over that of as many independent queries; its standard error here is about 1.5 %
    assert of_passages.var() / (values.var() / 5) == pytest.approx(effect, rel=0.06)
    assert (values == 0).mean() == pytest.approx(0.5, abs=0.01)


def test_what_knows_the_passages_keeps_its_level(script: ModuleType) -> None:
    found = script.alarms(200, 1.7, draws=300)
    # 5 % ± 4 standard errors; the others are off by more than that
    bound = 4 * np.sqrt(0.05 * 0.95 / 300)
    assert abs(found.rejected["sign flips"] / 300 - 0.05) < bound
    assert min(found.rejected["t"], found.rejected["Wilcoxon"]) / 300 > 0.08


def test_small_sets_are_covered_by_t(script: ModuleType) -> None:
    found = script.coverage(8, 1, draws=150, resamples=300)
    for name in ("mean", "difference"):
        assert found.held[name, "jackknife t"] / 150 == pytest.approx(0.95, abs=0.06)
        assert found.held[name, "percentiles"] < found.held[name, "jackknife t"]
        assert found.length[name, "percentiles"] < found.length[name, "jackknife t"]
