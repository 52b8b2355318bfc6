"""One new run on one collection: the answer and its sentences, with and without pooled runs, and
the list for assessors.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.records import Qrel
from positionbias.pooling.open_runs import open_runs
from positionbias.pooling.relevance import fit_relevance
from positionbias.pooling.settings import VerdictSettings
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.pooling.verdict import Obstacle, RunVerdict, verdict
from positionbias.pooling.verdict_results import verdict_results, write_judge_next
from positionbias.results.payloads import Finding
from positionbias.results.pool_verdict import (
    ComparisonsFigures,
    RunAnswer,
    ScoreFigures,
    UnjudgedFigures,
)
from positionbias.results.select import of_type

from .worked import as_run

SIMULATION = Simulation(rate=0.5, queries=10, groups=6)


def simulated(
    *names: str, kinds: tuple[str, ...] = ("traditional",), groups: int = 6
) -> RunVerdict:
    """A new neural run on the pool of these kinds' runs, which knows only what they have."""
    settings = replace(SIMULATION, groups=groups)
    pooled = [item for item in simulated_runs(settings) if item[0].kind in kinds]
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    seen = {
        (ranking.query_id, passage)
        for _, run in pooled
        for ranking in run.rankings()
        for passage in ranking.passage_ids
    }
    qrels = [qrel for qrel in simulated_qrels(settings) if qrel[:2] in seen]
    everything = [*pooled, (System("new", "new", ""), new)]
    return verdict(
        open_runs(lambda: everything, qrels, 10), VerdictSettings(measures=names or ["nDCG@10"])
    )


@pytest.mark.parametrize("name", ["nDCG@10", "P@10", "RR", "AP", "RBP"])
def test_a_prediction_lies_within_the_bounds(name: str) -> None:
    found = simulated(name)
    [item] = found.measures
    assert item.interval is not None
    assert item.orders is not None
    low, high = item.bounds.low[:, -1].mean(), item.bounds.high[:, -1].mean()
    assert low <= item.interval.low <= item.expected <= item.interval.high <= high
    assert ((item.orders.better >= 0) & (item.orders.better <= 1)).all()
    assert len(item.orders.better) == 6
    # what no choice of relevant documents changes, no probability denies
    certain = item.differences.low.mean(axis=0)[:-1] > 0
    assert (item.orders.better[certain] > 0.5).all()


def test_the_sentences_say_the_answer_first_and_the_next_step_last() -> None:
    results = verdict_results(simulated(), collection="simulated")
    finding = results[0].payload
    assert isinstance(finding, Finding)
    lines = finding.text.splitlines()
    assert finding.holds is False
    assert lines[0].startswith("new cannot be judged yet by nDCG@10: 60.0\u00a0% of its first 10")
    assert "unjudged documents need judgements." in lines[0]
    assert lines[1].startswith("Predicted nDCG@10: 0.")
    assert lines[2].startswith("On these queries better than ")
    assert lines[3].startswith("For new queries like these, ")
    assert lines[4].startswith("Left out of the pool in turn, ")
    # every group has one run
    assert "No two runs share a group" in lines[4]
    assert lines[5].startswith("Next: judge the first ")
    [(_, own)] = of_type(results, ScoreFigures)
    assert own.low <= own.predicted_low <= own.predicted <= own.predicted_high <= own.high
    [(orders, compared)] = of_type(results, ComparisonsFigures)
    says = [one.says for one in compared.comparisons]
    assert orders.value == pytest.approx(1 - says.count("open") / 6)


def test_a_run_whose_documents_are_all_judged_can_be_judged() -> None:
    pooled = list(simulated_runs(SIMULATION))
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    everything = [*pooled, (System("new", "new", ""), new)]
    found = verdict(
        open_runs(lambda: everything, simulated_qrels(SIMULATION), 10),
        VerdictSettings(measures=["P@10"]),
    )
    [item] = found.measures
    assert (item.answer, item.needed) == (RunAnswer.YES, 0)
    assert item.interval is not None
    assert (item.interval.low, item.interval.high) == (item.expected, item.expected)
    assert item.orders is not None
    assert set(item.orders.better.tolist()) <= {0.0, 0.5, 1.0}
    assert (
        "can be judged by P@10: 0.0\u00a0% of its first 10"
        in verdict_results(found, collection="c")[0].payload.text
    )


@pytest.mark.parametrize("groups", [0, 3])
def test_without_enough_groups_the_judged_depth_is_all(groups: int) -> None:
    new = as_run("new", {"1": ["a", "x"], "2": ["b", "y"], "3": ["c", "d"]})
    pooled = [
        (System(f"p{n}", f"p{n}", ""), as_run(f"p{n}", {"1": ["a"], "2": ["b"], "3": ["d"]}))
        for n in range(groups)
    ]
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1), Qrel("3", "c", 1), Qrel("3", "d", 1)]
    everything = [*pooled, (System("new", "new", ""), new)]
    found = verdict(open_runs(lambda: everything, qrels, 10), VerdictSettings(measures=["P@2"]))
    [item] = found.measures
    assert (item.answer, item.interval, item.orders) == (RunAnswer.UNKNOWN, None, None)
    # d is all that is judged at rank 2, and relevant: so would x and y be
    assert item.expected == 1
    results = verdict_results(found, collection="worked")
    text = results[0].payload.text
    assert text.startswith("Cannot tell whether new can be judged by P@2: ")
    assert (
        "no pooled runs"
        if not groups
        else (
            "at least 4 groups of pooled runs must have unique documents, and fewer of the 3 given "
            "have"
        )
    ) in text
    assert "P@2: 0.667 by the judged documents, 0.667 to 1.000 possible" in text
    assert "A weaker estimate, without an error rate: 1.000 if" in text
    assert "Down to rank 1 at least" in text
    assert results[0].payload.holds is None


