"""Buckets of positions: their edges, what falls where, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.evaluation.buckets import Buckets


def test_a_bucket_holds_its_left_end_and_the_last_one_its_right_too():
    buckets = Buckets("relative", (0, 0.2, 0.5, 1))
    positions = [0, 0.1999, 0.2, 0.5, 1.0, -0.001, 1.001, np.nan]
    assert buckets.assign(np.array(positions)).tolist() == [0, 0, 1, 2, 2, -1, -1, -1]
    assert len(buckets) == 3
    assert buckets.labels == ["0 to 0.2", "0.2 to 0.5", "0.5 to 1"]
    assert buckets.middles == pytest.approx([0.1, 0.35, 0.75])


def test_what_lies_beyond_the_last_edge_is_outside():
    by_character = Buckets("characters", (0, 100, 200, 300, 400, 500, 3120))
    assert by_character.assign(np.array([0, 99, 100, 499, 500, 3120, 3121])).tolist() == [
        0,
        0,
        1,
        4,
        5,
        5,
        -1,
    ]


@given(st.integers(1, 400), st.data())
def test_positions_on_an_edge_belong_to_the_bucket_that_it_starts(words, data):
    # 20·first / words in whole numbers, against float positions and edges
    first = data.draw(st.integers(0, words - 1))
    assert Buckets.relative(20).assign(np.array([first / words])).tolist() == [
        int(20 * Fraction(first, words))
    ]


@pytest.mark.parametrize(
    ("queries", "count"), [(0, 2), (89, 2), (90, 3), (599, 19), (600, 20), (1_000_000, 20)]
)
def test_default_buckets_follow_the_number_of_queries(queries, count):
    assert len(Buckets.relative_for(queries)) == count


@pytest.mark.parametrize(
    ("text", "scale", "edges"),
    [("0,0.2,0.5,1", "relative", (0, 0.2, 0.5, 1)), ("0, 100, 250", "characters", (0, 100, 250))],
)
def test_edges_are_read(text, scale, edges):
    assert Buckets.parse(text) == Buckets(scale, edges)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "found ''"),
        ("0,1", r"found 2 \(0,1\)"),
        ("0,half,1", "found '0,half,1'"),
        ("0,0.5,0.5,1", "wanted increasing edges"),
        ("1,0.5,0", "wanted increasing edges"),
        ("0,nan,1", "wanted numbers as edges"),
        ("0,0.5,inf", "wanted numbers as edges"),
        ("-1,0,1", "wanted edges from 0"),
        (",".join(map(str, range(1_003))), "found 1,003"),
    ],
)
def test_other_edges_are_refused(text, found):
    with pytest.raises(SettingError, match=f"--buckets: .*{found}"):
        Buckets.parse(text)


def test_an_unknown_scale_is_refused():
    with pytest.raises(SettingError, match="found 'words'"):
        Buckets("words", (0, 1, 2))
