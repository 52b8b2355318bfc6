"""One new run on one collection: bounds by hand and by trying every choice, and what comparisons are safe."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.core.payloads import Finding
from positionbias.core.records import Qrel
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.scores import PoolMeasure, pool_measures, score_pools
from positionbias.pooling.systems import System
from positionbias.pooling.verdict import difference_bounds, score_bounds, verdict, verdict_results

from .worked import as_run


def judged(rankings: dict[str, list[str]], grades: dict[str, int]) -> JudgedRuns:
    listed = ((System(name, name, "k"), as_run(name, {"1": ids})) for name, ids in rankings.items())
    return judge_runs(listed, [Qrel("1", passage, grade) for passage, grade in grades.items()])


def test_bounds_by_hand() -> None:
    runs = judged({"r": ["x", "a", "y", "b"]}, {"a": 1, "b": 0})
    [precision] = pool_measures(["P@4"])
    # one of four is relevant, two more could be
    assert score_bounds(runs, precision).low.item() == 0.25
    assert score_bounds(runs, precision).high.item() == 0.75
    # x, at rank 1, could be the first relevant one
    bounds = score_bounds(runs, pool_measures(["RR"])[0])
    assert (bounds.low.item(), bounds.high.item()) == (0.5, 1.0)
    # nDCG@2: a at rank 2 of a best at rank 1 is 1 / log2 3; with x both ranks are relevant, as is the best: 1
    bounds = score_bounds(runs, pool_measures(["nDCG@2"])[0])
    assert bounds.low.item() == pytest.approx(1 / np.log2(3))
    assert bounds.high.item() == pytest.approx(1.0)


def test_one_more_relevant_document_can_lower_ndcg() -> None:
    runs = judged({"r": ["a", "b", "c", "x"]}, {"a": 1, "b": 0, "c": 0})
    bounds = score_bounds(runs, pool_measures(["nDCG@4"])[0])
    # with x: (1 + 1 / log2 5) of (1 + 1 / log2 3)
    assert (bounds.score.item(), bounds.high.item()) == (1.0, 1.0)
    assert bounds.low.item() == pytest.approx((1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3)))


@settings(max_examples=40)
@given(data=st.data(), name=st.sampled_from(["nDCG@3", "nDCG@5", "P@3", "RR", "RR@2"]))
def test_bounds_are_those_of_every_choice(data: st.DataObject, name: str) -> None:
    ids = [f"d{number}" for number in range(8)]
    grades = data.draw(st.dictionaries(st.sampled_from(ids), st.integers(-1, 2), min_size=1, max_size=5))
    ranking = data.draw(st.permutations(ids))[: data.draw(st.integers(1, 6))]
    runs = judged({"r": ranking}, grades)
    [measure] = pool_measures([name])
    bounds = score_bounds(runs, measure)
    highest = max(1, *grades.values())
    # beyond the cutoff only RR without one looks
    unknown = [passage for passage in ranking[: measure.cutoff] if passage not in grades]
    values = []
    for choice in product([0, highest], repeat=len(unknown)):
        chosen = judged({"r": ranking}, grades | dict(zip(unknown, choice, strict=True)))
        values.append(score_pools(chosen, np.ones((1, chosen.unjudged), bool), measure).item())
    assert (bounds.low.item(), bounds.high.item()) == pytest.approx((min(values), max(values)))


@settings(max_examples=60)
@given(data=st.data(), name=st.sampled_from(["nDCG@2", "nDCG@3", "P@3", "RR@3"]))
def test_no_choice_among_the_documents_of_two_runs_leaves_the_bounds_of_their_difference(
    data: st.DataObject, name: str
) -> None:
    ids = [f"d{number}" for number in range(6)]
    grades = data.draw(st.dictionaries(st.sampled_from(ids), st.integers(0, 2), min_size=1, max_size=3))
    rankings = {run: data.draw(st.permutations(ids))[: data.draw(st.integers(1, 4))] for run in ("old", "new")}
    runs = judged(rankings, grades)
    [measure] = pool_measures([name])
    bounds = difference_bounds(runs, measure, score_bounds(runs, measure))
    unknown = sorted({passage for ranking in rankings.values() for passage in ranking[: measure.cutoff]} - set(grades))
    for choice in product([0, max(1, *grades.values())], repeat=len(unknown)):
        chosen = judged(rankings, grades | dict(zip(unknown, choice, strict=True)))
        [[old, new]] = score_pools(chosen, np.ones((1, chosen.unjudged), bool), measure)[0].tolist()
        assert bounds.low.item() - 1e-9 <= new - old <= bounds.high.item() + 1e-9


def test_relevant_documents_of_the_other_run_lower_one_s_ndcg() -> None:
    # query 1: the one relevant document against two unjudged; query 2: it at rank 2 against none
    old, new = as_run("old", {"1": ["x", "y"], "2": ["n"]}), as_run("new", {"1": ["a"], "2": ["n", "a"]})
    qrels = [Qrel("1", "a", 1), Qrel("2", "a", 1), Qrel("2", "n", 0)]
    runs = judge_runs([(System("old", "o", "k"), old), (System("new", "n", "new"), new)], qrels)
    results = verdict_results(verdict(runs, pool_measures(["nDCG@2"])), collection="worked")
    [compared] = next(result for result in results if result.measure == "safe comparisons by nDCG@2").payload.rows[
        "comparisons"
    ]
    # with x and y relevant, query 1: new 1 / (1 + 1 / log2 3), old 1; query 2 stays 1 / log2 3 and 0
    second = 1 / np.log2(3)
    assert compared["least"] == pytest.approx((1 / (1 + second) - 1 + second) / 2)
    assert compared["most"] == pytest.approx((1 + second) / 2)
    # each alone would have new at 1 and old at 1 on query 1
    assert compared["least"] < second / 2


@pytest.mark.parametrize(
    "measure",
    [PoolMeasure("Bpref", "", None, 1), PoolMeasure("AP", "AP", None, 1), PoolMeasure("nDCG", "nDCG", None, 1)],
    ids=str,
)
def test_a_measure_without_known_bounds_is_refused(measure: PoolMeasure) -> None:
    with pytest.raises(SettingError, match="-m: wanted nDCG@k, RR or P@k, whose bounds are known"):
        score_bounds(judged({"r": ["a"]}, {"a": 1}), measure)


def test_a_verdict_by_hand() -> None:
    # P@2 over one query: new 0 of x, y (0 to 1); "sure" both judged, 1; "none" both judged, 0
    rankings = {"sure": ["a", "b"], "none": ["c", "d"], "open": ["c", "z"], "new": ["x", "y"]}
    runs = judged(rankings, {"a": 1, "b": 1, "c": 0, "d": 0})
    results = verdict_results(verdict(runs, pool_measures(["P@2"]), depth=2), collection="worked")
    head = results[0].payload.rows
    assert (results[0].value, head["pooled mean"], head["pooled most"]) == (1.0, pytest.approx(1 / 6), 0.5)
    # p = 0.8: both ranks are open, 0.2 + 0.16, and all beyond, 0.64
    assert (head["RBP"], head["RBP residual"]) == (0, pytest.approx(1))
    comparisons = next(result for result in results if result.measure == "safe comparisons by P@2")
    # it may reach what "sure" has, and not exceed it: no choice makes the two differ the other way, but a tie is not "worse"
    says = {
        item["run"]: (item["least"], item["most"], item["says"], item["now"])
        for item in comparisons.payload.rows["comparisons"]
    }
    assert says == {
        "sure": (-1, 0, "open", "worse"),
        "none": (0, 1, "open", "equal"),
        "open": (-0.5, 1, "open", "equal"),
    }
    assert comparisons.value == 0
    finding = next(result.payload for result in results if isinstance(result.payload, Finding))
    assert "Of the first 2 of new 100.0\u00a0% are unjudged" in finding.text
    assert finding.holds is False


def test_a_comparison_that_no_choice_changes_is_safe() -> None:
    rankings = {"weak": ["c", "d", "x"], "strong": ["a", "b", "e"], "new": ["a", "c", "y"]}
    grades = {"a": 1, "b": 1, "e": 1, "c": 0, "d": 0}
    qrels = [Qrel(query, passage, grade) for query in "123" for passage, grade in grades.items()]
    listed = [(System(name, name, "k"), as_run(name, dict.fromkeys("123", ids))) for name, ids in rankings.items()]
    results = verdict_results(verdict(judge_runs(listed, qrels), pool_measures(["P@2"])), collection="worked")
    comparisons = next(result for result in results if result.measure == "safe comparisons by P@2")
    # P@2: new ½, weak 0, strong 1, all judged
    assert [(item["run"], item["says"], item["significant"]) for item in comparisons.payload.rows["comparisons"]] == [
        ("weak", "better", True), ("strong", "worse", True),
    ]  # fmt: skip
    assert comparisons.value == 1


def test_a_run_with_nothing_for_a_query_is_counted() -> None:
    listed = [
        (System("pooled", "p", "k"), as_run("pooled", {"1": ["a"], "2": ["b"]})),
        (System("new", "n", "new"), as_run("new", {"1": ["a"]})),
    ]
    runs = judge_runs(listed, [Qrel("1", "a", 1), Qrel("2", "b", 1)])
    results = verdict_results(verdict(runs, pool_measures(["nDCG@10"])), collection="worked")
    rows = results[0].payload.rows
    assert (rows["queries without candidates"], rows["share"]) == (1, 0.0)
    assert next(r for r in results if r.measure == "score by nDCG@10").value == 0.5
