"""The position response: by hand, against plain loops over queries, and where it is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.seeds import generator
from positionbias.evaluation.response import Moved, response_curve


def moved(name, scores, ranks=None, cluster=None, places=None):
    places = np.linspace(0, 1, len(scores)) if places is None else np.array(places)
    return Moved(
        name,
        cluster or name,
        places,
        np.array(scores, float),
        np.array(ranks or [1.0] * len(scores)),
    )


def random_queries(seed, queries=25):
    rng = generator(seed, "test")
    found = []
    for number in range(queries):
        count = int(rng.integers(1, 9))
        scores, ranks = rng.normal(size=count), (1 / rng.integers(1, 9, count)).tolist()
        found.append(moved(f"q{number}", scores, ranks, f"p{number // 3}"))
    return found


def test_by_hand():
    # in units of 2 a passage of three places says 6, 5½, 5 and one of two says 2, 0: from first to
    # last −1 and −2, so −1½
    curve = response_curve(
        [moved("a", [12, 11, 10], [1, 0.5, 0.5]), moved("b", [4, 0], [0.5, 0.25])],
        unit=2,
        points=3,
        seed=1,
    )
    assert list(curve.places) == [0, 0.5, 1]
    assert list(curve.counts) == [2, 1, 2]
    assert curve.scores == pytest.approx([0.75, 0, -0.75])
    # ranks: −½ and −¼ from first to last, so ∓3/16; the middle is ¼ below the mean of its own ends.
    # Effects have mean 0: the mean of the ends is 1/12. Added is the mean of 2/3 and 3/8, 25/48
    assert curve.ranks == pytest.approx(
        [25 / 48 + 1 / 12 + 3 / 16, 25 / 48 + 1 / 12 - 1 / 4, 25 / 48 + 1 / 12 - 3 / 16]
    )
    # Σ over queries of (x − ½)·score: −½ and −1; of (x − ½)²: ½ and ½
    assert curve.figures.slope.value == pytest.approx(-1.5)
    assert curve.figures.rank_slope.value == pytest.approx(-(1 / 4 + 1 / 8))
    assert (curve.figures.queries, curve.figures.left_out, curve.figures.unit) == (2, 0, 2)


def test_a_curve_is_recovered_exactly_where_centring_would_bend_it():
    # a preference for the front alone: 1 at the first place, 0 at all others, on top of what each
    # query scores anyway. Passages of 2, 3, 5 sentences have means of ½, ⅓, ⅕ over their places, so
    # that centring each on its own would make 0.66, −0.2, −0.27, −0.2, −0.34 of it
    truth = np.array([1.0, 0, 0, 0, 0])
    queries = [
        moved(f"{count}-{number}", 7 * number + truth[np.linspace(0, 4, count).astype(int)])
        for count in (2, 3, 5)
        for number in range(1, 4)
    ]
    curve = response_curve(queries, seed=1, resamples=50)
    assert curve.scores == pytest.approx((truth - truth.mean()).tolist(), abs=1e-9)
    # there is no noise: every resample that holds all points finds the same
    assert curve.score_lows == pytest.approx(curve.scores, abs=1e-9)
    assert list(curve.counts) == [9, 3, 6, 3, 9]


def cell_means(queries, points, column):
    """Each query's mean at each point that it has: (query, point, value)."""
    for number, one in enumerate(queries):
        nearest = [int(x * (points - 1) + 0.5) for x in one.places]
        for point in sorted(set(nearest)):
            yield (
                number,
                point,
                np.mean([y for y, at in zip(column(one), nearest, strict=True) if at == point]),
            )


def fitted(cells, queries, points):
    """Least squares with a column a query and one a point; the points' effects with mean 0, NaN at
    points without a query.
    """
    cells = list(cells)
    columns = np.zeros((len(cells), queries + points))
    for row, (query, point, _) in enumerate(cells):
        columns[row, query] = columns[row, queries + point] = 1
    effects = np.linalg.lstsq(columns, np.array([value for *_, value in cells]), rcond=None)[0][
        queries:
    ]
    effects[~columns[:, queries:].any(axis=0)] = np.nan
    return effects - np.nanmean(effects)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_it_equals_a_dense_fit_and_plain_loops(seed, points):
    queries = random_queries(seed)
    curve = response_curve(queries, unit=0.7, points=points, seed=1, resamples=20)
    used = [one for one in queries if len(one.places) > 1]
    assert curve.figures.left_out == len(queries) - len(used)
    by_score = list(cell_means(used, points, lambda one: one.scores / 0.7))
    by_rank = cell_means(used, points, lambda one: one.reciprocal_ranks)
    assert (
        list(curve.counts)
        == np.bincount([point for _, point, _ in by_score], minlength=points).tolist()
    )
    level = np.mean([one.reciprocal_ranks.mean() for one in used])
    scores, ranks = (np.array(row, float) for row in (curve.scores, curve.ranks))
    assert scores == pytest.approx(fitted(by_score, len(used), points), abs=1e-9, nan_ok=True)
    assert ranks == pytest.approx(fitted(by_rank, len(used), points) + level, abs=1e-9, nan_ok=True)
    above = below = 0.0
    for one in used:
        for x, y in zip(one.places, one.scores, strict=True):
            above += (x - one.places.mean()) * (y - one.scores.mean()) / 0.7
            below += (x - one.places.mean()) ** 2
    assert curve.figures.slope.value == pytest.approx(above / below)


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
        [
            moved(f"p{i:02d}q{q}", row, None, f"p{i:02d}")
            for i, row in enumerate(scores)
            for q in range(10)
        ],
        seed=1,
    )
    assert many.score_lows == pytest.approx(once.score_lows, nan_ok=True)
    assert many.figures.slope.low == pytest.approx(once.figures.slope.low)
    assert once.figures.slope.low < -1 < once.figures.slope.high < 0
    assert once.score_lows[0] < once.scores[0] < once.score_highs[0]
    # no place is nearest to ¼ and ¾
    assert (once.scores[1], once.score_lows[1], once.ranks[1], list(once.counts)) == (
        None,
        None,
        None,
        [60, 0, 60, 0, 60],
    )


def test_nothing_to_move_and_one_query():
    empty = response_curve([moved("a", [3.0])], seed=1)
    assert (list(empty.counts), list(empty.scores)) == ([0] * 5, [None] * 5)
    assert (empty.figures.slope.value, empty.figures.left_out) == (None, 1)
    one = response_curve([moved("a", [3.0, 1.0])], seed=1)
    assert one.scores == [pytest.approx(1), None, None, None, pytest.approx(-1)]
    assert list(one.score_lows) == [None] * 5
    assert one.figures.slope.value == -2
    assert one.figures.slope.undefined == "the interval: fewer than 5 clusters of queries"


@pytest.mark.parametrize(
    ("places", "scores", "ranks", "message"),
    [
        ([0, 1], [1], [1, 1], "q: wanted a score and a reciprocal rank per place"),
        ([0, 1], [1, np.nan], [1, 1], "q: wanted finite places, scores and ranks"),
        ([0, 1.5], [1, 2], [1, 1], "q: wanted places from 0 to 1; found 0 to 1.5"),
    ],
)
def test_faults(places, scores, ranks, message):
    with pytest.raises(ValueError, match=message):
        Moved("q", "p", np.array(places), np.array(scores), np.array(ranks))
    with pytest.raises(ValueError, match="wanted a unit above 0"):
        response_curve([], unit=0, seed=1)
