"""The 126 runs of TREC-COVID's fifth round: our nDCG is the published one, and the gold is a
part of the judgements.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.qrels import Qrels
from positionbias.evaluation.judged_runs import JudgedRuns, judge_runs, pool_measures, score_pools
from positionbias.pooling.kinds import exchange_of
from positionbias.pooling.measured import find_runs, read_runs

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def folder(posbias_data: Path) -> Path:
    return posbias_data / "trec_covid_r5"


@pytest.fixture(scope="module")
def runs(folder: Path) -> JudgedRuns:
    found = find_runs(folder / "runs", folder / "systems.tsv")
    return judge_runs(read_runs(found), Qrels.from_file(folder / "qrels.round5.txt"))


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


def test_the_groups_that_exchange_kinds(runs: JudgedRuns) -> None:
    classes, arrangements = exchange_of(runs.systems, ("traditional", "neural"))
    # sizes 2: 3 ways; 3: 8!/(3! 4!); 6: 3!; 7: 3!/2 or 3! as vectors differ; 8: 6!/4!
    assert (sum(map(len, classes)), arrangements) == (23, 453_600)
