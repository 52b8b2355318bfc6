"""Sheets to label: what is drawn, what is chosen, and the tables of what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.rows import Collected
from positionbias.leakage.labelled import (
    most_similar,
    read_labels,
    review_rows,
    stratified_sample,
)
from positionbias.leakage.pairs import LABELS, Ids, Pair
from positionbias.leakage.settings import SampleSettings


def pair(train: str, test: str, cosine: float, label: str = "") -> Pair:
    return Pair(train, test, {"cosine": cosine}, label=label)


def rows_of(sheet: Mapping[Ids, Pair]) -> dict[tuple[str, str], float]:
    """The values of a review by statistic, and subset or label."""
    review_rows(made := Collected(), sheet)
    return {(row.statistic, row.subset or row.label): row.value for row in made.rows.itertuples()}


def test_equal_strata_and_weights() -> None:
    # four strata of 0.05: 10, 2, 0 and 8 pairs; 12 wanted: 3 each, of which the second lacks 1 and
    # the third 3
    scores = [0.81] * 10 + [0.86] * 2 + [0.95, 1.0000005] + [0.97] * 6 + [0.79] * 5
    pairs = [pair(f"q{n}", "t", score) for n, score in enumerate(scores)]
    settings = SampleSettings(sample_size=12, strata=4)
    drawn, strata = stratified_sample(pairs, settings)
    assert [(part.low, part.high, part.pairs, part.drawn) for part in strata] == [
        (0.8, 0.85, 10, 5),
        (0.85, 0.9, 2, 2),
        (0.9, 0.95, 0, 0),
        (0.95, 1.0, 8, 5),
    ]
    assert Counter(item.weight for item in drawn) == {10 / 5: 5, 2 / 2: 2, 8 / 5: 5}
    assert sum(item.weight for item in drawn) == pytest.approx(20)  # all that are from 0.8 up
    again, _ = stratified_sample(list(reversed(pairs)), settings)
    assert again == drawn  # whatever the order
    other, _ = stratified_sample(pairs, replace(settings, seed=2))
    assert {item.ids for item in other} != {item.ids for item in drawn}
    everything, _ = stratified_sample(pairs, replace(settings, sample_size=100))
    assert len(everything) == 20


def test_what_a_sample_refuses() -> None:
    for settings, flag in (
        ({"above": 1}, "--above"),
        ({"strata": 0}, "--strata"),
        ({"sample_size": 3}, "--sample-size"),
    ):
        with pytest.raises(SettingError, match=flag):
            SampleSettings(**settings)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a cosine from 0.8 up; found none of 1"):
        stratified_sample([pair("a", "t", 0.7)], SampleSettings())


def test_the_most_similar_of_each_test_query() -> None:
    pairs = [
        pair("a", "t2", 0.9),
        pair("b", "t1", 0.95),
        pair("c", "t2", 0.95),
        pair("d", "t2", 0.9),
        pair("c", "t2", 0.99),
    ]
    assert [item.ids[1:3] for item in most_similar(pairs, per_test=2)] == [
        ("c", "t2"),
        ("a", "t2"),
        ("b", "t1"),
    ]
    assert [item.ids[1:3] for item in most_similar(pairs, threshold=0.95)] == [
        ("c", "t2"),
        ("b", "t1"),
    ]


def test_tables_by_hand() -> None:
    first = [
        pair("a", "t1", 1, "identical"),
        pair("b", "t1", 1, "different topic"),
        pair("c", "t2", 1, "reformulation"),
    ]
    first += [pair("d", "t3", 1)]
    rows = rows_of({item.ids: item for item in first})
    assert [rows[name, "true"] for name in ("pairs", "test queries")] == [2, 2]
    assert [rows[name, "false"] for name in ("pairs", "test queries")] == [1, 1]
    assert rows["pairs", "without label"] == 1
    named = {label: rows["pairs", label] for label in LABELS}
    assert {label: count for label, count in named.items() if count} == {
        "identical": 1,
        "reformulation": 1,
        "different topic": 1,
    }


def test_what_a_review_refuses(tmp_path: Path) -> None:
    (place := tmp_path / "s.tsv").write_text(
        "train_id\ttest_id\tlabel\na\tt\tleak\na\tt\tidentical\n", encoding="utf-8"
    )
    with pytest.raises(
        InputError,
        match=r"s.tsv:3: wanted one label per pair; found 'identical', and 'leak' at line 2",
    ):
        read_labels([place])
