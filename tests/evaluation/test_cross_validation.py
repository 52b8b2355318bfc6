"""Cross-validation: the choice by hand, folds by their properties, what cannot be folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError, SettingError
from positionbias.evaluation.cross_validation import check_folds, cross_validate, query_folds

FOLDS = [["a", "b"], ["c"], ["d"]]
VALUES = {
    1000: {"a": 0.1, "b": 0.3, "c": 0.9, "d": 0.2},
    2000: {"a": 0.4, "b": 0.4, "c": 0.1, "d": 0.3},
}


def test_the_choice_by_hand() -> None:
    found = cross_validate(VALUES, FOLDS)
    # without {a, b}: 1000 has (0.9 + 0.2) / 2, 2000 has (0.1 + 0.3) / 2; without c: 0.6 / 3 against
    # 1.1 / 3; without d: 1.3 against 0.9
    assert found == [1000, 2000, 1000]


def test_the_choice_where_lower_is_better() -> None:
    found = cross_validate(VALUES, FOLDS, larger_is_better=False)
    assert found == [2000, 1000, 2000]


def test_of_equal_settings_the_first() -> None:
    even = {8: {"a": 0.1 + 0.2, "b": 0.0}, 4: {"a": 0.3, "b": 0.0}}  # equal but for rounding
    assert cross_validate(even, [["a"], ["b"]]) == [8, 8]


@given(st.sets(st.text(min_size=1, max_size=4), min_size=5, max_size=40), st.integers(0, 99))
def test_folds_part_the_queries_evenly_and_do_not_depend_on_their_order(
    queries: set[str], seed: int
) -> None:
    folds = query_folds(sorted(queries), seed=seed)
    assert sorted(query for fold in folds for query in fold) == sorted(queries)
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert query_folds(sorted(queries, reverse=True), seed=seed) == folds


def test_what_cannot_be_folded() -> None:
    with pytest.raises(
        InputError, match="wanted at least one query per fold; found 4 for 5 folds; lower --folds"
    ):
        query_folds(["a", "b", "c", "d"], seed=1)
    with pytest.raises(SettingError, match="--folds: wanted at least 2; found 1"):
        query_folds(["a", "b"], folds=1, seed=1)
    check_folds(FOLDS, {"a", "c", "d"})
    with pytest.raises(
        InputError,
        match=r"a query with relevant passages in each fold; found none in fold 2 of 3 \(c\)",
    ):
        check_folds(FOLDS, {"a", "b", "d"})
