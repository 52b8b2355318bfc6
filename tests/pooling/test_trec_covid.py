"""The 126 runs of TREC-COVID's fifth round: our nDCG is the published one, and the gold is a
part of the judgements.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.qrels import read_qrels
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.pools import gold_pool
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import find_runs, read_runs, read_systems

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def folder(posbias_data: Path) -> Path:
    return posbias_data / "trec_covid_r5"


@pytest.fixture(scope="module")
def runs(folder: Path) -> JudgedRuns:
    table = folder / "systems.tsv"
    found = find_runs(folder / "runs", read_systems(table), table=table)
    assert not found.absent
    return judge_runs(read_runs(found.files), read_qrels(folder / "qrels.round5.txt"))


def test_ndcg_is_the_published_one(folder: Path, runs: JudgedRuns) -> None:
    values = score_pools(runs, np.ones((1, runs.unjudged), bool), pool_measures(["nDCG@20"])[0])[
        0
    ].mean(axis=0)
    with open(folder / "systems.tsv", encoding="utf-8", newline="") as handle:
        published = {
            row["run"]: row["published_ndcg"] for row in csv.DictReader(handle, delimiter="\t")
        }
    same = [
        f"{value:.4f}" == published[system.run]
        for system, value in zip(runs.systems, values, strict=True)
    ]
    # two differ through ties that were cut at rank 100
    assert (len(same), sum(same)) == (126, 124)


def test_the_gold_is_nearly_the_judged_part_of_the_depth_10_pool(runs: JudgedRuns) -> None:
    settings = PoolSettings()
    assert (runs.ranks < 10).any(axis=0).sum() == gold_pool(runs, settings).sum()
    assert 0.4 < gold_pool(runs, settings).mean() < 0.5
