"""What a TripClick study measures, worked by hand from made-up runs: effectiveness, depth curves,
tests, false negatives, sentences.
"""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.core.records import Interval
from positionbias.core.rows import read_csv
from positionbias.core.run import Run
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import system_cells
from positionbias.papers.tripclick import Fall
from positionbias.papers.tripclick.measured import (
    PUBLISHED,
    fall,
    measure_tripclick,
    within_candidates,
)
from positionbias.papers.tripclick.shown import NEGATIVES, OVER_BM25, SHOWN

from .made_up import CAT, DOT, ORIGINAL, QUERIES, TK, TOGETHER, made_up

BM25 = Facts(model="bm25", role="first stage")


def rank(facts: Facts, seed: int, split: str, query: int) -> int:
    """TK 2, BERT_CAT 1 (2 for query 0), on original negatives 3 (4 for query 0) with seed 1 and 1
    with seed 2, the ensemble 1; BERT_DOT 4.
    """
    if facts == ORIGINAL:
        return (4 if query == 0 else 3) if seed == 1 else 1
    return {TK: 2, CAT: 2 if query == 0 else 1, DOT: 4, TOGETHER: 1}[facts]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    made = measure_tripclick(made_up(tmp_path_factory.mktemp("tripclick") / "study", rank))
    return SHOWN.own(made.rows)


def gain(at: int) -> float:
    return 1 / log2(at + 1)


def of_system(rows: DataFrame, facts: Facts, **cells: object) -> DataFrame:
    """Return our rows of a system that have these cells."""
    for name, cell in {**system_cells(facts), "whose": "", "seed": -1, **cells}.items():
        if cell is not None:
            rows = rows[rows[name] == cell]
    return rows


def value(rows: DataFrame, facts: Facts, measure: str, split: str = "head_test.dctr") -> float:
    place = {"measure": measure, "split": split, "statistic": "mean", "axis": ""}
    found = of_system(rows, facts, **place)
    assert list(found["count"]) == [QUERIES]
    return float(found["value"].iloc[0])


@pytest.mark.parametrize("split", ["head_test.dctr", "tail_test"])
def test_effectiveness_by_hand(rows: DataFrame, split: str) -> None:
    # BM25 has what is relevant at rank 5; all ten candidates hold the five that are judged
    assert value(rows, BM25, "nDCG@10", split) == pytest.approx(gain(5))
    assert value(rows, BM25, "Judged@10", split) == pytest.approx(0.5)
    assert value(rows, BM25, "R@1000", split) == 1
    assert value(rows, TK, "RR@10", split) == pytest.approx(1 / 2)
    assert value(rows, CAT, "nDCG@10", split) == pytest.approx((19 + gain(2)) / 20)
    # a query's value is the mean over two seeds: (0.5 + 1) / 2, of query 0 (1 / log2 5 + 1) / 2
    assert value(rows, ORIGINAL, "nDCG@10", split) == pytest.approx(
        (19 * 0.75 + (gain(4) + 1) / 2) / 20
    )
    assert value(rows, DOT, "RR@10", split) == pytest.approx(1 / 4)
    assert value(rows, TOGETHER, "RR@10", split) == 1


def test_a_depth_curve_by_hand(rows: DataFrame) -> None:
    curve = of_system(rows, TK, axis="depth")
    points = curve[curve["statistic"] == "mean"].set_index("label")["value"].to_dict()
    # the relevant candidate is BM25's fifth: re-ranked from depth 5 on
    assert points == pytest.approx({"3": gain(5), "6": gain(2), "10": gain(2)})
    changes = curve[curve["statistic"] == "change"].set_index("against")["value"].to_dict()
    assert changes == pytest.approx({"depth=6": 0})


