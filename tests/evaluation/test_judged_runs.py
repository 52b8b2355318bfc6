"""Scores under pools: by hand, and equal to pytrec_eval's where a pool is handed to it as
judgements.
"""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import SettingError
from positionbias.core.records import Qrel
from positionbias.evaluation.judged_runs import (
    PoolMeasure,
    System,
    judge_runs,
    pool_measures,
    score_pools,
)
from positionbias.evaluation.measures import per_query
from tests.pooling.worked import as_run, worked


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


def test_the_level_stands_in_the_name_and_what_is_named_keeps_its_own() -> None:
    assert pool_measures(["RR", "nDCG@10", "P(rel=1)@5", "RR"], level=2) == [
        PoolMeasure("RR(rel=2)", "RR", None, 2),
        PoolMeasure("nDCG@10", "nDCG", 10, 1),
        PoolMeasure("P@5", "P", 5, 1),
    ]


@pytest.mark.parametrize("name", ["Bpref", "R@5", "AP", "nDCG", "nDCG(dcg='exp-log2')@5"])
def test_other_measures_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="-m: wanted nDCG@k, RR or P@k; found "):
        pool_measures([name])


@pytest.mark.parametrize("size", [7, 300])
def test_every_measure_equals_pytrec_eval_s_of_the_pool(size: int) -> None:
    random = np.random.default_rng(size)
    measures = pool_measures(["nDCG@3", "nDCG@500", "RR", "RR(rel=2)@2", "P@2", "P(rel=2)@9"])
    for _ in range(12 if size < 10 else 2):
        qrels = [
            Qrel(str(query), f"d{number}", int(random.integers(-1, 4)))
            for query in range(3)
            for number in random.permutation(size)[: size * 2 // 3]
        ] + [Qrel("9", "other", 1)]
        qrels.sort(key=lambda qrel: (qrel.query_id, -qrel.grade, qrel.passage_id))
        rankings = [
            {
                query: [f"d{number}" for number in random.permutation(size)[: 1 + size * 3 // 4]]
                for query in "0128"
                if random.random() < 0.7
            }
            | {"9": ["d1", "other"]}
            for _ in range(2)
        ]
        listed = [(System(f"r{n}", "g", "k"), as_run("x", own)) for n, own in enumerate(rankings)]
        runs = judge_runs(listed, qrels)
        pools = random.random((3, len(qrels))) < 0.6
        values = [score_pools(runs, pools, measure) for measure in measures]
        assert {found.shape for found in values} == {(3, len(runs.query_ids), 2)}
        for place, pool in enumerate(pools):
            kept = [qrel for qrel, chosen in zip(qrels, pool, strict=True) if chosen]
            for number, (_, run) in enumerate(listed):
                peer = per_query(run, kept, [measure.name for measure in measures])
                for measure, ours in zip(measures, values, strict=True):
                    own = peer.get(measure.name, {})
                    expected = [own.get(query, 0.0) for query in runs.query_ids]
                    assert ours[place, :, number] == pytest.approx(expected, abs=1e-6)
