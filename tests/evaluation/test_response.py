"""The position response: by hand, against plain loops over queries, and where it is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.seeds import generator
from positionbias.evaluation.response import Moved, response_curve


def moved(name, scores, ranks=None, cluster=None, places=None):
    places = np.linspace(0, 1, len(scores)) if places is None else np.array(places)
    return Moved(name, cluster or name, places, np.array(scores, float), np.array(ranks or [1.0] * len(scores)))


def random_queries(seed, queries=25):
    rng = generator(seed, "test")
    found = []
    for number in range(queries):
        count = int(rng.integers(1, 9))
        scores, ranks = rng.normal(size=count), (1 / rng.integers(1, 9, count)).tolist()
        found.append(moved(f"q{number}", scores, ranks, f"p{number // 3}"))
    return found


def test_by_hand():
    # less their means: 1, 0, −1 and 2, −2; in units of 2
    curve = response_curve([moved("a", [12, 11, 10], [1, 0.5, 0.5]), moved("b", [4, 0], [0.5, 0.25])], unit=2, points=3, seed=1)
    assert list(curve.places) == [0, 0.5, 1]
    assert list(curve.counts) == [2, 1, 2]
    assert curve.scores == pytest.approx([(0.5 + 1) / 2, 0, (-0.5 - 1) / 2])
    # ranks less 2/3 and 3/8: 1/3, −1/6, −1/6 and 1/8, −1/8; the mean of both is 25/48
    assert curve.ranks == pytest.approx([25 / 48 + (1 / 3 + 1 / 8) / 2, 25 / 48 - 1 / 6, 25 / 48 - (1 / 6 + 1 / 8) / 2])
    # Σ over queries of (x − ½)·score: −½ and −1; of (x − ½)²: ½ and ½
    assert curve.figures["slope"] == pytest.approx(-1.5)
    assert curve.figures["rank_slope"] == pytest.approx(-(1 / 4 + 1 / 8))
    assert (curve.figures["queries"], curve.figures["left_out"], curve.figures["unit"]) == (2, 0, 2)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_it_equals_plain_loops(seed, points):
    queries = random_queries(seed)
    curve = response_curve(queries, unit=0.7, points=points, seed=1, resamples=20)
    used = [one for one in queries if len(one.places) > 1]
    assert curve.figures["left_out"] == len(queries) - len(used)
    level = np.mean([one.reciprocal_ranks.mean() for one in used])
    above = below = 0.0
    for point in range(points):
        scores, ranks = [], []
        for one in used:
            at = [i for i, x in enumerate(one.places) if int(x * (points - 1) + 0.5) == point]
            if at:
                scores.append(np.mean([(one.scores[i] - one.scores.mean()) / 0.7 for i in at]))
                ranks.append(np.mean([one.reciprocal_ranks[i] - one.reciprocal_ranks.mean() for i in at]))
        assert curve.counts[point] == len(scores)
        assert curve.scores[point] == (pytest.approx(np.mean(scores), abs=1e-12) if scores else None)
        assert curve.ranks[point] == (pytest.approx(np.mean(ranks) + level) if ranks else None)
    for one in used:
        for x, y in zip(one.places, one.scores, strict=True):
            above += (x - one.places.mean()) * (y - one.scores.mean()) / 0.7
            below += (x - one.places.mean()) ** 2
    assert curve.figures["slope"] == pytest.approx(above / below)


@given(st.integers(0, 1_000), st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(seed, random):
    queries = random_queries(seed)
    one = response_curve(queries, seed=1, resamples=20)
    random.shuffle(queries)
    assert response_curve(queries, seed=1, resamples=20) == one


def test_intervals_take_passages_together():
    # 60 passages; alone, each asked ten times over with the same outcome: the same intervals
    rng = generator(3, "test")
    scores = rng.normal(size=(60, 3)) - [0, 0.5, 1]
    once = response_curve([moved(f"p{i:02d}", row) for i, row in enumerate(scores)], seed=1)
    many = response_curve(
        [moved(f"p{i:02d}q{q}", row, None, f"p{i:02d}") for i, row in enumerate(scores) for q in range(10)], seed=1
    )
    assert many.score_lows == pytest.approx(once.score_lows, nan_ok=True)
    assert many.figures["slope_low"] == pytest.approx(once.figures["slope_low"])
    assert once.figures["slope_low"] < -1 < once.figures["slope_high"] < 0
    assert once.score_lows[0] < once.scores[0] < once.score_highs[0]
    # no place is nearest to ¼ and ¾
    assert (once.scores[1], once.score_lows[1], once.ranks[1], list(once.counts)) == (None, None, None, [60, 0, 60, 0, 60])


def test_nothing_to_move_and_one_query():
    empty = response_curve([moved("a", [3.0])], seed=1)
    assert (list(empty.counts), list(empty.scores)) == ([0] * 5, [None] * 5)
    assert (empty.figures["slope"], empty.figures["left_out"]) == (None, 1)
    one = response_curve([moved("a", [3.0, 1.0])], seed=1)
    assert one.scores == [1, None, None, None, -1]
    assert list(one.score_lows) == [None] * 5
    assert one.figures["slope"] == -2
    assert one.figures["slope_undefined"] == "the interval: fewer than two clusters of queries"


@pytest.mark.parametrize(
    ("places", "scores", "ranks", "message"),
    [
        ([0, 1], [1], [1, 1], "q: wanted a score and a reciprocal rank a place"),
        ([0, 1], [1, np.nan], [1, 1], "q: wanted places, scores and ranks that are numbers"),
        ([0, 1.5], [1, 2], [1, 1], "q: wanted places from 0 to 1; found 0 to 1.5"),
    ],
)
def test_faults(places, scores, ranks, message):
    with pytest.raises(ValueError, match=message):
        Moved("q", "p", np.array(places), np.array(scores), np.array(ranks))
    with pytest.raises(ValueError, match="wanted a unit above 0"):
        response_curve([], unit=0, seed=1)
