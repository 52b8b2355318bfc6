"""Scores under pools: by hand, and equal to pytrec_eval's and ir_measures' where a pool is handed
to them as judgements.
"""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.records import Qrel
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.rank_biased_precision import rank_biased_precision
from positionbias.pooling.judged_runs import judge_runs
from positionbias.pooling.scores import (
    PoolMeasure,
    judged_shares,
    pool_measures,
    residual_weights,
    residuals,
    score_pools,
)
from positionbias.pooling.systems import System

from .worked import as_run, worked


def test_by_hand() -> None:
    runs = worked()
    pools = np.array([[True] * 6, [True, False, True, False, True, True]])
    # n1, query 1, all judged: gains 2, 1, 0 in the best order; in the second pool c is not judged,
    # and b alone is relevant
    ndcg = score_pools(runs, pools, pool_measures(["nDCG@3"])[0])
    assert ndcg[:, 0, 2].tolist() == [1.0, 1.0]
    # t2, query 1: b at rank 3 is worth 2 / log2 4 = 1; the best is 2 + 1 / log2 3, then 2
    assert ndcg[:, 0, 1] == pytest.approx([1 / (2 + 1 / np.log2(3)), 0.5])
    rr = score_pools(runs, pools, pool_measures(["RR"])[0])
    # n1, query 2: f, z, d; without f the first relevant one is d at rank 3
    assert rr[:, 1, 2] == pytest.approx([1.0, 1 / 3])
    assert rr[:, 1, 3].tolist() == [0.0, 0.0]  # it has nothing there
    assert score_pools(runs, pools, pool_measures(["P@2"])[0])[:, 0, 2].tolist() == [1.0, 0.5]
    # n1, query 2, all judged: relevant at ranks 1 and 3 of 2: (1 + 2/3) / 2
    assert score_pools(runs, pools, pool_measures(["AP"])[0])[0, 1, 2] == pytest.approx(5 / 6)


def test_judged_shares_by_hand() -> None:
    runs = worked()
    shares = judged_shares(
        runs, np.array([[True] * 6, [False, False, True, False, False, False]]), 2
    )
    # query 1: t1 has a, b; t2 has x, a; n1 has b, c; n2 has c, x. The second pool holds a alone
    assert shares[:, 0].tolist() == [[1.0, 0.5, 1.0, 0.5], [0.5, 0.5, 0.0, 0.0]]
    assert shares[0, 1, :3].tolist() == [1.0, 1.0, 0.5]
    assert np.isnan(shares[:, 1, 3]).all()  # n2 has nothing for query 2


def test_residuals_are_those_of_rank_biased_precision() -> None:
    runs = worked()
    pools = np.array([[True] * 6, [True, False, True, False, False, True], [False] * 6])
    found = residuals(residual_weights(runs), pools)
    for pool, of_pool in zip(pools, found, strict=True):
        known = np.append(pool, [False, False])[runs.places]
        expected = rank_biased_precision(np.zeros(known.shape), known).residual.mean(axis=0)
        assert of_pool == pytest.approx(expected)
    # n2, all judged: c and b at ranks 1 and 3 of query 1, nothing of query 2: 1 − (0.2 + 0.128) / 2
    assert found[0, 3] == pytest.approx(0.836)
    assert found[2] == pytest.approx(1)


def test_the_level_stands_in_the_name_and_what_is_named_keeps_its_own() -> None:
    assert pool_measures(["RR", "nDCG@10", "P(rel=1)@5", "RR"], level=2) == [
        PoolMeasure("RR(rel=2)", "RR", None, 2),
        PoolMeasure("nDCG@10", "nDCG", 10, 1),
        PoolMeasure("P@5", "P", 5, 1),
    ]
    assert [
        measure.kind for measure in pool_measures(["Bpref", "R@5", "nDCG(dcg='exp-log2')@5"])
    ] == ["", "", ""]


NAMES = ["nDCG@3", "nDCG", "RR", "RR(rel=2)", "P@2", "AP", "AP(rel=2)@3", "R@2", "Bpref"]


@settings(max_examples=15)
@given(data=st.data())
def test_every_measure_equals_pytrec_eval_s_of_the_pool(data: st.DataObject) -> None:
    ids = [f"d{number}" for number in range(7)]
    grades = data.draw(
        st.lists(
            st.lists(st.sampled_from([-1, 0, 1, 2, 3, None]), min_size=7, max_size=7),
            min_size=1,
            max_size=3,
        )
    )
    qrels = [
        Qrel(str(query), passage, grade)
        for query, row in enumerate(grades)
        for passage, grade in zip(ids, row, strict=True)
        if grade is not None
    ] + [Qrel("9", "other", 1)]
    query_ids = [*dict.fromkeys(qrel.query_id for qrel in qrels), "8"]
    rankings = [
        {
            query: data.draw(st.permutations(ids))[: data.draw(st.integers(1, 7))]
            for query in query_ids
            if data.draw(st.booleans())
        }
        | {"9": ["d1", "other"]}
        for _ in range(2)
    ]
    runs = judge_runs(
        [(System(f"r{n}", "g", "k"), as_run(f"r{n}", found)) for n, found in enumerate(rankings)],
        qrels,
    )
    pools = np.array(
        data.draw(
            st.lists(
                st.lists(st.booleans(), min_size=len(qrels), max_size=len(qrels)),
                min_size=1,
                max_size=3,
            )
        )
    )
    ordered = sorted(qrels, key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
    measures = pool_measures(NAMES)
    values = [score_pools(runs, pools, measure) for measure in measures]
    assert {found.shape for found in values} == {(len(pools), len(runs.query_ids), 2)}
    for place, pool in enumerate(pools):
        kept = [qrel for qrel, chosen in zip(ordered, pool, strict=True) if chosen]
        for number, found in enumerate(rankings):
            peer = (
                per_query(as_run("x", found), kept, [measure.name for measure in measures])
                if kept
                else {}
            )
            for measure, ours in zip(measures, values, strict=True):
                expected = [peer.get(measure.name, {}).get(query, 0.0) for query in runs.query_ids]
                assert ours[place, :, number] == pytest.approx(expected, abs=1e-6), measure.name


def test_large_runs_equal_pytrec_eval_itself() -> None:
    random = np.random.default_rng(5)
    qrels = [
        Qrel(str(q), f"d{d}", int(random.integers(0, 3)))
        for q in range(6)
        for d in random.choice(300, 120, replace=False)
    ]
    rankings = {str(q): [f"d{d}" for d in random.permutation(300)[:200]] for q in range(6)}
    runs = judge_runs([(System("r", "g", "k"), as_run("r", rankings))], qrels)
    pools = random.random((4, len(qrels))) < 0.5
    ordered = sorted(qrels, key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
    for pool in pools:
        judged: dict[str, dict[str, int]] = {}
        for qrel, chosen in zip(ordered, pool, strict=True):
            if chosen:
                judged.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.grade
        peer = pytrec_eval.RelevanceEvaluator(
            judged, {"ndcg_cut.10", "recip_rank", "map"}
        ).evaluate(
            {
                query: {passage: -float(rank) for rank, passage in enumerate(ids)}
                for query, ids in rankings.items()
            }
        )
        for name, theirs in (("nDCG@10", "ndcg_cut_10"), ("RR", "recip_rank"), ("AP", "map")):
            ours = score_pools(runs, pool[None], pool_measures([name])[0])[0, :, 0]
            assert ours == pytest.approx(
                [peer[query][theirs] for query in runs.query_ids], abs=1e-6
            )
