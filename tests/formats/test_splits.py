"""Validation queries drawn from training: in whole groups, so that no training query has their
passages.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel, Query
from positionbias.formats.validation_draw import (
    DrawnQueries,
    HoldOut,
    draw_validation,
    part,
    sharing_passages,
)

JUDGEMENTS = st.lists(
    st.tuples(st.integers(0, 29), st.integers(0, 39), st.integers(0, 2)),
    min_size=1,
    max_size=60,
    unique_by=lambda row: row[:2],
)


def queries(*numbers: int) -> list[Query]:
    return [Query(f"q{number}", "?") for number in numbers]


def test_queries_that_share_a_passage_are_a_group_also_through_others() -> None:
    # q1 and q2 share a, q2 and q3 share b; q4 has c alone; grade 0 of q5 in c joins nothing, and q5
    # has no relevant passage
    pairs = [
        ("q1", "a", 1),
        ("q2", "a", 1),
        ("q2", "b", 2),
        ("q3", "b", 1),
        ("q4", "c", 1),
        ("q5", "c", 0),
    ]
    group_of = sharing_passages(Qrel(*pair) for pair in pairs)
    assert group_of["q1"] == group_of["q2"] == group_of["q3"] != group_of["q4"]
    assert "q5" not in group_of


@given(JUDGEMENTS, st.integers(1, 29), st.integers(0, 5))
def test_no_training_query_has_a_validation_passage_and_none_is_lost(
    rows: list[tuple[int, int, int]], count: int, seed: int
) -> None:
    train = queries(*range(30))
    qrels = [Qrel(f"q{query}", f"p{passage}", grade) for query, passage, grade in rows]
    try:
        drawn = draw_validation(
            train, count, seed, purpose="test", groupings={HoldOut.PASSAGE: sharing_passages(qrels)}
        )
    except SettingError:
        return
    rest, held = part(qrels, drawn.query_ids)
    relevant = [{qrel.passage_id for qrel in side if qrel.grade} for side in (rest, held)]
    assert not relevant[0] & relevant[1]
    left, validation = part(train, drawn.query_ids)
    assert len(left) + len(validation) == 30
    assert 0 < len(validation) <= count
    again = draw_validation(
        list(reversed(train)),
        count,
        seed,
        purpose="test",
        groupings={HoldOut.PASSAGE: sharing_passages(reversed(qrels))},
    )
    assert again == drawn  # whatever the order of queries and judgements


def test_where_no_passage_is_shared_the_draw_is_that_by_query() -> None:
    train = queries(*range(50))
    alone = sharing_passages(Qrel(query.query_id, f"p{query.query_id}", 1) for query in train)
    drawn = [
        draw_validation(train, 20, 3, purpose="test", groupings={by: groups}).query_ids
        for by, groups in ((HoldOut.PASSAGE, alone), (HoldOut.QUERY, {}))
    ]
    assert drawn[0] == drawn[1]


def test_groups_too_large_for_the_rest_are_skipped() -> None:
    # groups of 3, 3, 3 and 1: of 5 asked for, one of three and the single one fit, and no second of
    # three
    group_of = {f"q{number}": f"{number // 3}" for number in range(10)}
    for seed in range(10):
        drawn = draw_validation(
            queries(*range(10)), 5, seed, purpose="test", groupings={HoldOut.PASSAGE: group_of}
        )
        assert (len(drawn.query_ids), drawn.units, "q9" in drawn.query_ids) == (4, 2, True)
        assert drawn.recorded() == DrawnQueries(HoldOut.PASSAGE, 5, 4, 2)


def test_articles_that_come_near_go_first_else_passages() -> None:
    articles = {f"q{number}": f"{number // 10}" for number in range(40)}
    passages = {f"q{number}": f"{number // 2}" for number in range(40)}
    groupings = {HoldOut.ARTICLE: articles, HoldOut.PASSAGE: passages}
    drawn = [
        draw_validation(queries(*range(40)), count, 1, purpose="test", groupings=groupings)
        for count in (22, 24, 6)
    ]
    # two articles of ten: 20 of 22 is within a tenth, 20 of 24 and 0 of 6 are not
    assert [(found.by, len(found.query_ids)) for found in drawn] == [
        (HoldOut.ARTICLE, 20),
        (HoldOut.PASSAGE, 24),
        (HoldOut.PASSAGE, 6),
    ]


def test_no_group_that_is_small_enough_is_said() -> None:
    groups = dict.fromkeys(("q0", "q1", "q2"), "all")
    with pytest.raises(
        SettingError,
        match=(
            "--validation-queries: wanted room .* found 2; raise it, or give --validation-by query"
        ),
    ):
        draw_validation(queries(0, 1, 2), 2, 1, purpose="test", groupings={HoldOut.PASSAGE: groups})
