"""Groups from judgements: by hand on one query, and what holds for any judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import Judged, judged_groups, judged_queries
from positionbias.core.errors import InputError
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel

CORPUS = [f"p{number}" for number in range(60)]
GONE = ["g1", "g2"]
judgements = st.dictionaries(
    st.tuples(st.sampled_from(["q1", "q2", "q3", "q4"]), st.sampled_from([*CORPUS[:22], *GONE])),
    st.integers(-1, 3),
    max_size=60,
).map(
    lambda grades: [
        Qrel(query_id, passage_id, grade) for (query_id, passage_id), grade in grades.items()
    ]
)


class Corpus(list[str]):
    def passage_ids_at(self, places: np.ndarray) -> Sequence[str]:
        return [self[place] for place in places.tolist()]


def groups(
    query: Judged, size: int, seed: int = 1, counts: Counter[str] | None = None
) -> list[TrainingGroup]:
    settings = ContaminatedSettings(group_size=size, seed=seed)
    collection: Any = Corpus(CORPUS)
    return list(judged_groups(query, collection, settings, Counter() if counts is None else counts))


def test_grades_become_positives_and_negatives() -> None:
    qrels = [
        Qrel("q", "a", 3),
        Qrel("q", "b", 2),
        Qrel("q", "c", 1),
        Qrel("q", "d", 0),
        Qrel("q", "e", -2),
        Qrel("r", "a", 1),
    ]
    queries, missing = judged_queries(qrels, (), 2, {})
    assert queries == [Judged("q", ["a", "b"], ["c", "d", "e"], ["a", "b", "c", "d", "e"])]
    assert missing == 0
    assert [query.positives for query in judged_queries(qrels, (), 1, {})[0]] == [
        ["a", "b", "c"],
        ["a"],
    ]


def test_of_two_grades_the_higher_counts_and_what_is_relevant_elsewhere_is_no_negative() -> None:
    qrels = [
        Qrel("q", "a", 0),
        Qrel("q", "a", 2),
        Qrel("q", "b", 1),
        Qrel("q", "b", 0),
        Qrel("q", "c", 0),
    ]
    ((query,), _) = judged_queries(qrels, (), 2, {"q": ("c", "x")})
    assert query == Judged("q", ["a"], ["b"], ["a", "b", "c", "x"])


def test_a_negative_stands_in_one_group_and_random_ones_follow() -> None:
    """Three positives and four negatives in groups of 3: six negatives wanted, four judged, two
    random.
    """
    query = Judged(
        "q",
        ("p0", "p1", "p2"),
        ("p3", "p4", "p5", "p6"),
        tuple(f"p{number}" for number in range(7)),
    )
    counts = Counter[str]()
    made = groups(query, 3, counts=counts)
    assert [group.labels for group in made] == [(1, 0, 0)] * 3
    assert {group.passage_ids[0] for group in made} == {"p0", "p1", "p2"}
    negatives = [item for group in made for item in group.passage_ids[1:]]
    assert sorted(negatives[:4]) == ["p3", "p4", "p5", "p6"]
    assert not set(negatives[4:]) & set(query.judged)
    assert counts == {"queries": 1, "groups": 3, "judged negatives": 4, "random negatives": 2}


def test_all_of_a_corpus_can_be_drawn_and_no_more() -> None:
    query = Judged("q", ("p0",), (), tuple(CORPUS[:57]))
    (group,) = groups(query, 4)
    assert sorted(group.passage_ids[1:]) == ["p57", "p58", "p59"]
    with pytest.raises(
        InputError, match=r"query 'q': wanted 4 random unjudged passages; found 3 in a corpus of 60"
    ):
        groups(query, 5)


@given(judgements, st.integers(2, 9), st.integers(1, 3), st.integers(0, 99))
def test_whatever_is_judged(qrels: list[Qrel], size: int, relevant_from: int, seed: int) -> None:
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in qrels}
    queries, missing = judged_queries(qrels, GONE, relevant_from, {})
    positives: Counter[tuple[str, str]] = Counter()
    judged_negatives: Counter[tuple[str, str]] = Counter()
    for query in queries:
        counts = Counter[str]()
        made = groups(query, size, seed, counts)
        counted = 0
        for group in made:
            assert (len(group.passage_ids), len(set(group.passage_ids))) == (size, size)
            assert group.labels == (1, *[0] * (size - 1))
            positives[group.query_id, group.passage_ids[0]] += 1
            for item in group.passage_ids[1:]:
                grade = grades.get((group.query_id, item))
                assert grade is None or grade < relevant_from  # no negative is judged relevant
                if grade is not None:
                    judged_negatives[group.query_id, item] += 1
                    counted += 1
        assert counts["judged negatives"] == counted
        assert counts["random negatives"] == len(made) * (size - 1) - counted
    wanted = {key for key, grade in grades.items() if grade >= relevant_from and key[1] not in GONE}
    assert positives == dict.fromkeys(wanted, 1)
    assert set(judged_negatives.values()) <= {1}
    every = {key for key, grade in grades.items() if grade >= relevant_from}
    assert missing == len(every - wanted)
