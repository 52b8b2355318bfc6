"""One new run on one collection: the answer, with and without pooled runs, its rows, and what is
said of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.pooling.measured import pool_rows, verdict_rows
from positionbias.pooling.open_runs import open_runs
from positionbias.pooling.relevance import fit_relevance
from positionbias.pooling.settings import VerdictSettings
from positionbias.pooling.shown import SHOWN
from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs
from positionbias.pooling.systems import System
from positionbias.pooling.verdict import Obstacle, RunAnswer, RunVerdict, verdict

from .worked import as_run, row

SIMULATION = Simulation(rate=0.5, queries=10, groups=6)


def judged(
    pooled: Sequence[tuple[System, Run]], new: Run, qrels: Sequence[Qrel], measure: str
) -> RunVerdict:
    everything = [*pooled, (System("new", "new", ""), new)]
    return verdict(open_runs(lambda: everything, qrels, 10), VerdictSettings(measures=[measure]))


def simulated(measure: str = "nDCG@10", kinds: Sequence[str] = ("traditional",)) -> RunVerdict:
    """A new neural run on the pool of these kinds' runs, which knows only what they have."""
    pooled = [item for item in simulated_runs(SIMULATION) if item[0].kind in kinds]
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    seen = {
        (ranking.query_id, passage)
        for _, run in pooled
        for ranking in run.rankings()
        for passage in ranking.passage_ids
    }
    qrels = simulated_qrels(SIMULATION)
    return judged(pooled, new, [q for q in qrels if q[:2] in seen or len(kinds) > 1], measure)


def made(verdict_: RunVerdict) -> Collected:
    rows = pool_rows("c")
    verdict_rows(rows, verdict_)
    return rows


def ranked(**rankings: Sequence[str]) -> list[tuple[System, Run]]:
    """The same ranking for three queries, by run."""
    return [
        (System(name, name, "k"), as_run(name, dict.fromkeys("123", ids)))
        for name, ids in rankings.items()
    ]


def grades(by_document: Mapping[str, int]) -> list[Qrel]:
    return [Qrel(query, *item) for query in "123" for item in by_document.items()]


def told(rows: Collected) -> str:
    (finding,) = SHOWN.findings(rows.rows)
    return finding.text


@pytest.mark.parametrize("name", ["nDCG@10", "P@10", "RR", "AP", "RBP"])
def test_a_prediction_lies_within_the_bounds(name: str) -> None:
    [item] = simulated(name).measures
    assert item.interval is not None
    assert item.orders is not None
    low, high = item.bounds.low[:, -1].mean(), item.bounds.high[:, -1].mean()
    assert low <= item.interval.low <= item.expected <= item.interval.high <= high
    # what no choice of relevant documents changes, no probability denies
    certain = item.differences.low.mean(axis=0)[:-1] > 0
    assert (item.orders.better[certain] > 0.5).all()


def test_the_sentences_say_the_answer_first_and_the_next_step_last() -> None:
    rows = made(simulated())
    starts = (
        "new cannot be judged yet by nDCG@10: 60.0\u00a0% of its first 10 are unjudged, which",
        "Predicted nDCG@10: 0.",
        "On these queries better than ",
        "For new queries like these, ",
        "Left out of the pool in turn, ",
        "Next: judge the first ",
    )
    lines = told(rows).splitlines()
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == [*starts]
    # every group has one run
    assert "No two runs share a group" in lines[4]
    (tile,) = SHOWN.tiles(rows.rows)
    assert (tile.words, tile.welcome) == ("Cannot be judged yet", False)
    assert tile.advice.startswith("Judge the first ")


def test_a_run_whose_documents_are_all_judged_can_be_judged() -> None:
    complete = simulated("P@10", ("traditional", "neural"))
    [item] = complete.measures
    assert (item.answer, item.needed) == (RunAnswer.YES, 0)
    assert item.interval is not None
    assert item.orders is not None
    assert (item.interval.low, item.interval.high) == (item.expected, item.expected)
    assert set(item.orders.better.tolist()) <= {0.0, 0.5, 1.0}
    assert "can be judged by P@10: 0.0\u00a0% of its first 10" in told(made(complete))


