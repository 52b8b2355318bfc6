"""A miniature of the benchmark: intervals over trainings and queries hold the truth where those over queries alone do not."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from positionbias.core.seeds import generator

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("training_intervals")


@pytest.mark.parametrize("deviation", [0.3, 1.0, 3.0])
def test_three_trainings_are_covered(script: ModuleType, deviation: float) -> None:
    draws = 250
    found = script.run(script.Cell(3, 1, 20, deviation), range(draws), others=deviation > 1)
    bound = 4 * math.sqrt(0.05 * 0.95 / draws)
    assert found.coverage > 0.95 - bound
    # of three seeds a finding of the method is an interval off zero, and there is nothing to find
    assert found.found == draws - found.held["crossed"]
    if deviation > 1:
        shares = {name: found.held[name] / found.studies[name] for name in script.METHODS}
        assert shares["queries alone"] < 0.8 < shares["percentiles"] < shares["crossed"]


def test_a_true_difference_is_found(script: ModuleType) -> None:
    found = script.run(script.Cell(5, 1, 20, 0.3, effect=8.0), range(50), others=False)
    assert found.found == 50
    assert found.coverage > 0.95 - 4 * math.sqrt(0.05 * 0.95 / 50)


def test_differences_are_as_described(script: ModuleType) -> None:
    values = script.differences(generator(2, "test"), script.Cell(2, 2, 20_000))
    assert values.shape == (2, 2, 100_000)
    assert (values == 0).mean() == pytest.approx(0.5, abs=0.01)
    assert values.mean() == pytest.approx(0, abs=0.005)
    assert np.abs(values).max() <= 1
    assert (np.abs(values) > 0.9).mean() < 0.05
    # the latent numbers of a query agree by 0.25 + 0.25 + 0.35 within a seed, by 0.5 between seeds; signs do by 2/π·arcsin of that
    signs = np.sign(values)
    for other, latent in (((0, 1), 0.85), ((1, 0), 0.5)):
        both = (signs[0, 0] != 0) & (signs[other] != 0)
        assert np.corrcoef(values[0, 0], values[other])[0, 1] == pytest.approx(latent, abs=0.12)
        assert (signs[0, 0] * signs[other])[both].mean() > 2 / math.pi * math.asin(latent)


def test_an_uneven_study_lacks_a_draw_and_a_tenth_of_the_queries_of_each(script: ModuleType) -> None:
    values, truth = script.study(script.Cell(3, 2, 200, 1.0, uneven=True), 0)
    assert truth == 0
    assert np.isnan(values[0, 1]).all()
    assert (np.isnan(values[1]) == np.isnan(values[2])).all()
    assert np.isnan(values[1]).mean(axis=1) == pytest.approx([0.1, 0.1], abs=0.04)


def test_a_stopped_campaign_goes_on_to_the_same_counts(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PART", 5)
    cell = script.Cell(3, 1, 20, 1.0)
    script.kept(tmp_path, cell, 5, others=False)
    (first,) = tmp_path.iterdir()
    at = first.stat().st_mtime_ns
    found = script.kept(tmp_path, cell, 15, others=False)
    assert (len(list(tmp_path.iterdir())), first.stat().st_mtime_ns) == (3, at)
    whole = script.run(cell, range(15), others=False)
    assert (found.studies, found.held, found.found) == (whole.studies, whole.held, whole.found)
    assert found.length == pytest.approx(whole.length)


def test_the_bars(script: ModuleType) -> None:
    def cell(seeds: int, deviation: float, held: int) -> object:
        counts = Counter({"crossed": 100}), Counter({"crossed": held})
        return script.Found(script.Cell(seeds, deviation=deviation), *counts, 400.0, 100 - held)

    lines = script.bars([cell(3, 1.0, 92), cell(3, 0.3, 96), cell(3, 0.0, 90), cell(5, 1.0, 90)])
    assert "92.0 % [" in lines[0]  # 368 of 400
    assert "least of a cell is 90.0 %" in lines[0]
    # P(X ≤ 92) of 100 at 93 % is 0.401, of two cells 0.802; the cells of no deviation or of five seeds do not take part
    assert "least coverage 92.0 %; 1 of 2 cells are below 93 %" in lines[1]
    assert lines[1].endswith("0.802.")
    # P(X ≥ 10) of 100 at 5 % is 0.0282, of four cells 0.113
    assert "most of a cell 10.0 %" in lines[2]
    assert lines[2].endswith("0.113.")