def test_of_more_unjudged_than_of_any_left_out_run_nothing_is_predicted() -> None:
    pooled = simulated_runs(SIMULATION)
    strange = as_run(
        "strange",
        {
            str(n): [f"unknown {n} {rank}" for rank in range(10)]
            for n in {q.query_id for q in simulated_qrels(SIMULATION)}
        },
    )
    everything = [*pooled, (System("strange", "strange", ""), strange)]
    found = verdict(
        open_runs(lambda: everything, simulated_qrels(SIMULATION), 10),
        VerdictSettings(measures=["nDCG@10"]),
    )
    [item] = found.measures
    assert (item.answer, item.obstacle, item.interval) == (RunAnswer.UNKNOWN, Obstacle.BEYOND, None)
    assert found.most_open is not None
    assert 0 < found.most_open < 1
    text = verdict_results(found, collection="simulated")[0].payload.text
    assert text.startswith(
        "Cannot tell whether strange can be judged by nDCG@10: a larger share is unjudged than of "
        "any left-out pooled run (at most "
    )
    assert "100.0\u00a0% of its first 10 are unjudged" in text


def test_beyond_what_was_fitted_to_a_feature_has_the_effect_of_its_end() -> None:
    found = simulated()
    unseen = found.measures[0].guess.unseen
    grades = np.arange(len(unseen.rank)) % 2
    fit = fit_relevance(unseen, grades, np.array([1]), 10)
    far = replace(
        unseen, features=np.where(np.arange(unseen.features.shape[1]) == 0, 1e6, unseen.features)
    )
    ends = replace(
        unseen,
        features=np.where(np.arange(unseen.features.shape[1]) == 0, fit.most[0], unseen.features),
    )
    np.testing.assert_array_equal(fit.log_odds(far), fit.log_odds(ends))


def test_two_runs_that_cannot_differ_are_equal() -> None:
    qrels = [
        Qrel(query, passage, grade)
        for query in "123"
        for passage, grade in {"a": 1, "b": 0}.items()
    ]
    listed = [
        (System(name, name, "k"), as_run(name, {key: ["a", "b"] for key in "123"}))
        for name in ("twin", "new")
    ]
    results = verdict_results(
        verdict(open_runs(lambda: listed, qrels, 10), VerdictSettings(measures=["P@2"])),
        collection="worked",
    )
    [(_, compared)] = of_type(results, ComparisonsFigures)
    assert [(one.says, one.certain, one.new_queries) for one in compared.comparisons] == [
        ("equal", True, False)
    ]


def test_bounds_decide_orders_where_nothing_can_be_predicted() -> None:
    rankings = {"weak": ["c", "d"], "strong": ["a", "b"], "new": ["a", "c"]}
    qrels = [
        Qrel(query, passage, grade)
        for query in "123"
        for passage, grade in {"a": 1, "b": 1, "c": 0, "d": 0}.items()
    ]
    listed = [
        (System(name, name, "k"), as_run(name, dict.fromkeys("123", ids)))
        for name, ids in rankings.items()
    ]
    results = verdict_results(
        verdict(open_runs(lambda: listed, qrels, 10), VerdictSettings(measures=["P@2"])),
        collection="worked",
    )
    [(_, compared)] = of_type(results, ComparisonsFigures)
    assert [(one.run, one.says, one.certain, one.probability) for one in compared.comparisons] == [
        ("weak", "better", True, None), ("strong", "worse", True, None),
    ]  # fmt: skip


def test_the_list_for_assessors(tmp_path: Path) -> None:
    found = simulated()
    path = tmp_path / "next.tsv"
    count = write_judge_next(found, path)
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["query_id", "document_id", "expected_reduction"]
    rows = [line.split("\t") for line in lines]
    assert (
        len({tuple(row[:2]) for row in rows})
        == count
        == int((~found.runs.known_places[:, -1, :10]).sum())
    )
    values = [float(row[2]) for row in rows]
    assert values == sorted(values, reverse=True)
    # each is an unjudged document of the new run
    judged = {(query, document) for query, document, known in zip(
        np.array(found.runs.runs.query_ids)[found.runs.runs.query_of], found.runs.runs.documents,
        found.runs.known, strict=True) if known}  # fmt: skip
    assert not judged & {tuple(row[:2]) for row in rows}


def test_a_run_with_nothing_for_a_query_is_counted() -> None:
    listed = [
        (System("pooled", "p", "k"), as_run("pooled", {"1": ["a"], "2": ["b"]})),
        (System("new", "n", ""), as_run("new", {"1": ["a"]})),
    ]
    found = verdict(
        open_runs(lambda: listed, [Qrel("1", "a", 1), Qrel("2", "b", 1)], 10),
        VerdictSettings(measures=["nDCG@10"]),
    )
    results = verdict_results(found, collection="worked")
    [(_, head)], [(score, _)] = of_type(results, UnjudgedFigures), of_type(results, ScoreFigures)
    assert (head.without_candidates, head.share, score.value) == (1, 0.0, 0.5)
    # p = 0.8: the first rank is judged in query 1 alone
    assert (head.rbp, head.residual) == (pytest.approx(0.1), pytest.approx(0.9))