@pytest.mark.parametrize(
    ("groups", "missing"),
    [
        (0, "no pooled runs, so"),
        (3, "at least 4 groups of pooled runs must have unique documents, and fewer of the 3"),
    ],
)
def test_without_enough_groups_the_judged_depth_is_all(groups: int, missing: str) -> None:
    new = as_run("new", {"1": ["a", "x"], "2": ["b", "y"], "3": ["c", "d"]})
    old = as_run("p", {"1": ["a"], "2": ["b"], "3": ["d"]})
    pooled = [(System(f"p{n}", f"p{n}", ""), old) for n in range(groups)]
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1), Qrel("3", "c", 1), Qrel("3", "d", 1)]
    short = judged(pooled, new, qrels, "P@2")
    [item] = short.measures
    assert (item.answer, item.interval, item.orders) == (RunAnswer.UNKNOWN, None, None)
    # d is all that is judged at rank 2, and relevant: so would x and y be
    assert item.expected == 1
    text = told(made(short))
    assert text.startswith(f"Cannot tell whether new can be judged by P@2: {missing}")
    assert "P@2: 0.667 by the judged documents, 0.667 to 1.000 possible" in text
    assert "A weaker estimate, without an error rate: 1.000 if" in text
    assert "Down to rank 1 at least" in text


def test_of_more_unjudged_than_of_any_left_out_run_nothing_is_predicted() -> None:
    qrels = simulated_qrels(SIMULATION)
    unknown = {query: [f"unknown {rank}" for rank in range(10)] for query, *_ in qrels}
    strange = judged(list(simulated_runs(SIMULATION)), as_run("new", unknown), qrels, "nDCG@10")
    [item] = strange.measures
    assert (item.answer, item.obstacle, item.interval) == (RunAnswer.UNKNOWN, Obstacle.BEYOND, None)
    assert strange.most_open is not None
    assert 0 < strange.most_open < 1
    text = told(made(strange))
    assert "a larger share is unjudged than of any left-out pooled run (at most " in text
    assert "100.0\u00a0% of its first 10 are unjudged" in text


def test_beyond_what_was_fitted_to_a_feature_has_the_effect_of_its_end() -> None:
    unseen = simulated().measures[0].guess.unseen
    fit = fit_relevance(unseen, np.arange(len(unseen.rank)) % 2, np.array([1]), 10)
    first = np.arange(unseen.features.shape[1]) == 0
    far, end = (
        replace(unseen, features=np.where(first, value, unseen.features))
        for value in (1e6, fit.most[0])
    )
    np.testing.assert_array_equal(fit.log_odds(far), fit.log_odds(end))


def test_bounds_decide_orders_where_nothing_can_be_predicted() -> None:
    pooled = ranked(weak=["c", "d"], strong=["a", "b"], twin=["a", "c"])
    [(_, new)] = ranked(new=["a", "c"])
    rows = made(judged(pooled, new, grades({"a": 1, "b": 1, "c": 0, "d": 0}), "P@2")).rows
    leads = rows.query("statistic == 'lead'")[["run", "value", "answer"]]
    assert leads.to_numpy().tolist() == [
        ["weak", 0.5, "better, certainly"], ["strong", -0.5, "worse, certainly"],
        ["twin", 0.0, "equal"],
    ]  # fmt: skip
    assert not (rows["statistic"] == "probability").any()


def test_a_run_with_nothing_for_a_query_is_counted() -> None:
    pooled = [(System("pooled", "p", "k"), as_run("pooled", {"1": ["a"], "2": ["b"]}))]
    qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1)]
    rows = made(judged(pooled, as_run("new", {"1": ["a"]}), qrels, "nDCG@10"))
    # p = 0.8: the first rank is judged in query 1 alone
    for measure, statistic, value in (
        ("unjudged@10", "queries without candidates", 1),
        ("unjudged@10", "share", 0.0),
        ("nDCG@10", "score", 0.5),
        ("RBP", "mean", 0.1),
        ("RBP", "residual", 0.9),
    ):
        own = row(rows, statistic, measure=measure, run="new").value
        assert own == pytest.approx(value)
