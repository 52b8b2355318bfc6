"""Who feeds a pool and who is tested on it: by hand, and what a draw does not depend on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.pooling.judged_runs import JudgedRuns
from positionbias.pooling.pools import draw_groups, draw_pools, gold_pool, pool_kinds
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import System

from .worked import worked

SYSTEMS = [
    System(f"{kind}{n}", f"g{n}", kind)
    for kind, size in (("old", 5), ("new", 3))
    for n in range(size)
]


def test_half_of_the_groups_of_the_kind_are_drawn_rounded_down() -> None:
    drawn = {draw_groups(SYSTEMS, "old", number, 1) for number in range(60)}
    assert {len(groups) for groups in drawn} == {2}
    assert len(drawn) == 10  # every pair of five
    assert {len(draw_groups(SYSTEMS, "new", number, 1)) for number in range(5)} == {1}


def test_a_draw_is_its_key_s_alone() -> None:
    shuffled = [SYSTEMS[place] for place in np.random.default_rng(1).permutation(len(SYSTEMS))]
    without_others = [system for system in SYSTEMS if system.kind == "old"]
    for number in range(5):
        expected = draw_groups(SYSTEMS, "old", number, 7)
        assert draw_groups(shuffled, "old", number, 7) == expected
        assert draw_groups(without_others, "old", number, 7) == expected
    assert {draw_groups(SYSTEMS, "old", 0, seed) for seed in range(30)} != {
        draw_groups(SYSTEMS, "old", 0, 1)
    }


def test_more_groups_are_added_to_those_of_a_smaller_pool_and_one_is_left() -> None:
    drawn = [set(draw_groups(SYSTEMS, "old", 3, 1, count)) for count in range(1, 9)]
    assert [len(groups) for groups in drawn] == [1, 2, 3, 4, 4, 4, 4, 4]
    assert all(small <= large for small, large in pairwise(drawn))


def test_a_drawn_groups_runs_of_its_kind_feed_the_pool_and_all_its_runs_leave_the_test() -> None:
    runs = worked()  # groups of traditional runs: one (t1) and two (t2; n2 is neural)
    pools = draw_pools(runs, "traditional", range(12), PoolSettings(depth=1, pools=12))
    expected = {
        # t1 puts a (number 2) and d (4) first; t2 has x, which nobody judged, and e (5), and takes
        # n2 out with it
        ("one",): ([2, 4], [False, True, True, True]),
        ("two",): ([5], [True, False, True, False]),
    }
    assert set(pools.groups) == set(expected)
    for groups, judged, test in zip(pools.groups, pools.judged, pools.test, strict=True):
        assert (np.flatnonzero(judged).tolist(), test.tolist()) == expected[groups]


def test_the_gold_is_the_pool_of_all_runs_or_every_judgement() -> None:
    runs = worked()
    assert np.flatnonzero(gold_pool(runs, PoolSettings(depth=1))).tolist() == [0, 1, 2, 3, 4, 5]
    # at depth 1: a, x, b, c | d, e, f, nothing: all six. With t2 and n2 alone c and e
    fewer = JudgedRuns(
        runs.systems[1::2], runs.query_ids, runs.places[:, 1::2], runs.ranks[1::2], runs.grades,
        runs.starts, {}
    )  # fmt: skip
    assert np.flatnonzero(gold_pool(fewer, PoolSettings(depth=1))).tolist() == [1, 5]
    assert np.flatnonzero(gold_pool(fewer, PoolSettings(depth=1, gold_depth=2))).tolist() == [
        1,
        2,
        4,
        5,
    ]
    assert gold_pool(fewer, PoolSettings(gold="all")).all()


def test_a_kind_of_one_group_feeds_no_pool() -> None:
    assert pool_kinds([*SYSTEMS, System("m", "g9", "manual")]) == ("old", "new")
    with pytest.raises(InputError, match="wanted at least 2 kinds; found old"):
        pool_kinds(SYSTEMS[:5])
    with pytest.raises(InputError, match="wanted a kind with at least 2 groups"):
        pool_kinds([SYSTEMS[0], SYSTEMS[-1]])
    with pytest.raises(
        InputError, match="wanted kinds not named all or gold; found 'all'; rename it"
    ):
        pool_kinds([*SYSTEMS, System("m", "g9", "all")])


@pytest.mark.parametrize(
    ("settings", "flag"),
    [
        ({"depth": 0}, "--depth"),
        ({"pools": 0}, "--pools"),
        ({"gold": "half"}, "--gold"),
        ({"groups": 0}, "--groups"),
        ({"gold_depth": 0}, "--gold-depth"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_setting_outside_its_range_names_its_flag(settings: dict, flag: str) -> None:
    with pytest.raises(SettingError, match=f"^{flag}: wanted"):
        PoolSettings(**settings)
