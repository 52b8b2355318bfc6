"""A miniature of the benchmark: intervals hold what many planted queries show, and nothing is found where nothing was set."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from positionbias.planted.generator import PlantedSettings, write_planted

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("audit_coverage")


@pytest.mark.parametrize("per_passage", [1, 5])
@pytest.mark.parametrize("size", [0.0, 1.0])
def test_intervals_hold_the_truth(script, size, per_passage):
    # 40 repeats: of 95 % of intervals that hold, fewer than 85 % are seen once in a hundred times
    known = script.truth(size, 40_000, per_passage)
    row = script.repeated(size, known, repeats=40, queries=600, per_passage=per_passage)
    for name in ("slope", "gap", "psi_debiased"):
        assert row[f"{name} covered"] >= 0.85
    assert row["psi_debiased_low above"] <= 0.1
    assert row["slope"] == pytest.approx(known.slope, abs=0.05)
    assert row["gap"] == pytest.approx(known.gap, abs=0.005)
    if size:
        assert known.slope < -0.1
        assert known.gap < -0.02
        assert row["gap found"] > 0.9
        assert row["slope found"] > 0.4
    else:
        assert abs(known.slope) < 0.02
        assert abs(known.gap) < 0.002
        assert row["psi found"] <= 0.15
        assert row["psi none"] > 0.3  # half of the time, in the long run
        assert row["gap fails"] <= 0.05


@pytest.mark.parametrize(("psi", "shape"), [(0.0, "falling"), (0.3, "falling"), (0.3, "two levels"), (0.3, "one bucket")])
def test_the_debiased_psi_of_known_means(script, psi, shape):
    means = script.true_means(psi, 10, shape)
    assert 1 - means.min() / means.max() == pytest.approx(psi)
    values, buckets = script.with_means(means, 200_000, seed=1)
    assert [values[buckets == b].mean() for b in range(10)] == pytest.approx(means.tolist(), abs=0.02)
    # 60 sets: of 95 % of intervals that hold, fewer than 87 % are seen once in a hundred times
    row = script.known_psi(psi, 1_000, 10, shape, repeats=60)
    assert row["covered"] >= 0.87
    assert abs(row["debiased"] - row["true"]) < 0.06
    if psi:
        assert abs(row["debiased"] - row["true"]) < abs(row["seen less null"] - row["true"]) / 2
    else:
        assert row["median"] < 0.03


def test_taking_queries_of_a_passage_one_by_one_is_too_sure(script):
    known = script.truth(0.0, 40_000, 5)
    row = script.repeated(0.0, known, repeats=40, queries=600, per_passage=5, clustered=False)
    assert row["gap covered"] < 0.92
    assert row["psi found"] > 0.1


def test_a_real_planted_collection_is_what_the_arrays_say(script, tmp_path):
    settings = PlantedSettings(queries=1_000, passages=8_000, validation_share=0, test_share=1)
    real = script.collected(write_planted(tmp_path / "planted", settings), "test", draws=2)
    drawn = script.draw(40_000, draws=2, seed=3)
    assert real.positions.shape == real.noise.shape == (3, 1_000, 8)
    assert (real.positions >= 0).all()
    assert (real.positions < 1).all()
    # standard errors of the means at 1,000 queries: at most 0.29 / √1,000 = 0.009; of 7,000: 0.004
    for version in range(3):
        assert real.positions[version, :, 0].mean() == pytest.approx(drawn.positions[version, :, 0].mean(), abs=0.036)
        assert real.positions[version, :, 1:].mean() == pytest.approx(drawn.positions[version, :, 1:].mean(), abs=0.016)
    assert real.noise.std() == pytest.approx(drawn.noise.std(), rel=0.04)
    assert (real.noise[1] - real.noise[0]).std() == pytest.approx((drawn.noise[1] - drawn.noise[0]).std(), rel=0.05)
    assert len(set(real.clusters)) == 1_000


def test_ndcg_by_hand(script):
    scores = np.array([[3.0, 1, 2], [1, 2, 3], [2, 1, 3]])
    module = sys.modules[script.draw.__module__]
    assert module.ndcg(scores) == pytest.approx([1, 1 / np.log2(4), 1 / np.log2(3)])