def test_the_tests_name_what_is_compared(rows: DataFrame) -> None:
    tested = rows.query("statistic == 'difference' and measure == 'nDCG@10' and seed == -1")
    tail = tested[tested["split"] == "tail_test"]
    assert list(tail.query(OVER_BM25)["whole"]) == [
        "TK (regenerated)",
        "BERT_CAT, scibert (regenerated)",
        "BERT_DOT, scibert (regenerated)",
        "Ensemble (regenerated)",
        "BERT_CAT, scibert (original)",
    ]
    (gained,) = tail.query(NEGATIVES).itertuples()
    assert (gained.whole, gained.against) == (
        "BERT_CAT, scibert (regenerated)",
        "variant=original",
    )
    # of query 0 2's gain less the mean of 4's and 1's
    expected = (19 * 0.25 + gain(2) - (gain(4) + 1) / 2) / 20
    assert gained.value == pytest.approx(expected)


def test_false_negatives_are_counted_exactly(rows: DataFrame) -> None:
    sets = rows.query("measure == 'training set'").set_index(["variant", "statistic"])["value"]
    # original: passages 4 and 5 of each query, of which 5 is relevant in truth
    assert sets["original", "share false"] == 0.5
    assert sets["original", "groups"] == sets["regenerated", "groups"] == 2 * QUERIES
    # regenerated: two of the nine candidates that were not clicked, of which one is relevant in
    # truth
    assert 0 < sets["regenerated", "share false"] < 0.5


@pytest.mark.parametrize(
    ("bounds", "answer"),
    [
        ((-0.02, -0.005), Fall.NONE),  # of 0.9: 0.027
        ((-0.2, -0.05), Fall.FALLS),
        ((-0.2, 0.1), Fall.UNKNOWN),
        ((0.01, 0.03), Fall.RISES),
    ],
    ids=[
        "small",
        "fall",
        "undecided",
        "rise",
    ],
)
def test_how_a_fall_by_depth_is_judged(bounds: tuple[float, float] | None, answer: Fall) -> None:
    assert fall(Interval(*bounds) if bounds else None, 0.03 * 0.9) is answer


def test_depths_that_most_queries_have_candidates_for() -> None:
    sizes = {"a": 2, "b": 5, "c": 9, "d": 9}
    run = Run(
        "run",
        (
            (q, [f"{q}{n}" for n in range(size)], np.arange(size, 0, -1.0))
            for q, size in sizes.items()
        ),
    )
    queries = [*sizes, "without candidates"]
    assert within_candidates(run, queries, (2, 5, 6, 9)) == [2, 5]
    assert within_candidates(run, queries, (50, 100)) == []


def test_recall_is_no_deeper_than_runs(tmp_path: Path) -> None:
    study = made_up(
        tmp_path / "study", rank, tests=("head_test:dctr",), reach=6, retrieval_depth=150
    )
    rows = SHOWN.own(measure_tripclick(study).rows)
    # no recall at 100 of six candidates, and none at 200 of 150 retrieved
    means = rows.query("statistic == 'mean' and whose == '' and axis == ''")
    measured = means.groupby("model")["measure"].agg(list)
    assert measured["bm25"] == ["Judged@10", "nDCG@10", "RR@10"]
    assert measured["bert_dot"] == ["Judged@10", "nDCG@10", "RR@10", "R@100"]
    curve = of_system(rows, TK, axis="depth")
    assert list(curve["label"]) == ["3", "6"]  # candidates end there, and nothing changes below


def test_the_papers_cells_by_hand() -> None:
    cells = read_csv(PUBLISHED)
    # 12 lines × 3 tests × 2 measures, and 4 lines × 6, of which BM25's nDCG and MRR are the same
    assert len(cells) == 72 + 24 - 2
    beside = cells.set_index(["family", "split", "measure"])["value"]
    assert beside["Table 1, line 12", "Tail (RAW)", "RR@10"] == 0.392
    assert beside["Table 1, line 5", "Torso (RAW)", "nDCG@10"] == 0.326
    assert beside["Table 2, line 14", "Head (DCTR)", "Judged@10"] == 0.41
    assert beside["Table 2, line 1", "Head (DCTR)", "R@1000"] == 0.834
