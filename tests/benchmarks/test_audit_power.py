"""A miniature of the benchmark: planted preferences are found, intervals hold the truth, and generated scores are what texts give."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from positionbias.audit.filler import filler
from positionbias.audit.perturb import exchanges
from positionbias.core.seeds import choose, generator
from positionbias.results.payloads import Preference
from positionbias.text.sentences import Parts

from .scripts import script_named


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return script_named("audit_power")


SHAPES = ["straight, front to end", "first third", "last third", "middle half", "both outer quarters"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_planted_preference_is_found_with_its_side(script, shape):
    cell = script.Cell(shape, 0.2, 200, 20)
    said = [script.audited(cell, number)["preference"] for number in range(20)]
    assert said.count(script.SHAPES[shape][1].value) >= 18


@pytest.mark.parametrize(("shape", "per_passage"), [("straight, front to end", 1), ("middle half", 5)])
def test_intervals_hold_the_truth(script, shape, per_passage):
    # of 40 audits in which all three hold in 95 %, fewer than 34 are seen once in a hundred times
    cell = script.Cell(shape, 0.2, 150, 40, per_passage, 1.0)
    known = script.truth(cell, 40_000)
    # the straight one falls by its size from end to end
    assert shape == "middle half" or known[0] == pytest.approx(-0.2)
    each, together = script.covered([script.audited(cell, number) for number in range(40)], known)
    assert min(each) >= 34
    assert together >= 34


def test_the_worth_is_2_4_words_wherever_evidence_is_preferred(script):
    # 4 words with the evidence and Binomial(4, 0.4) without, times the mean of a lognormal scale, exp(0.3² / 2)
    drawn = script.draw(script.Cell("last third", 0.5, 200, 1), 40_000, generator(1, "worth"))
    assert script.measured(drawn, 2).by_unit["score"][:, -1].mean() == pytest.approx(2.4 * np.exp(0.045), rel=0.02)


def test_cells_at_the_margin_have_that_effect(script):
    cells = script.at_margin()
    assert {cell.noise for cell in cells} == {0.3, 1.0}
    for cell in cells[::4]:
        assert abs(script.truth(cell)[script.contrast_of(cell.shape)]) == pytest.approx(0.1, rel=0.01)


def test_a_bar_holds_only_if_no_cell_is_above_it_and_the_pool_is_small_enough(script):
    assert "holds" in script.bar([(10, 600), (12, 600)], "x")[1]
    assert "BROKEN" in script.bar([(10, 600), (60, 600)], "x")[1]  # one of 10 %
    assert "BROKEN" in script.bar([(3, 60)], "x")[1]  # too few: [1.0, 13.9] %


def test_scores_that_no_place_changes_are_exactly_0(script):
    row = script.audited(script.Cell("none", 0.0, 60, 1, noise=0.0), 0)
    assert row["preference"] == Preference.NONE.value
    assert {tuple(each[3:6]) for each in row["effects"] if each[1] == "worth"} == {(0, 0, 0)}


def test_places_of_the_middle_exchange_are_those_of_its_texts(script):
    rng = generator(1, "places")
    lengths = rng.integers(8, 26, size=(250, 7)).astype(float)
    count = np.repeat([3, 4, 5, 6, 7], 50)
    lengths[np.arange(7) >= count[:, None]] = 0
    drawn = script._middle(lengths, count, rng)
    fill = filler("", [], 1)
    assert len(fill.split()) == script.FILLER
    found = []
    for row, number in enumerate(count):
        texts = [f"S{place} {'w ' * int(lengths[row, place] - 2)}w." for place in range(number)]
        made = exchanges(Parts(texts, 0), fill, 2, lambda n, k, purpose, row=row: choose(n, k, row, "test", purpose))
        words = [text.split() for one in made if one.middle for text in (one.before, one.after)]
        found.append([each.index("S0") / (len(each) - lengths[row, 0]) for each in words])
    places = np.array(found)
    assert (places[:, 0] == 0).all()
    assert places[:, 2] == pytest.approx(1)
    # the inner place depends on the drawn sentences: its mean
    for number in range(3, 8):
        assert places[count == number][:, [1, 3]].mean(axis=0) == pytest.approx(drawn[count == number].mean(axis=0), abs=0.05)


def test_a_rank_of_order_bias_is_found_and_arrays_give_the_slopes_of_lists(script):
    found = [script.list_audited(60, 1.0, number) for number in range(4)]
    assert [row["preference"] for row in found] == [Preference.FIRST.value] * 4
    assert np.mean([row["effects"][0][3] for row in found]) == pytest.approx(1, abs=0.1)
    assert script.list_audited(60, -1.0, 1)["preference"] == Preference.LAST.value
    # without relevance, ranks are places: the slope is the length less 1
    assert script.slopes_of(np.zeros((3, 10)), 1.0, generator(1, "test")) == pytest.approx([9, 9, 9])


@pytest.mark.realdata
def test_a_limit_of_100_words_is_found_on_squad(script, posbias_data):
    samples = script.squad_samples(posbias_data / "squad", 100)
    for _, sample in zip(range(3), samples, strict=False):
        stopped = script.squad_audited(sample, script.overlap(100))
        assert 85 <= stopped["limit"] <= 101
        assert stopped["preference"] == Preference.UNREAD.value
        whole = script.squad_audited(sample, script.overlap(None))
        assert (whole["limit"], whole["preference"]) == (None, Preference.NONE.value)
        placed = script.squad_placed(sample, "first third", 0.5)
        assert placed["preference"] == Preference.FRONT.value


def test_finished_audits_are_kept_and_shares_have_exact_intervals(script, tmp_path):
    made = []

    def one(number):
        made.append(number)
        return {"number": number}

    first = script.kept(tmp_path, "cell", 70, one)
    assert [row["number"] for row in first] == made == list(range(70))
    assert script.kept(tmp_path, "cell", 70, one) == first
    assert len(made) == 70
    assert json.loads((tmp_path / "cell.50.json").read_text())["rows"][0] == {"number": 50}
    # none of 300: the upper end is 1 − 0.025^(1/300)
    assert script.shared(0, 300) == f"0 of 300, 0.0 % [0.0, {100 * (1 - 0.025 ** (1 / 300)):.1f}]"
    assert script.shared(30, 40).endswith(
        f"[{100 * stats.beta.ppf(0.025, 30, 11):.1f}, {100 * stats.beta.ppf(0.975, 31, 10):.1f}]"
    )
