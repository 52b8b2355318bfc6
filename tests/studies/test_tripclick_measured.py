"""What a TripClick study measures, worked by hand from made-up runs: effectiveness, depth curves, tests, false negatives, sentences."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.groups import Groups
from positionbias.core.payloads import Comparison, Finding
from positionbias.core.result import Facts, Result
from positionbias.report.tripclick_select import AGAINST_BM25, CURVES, FIRST, MEMBERS, NEGATIVES, SETS, compared_along
from positionbias.studies.tripclick_measured import measure_tripclick
from positionbias.studies.tripclick_published import CELLS, paper_test

from .tripclicking import CAT, DOT, ORIGINAL, QUERIES, TK, TOGETHER, made_up

BM25 = Facts(model="bm25", role=FIRST)


def rank(facts: Facts, seed: int, split: str, query: int) -> int:
    """TK 2, BERT_CAT 1 (2 for query 0), on original negatives 3 (4 for query 0) with seed 1 and 1 with seed 2, the ensemble 1; BERT_DOT 4."""
    if facts == ORIGINAL:
        return (4 if query == 0 else 3) if seed == 1 else 1
    return {TK: 2, CAT: 2 if query == 0 else 1, DOT: 4, TOGETHER: 1}[facts]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return measure_tripclick(made_up(tmp_path_factory.mktemp("tripclick") / "study", rank))


def gain(at: int) -> float:
    return 1 / log2(at + 1)


def value(results: list[Result], facts: Facts, measure: str, split: str = "head_test.dctr") -> float:
    (found,) = [r for r in results if r.kind == "per_query" and (r.facts, r.measure, r.split) == (facts, measure, split)]
    assert found.value is not None
    assert found.count == QUERIES
    return found.value


@pytest.mark.parametrize("split", ["head_test.dctr", "tail_test"])
def test_effectiveness_by_hand(results: list[Result], split: str) -> None:
    # BM25 has what is relevant at rank 5; all ten candidates hold the five that are judged
    assert value(results, BM25, "nDCG@10", split) == pytest.approx(gain(5))
    assert value(results, BM25, "Judged@10", split) == pytest.approx(0.5)
    assert value(results, BM25, "R@1000", split) == 1
    assert value(results, TK, "RR@10", split) == pytest.approx(1 / 2)
    assert value(results, CAT, "nDCG@10", split) == pytest.approx((19 + gain(2)) / 20)
    # a query's value is the mean over two seeds: (0.5 + 1) / 2, of query 0 (1 / log2 5 + 1) / 2
    assert value(results, ORIGINAL, "nDCG@10", split) == pytest.approx((19 * 0.75 + (gain(4) + 1) / 2) / 20)
    assert value(results, DOT, "RR@10", split) == pytest.approx(1 / 4)
    assert value(results, TOGETHER, "RR@10", split) == 1


def test_re_rankers_have_no_recall_and_curves_only_where_they_were_asked_for(results: list[Result]) -> None:
    measured = {(r.facts.model, r.measure) for r in results if r.kind == "per_query"}
    assert ("tk", "R@100") not in measured
    assert ("bert_dot", "R@200") in measured
    curves = [r for r in results if r.measure == CURVES]
    assert {r.split for r in curves} == {"head_test.dctr"}
    assert [r.facts for r in curves] == [TK, CAT, ORIGINAL]


def test_a_depth_curve_by_hand(results: list[Result]) -> None:
    (curve,) = [r for r in results if r.measure == CURVES and r.facts == TK]
    rows: Any = curve.payload.rows  # type: ignore[union-attr]
    points = {point["depth"]: point["mean"] for point in rows["points"]}
    # the relevant candidate is BM25's fifth: re-ranked from depth 5 on
    assert points == pytest.approx({3: gain(5), 6: gain(2), 10: gain(2)})
    changes = rows["to the deepest from"]
    assert changes["3"]["mean"] == pytest.approx(gain(2) - gain(5))
    assert changes["6"]["mean"] == 0
    assert curve.value == pytest.approx(gain(2))


def test_the_tests_name_what_is_compared(results: list[Result]) -> None:
    def of(axis: str) -> list[tuple[Result, Comparison]]:
        return [(r, p) for r, p in compared_along(results, axis) if (r.measure, r.split) == ("nDCG@10", "tail_test")]

    assert [r.facts for r, _ in of(AGAINST_BM25)] == [TK, CAT, DOT, TOGETHER, ORIGINAL]
    ((better, gained),) = of(NEGATIVES)
    assert better.facts == CAT
    assert gained.notes["systems"] == ["BERT_CAT, scibert (original)", "BERT_CAT, scibert (regenerated)"]
    # of query 0 2's gain less the mean of 4's and 1's
    expected = (19 * 0.25 + gain(2) - (gain(4) + 1) / 2) / 20
    assert gained.difference == pytest.approx(expected)
    assert {p.baseline for _, p in of(MEMBERS)} == {"TK (regenerated)", "BERT_CAT, scibert (regenerated)"}


def test_false_negatives_are_counted_exactly(results: list[Result]) -> None:
    sets = {r.facts.variant: r for r in results if r.measure == SETS}
    # original: passages 4 and 5 of each query, of which 5 is relevant in truth
    assert sets["original"].value == 0.5
    assert sets["original"].count == 2 * QUERIES
    # regenerated: two of the nine candidates that were not clicked, of which one is relevant in truth
    share = sets["regenerated"].value
    assert share is not None
    assert 0 < share < 0.5
    assert sets["regenerated"].count == 2 * QUERIES


def test_sets_are_drawn_by_one_rule(tmp_path: Path) -> None:
    study = made_up(tmp_path / "study", rank, tests=("tail_test",), seeds=(1,))
    for name, path in study.trainsets.items():
        groups = list(Groups(path))
        assert all(group.labels == (1, 0) for group in groups)
        assert all(group.passage_ids[0] == f"{group.query_id}-0" for group in groups)
        assert len({(group.query_id, group.passage_ids[1]) for group in groups}) == len(groups)
        if name == "original":
            assert {group.passage_ids[1].rpartition("-")[2] for group in groups} == {"4", "5"}


def test_what_is_said(results: list[Result]) -> None:
    said = [r.payload.text for r in results if isinstance(r.payload, Finding)]
    assert any(text.startswith("Negatives that are relevant in truth, by training set: regenerated ") for text in said)
    assert any("original 20 of 40 (50.0%)" in text for text in said)
    assert any(
        text.startswith("BERT_CAT, scibert on head_test.dctr: nDCG@10 0.982 with regenerated negatives, 0.748 with original;")
        for text in said
    )
    assert any(
        text.startswith("TK (regenerated) on head_test.dctr: from re-ranking depth 6 to 10 nDCG@10 changes by") for text in said
    )
    assert any(text.startswith("tail_test: the ensemble has nDCG@10 1.000, the best of its models (BERT_CAT") for text in said)
    assert any("J@10 50% (50%)" in text for text in said)
    assert not any(text.startswith("No test is one of the paper's") for text in said)


def test_the_papers_cells_by_hand() -> None:
    # 12 lines × 3 tests × 2 measures, and 4 lines × 6
    assert [sum(cell.table == table for cell in CELLS) for table in (1, 2)] == [72, 24]
    assert len({cell.place for cell in CELLS}) == len(CELLS)
    by_place = {cell.place: cell.value for cell in CELLS}
    assert by_place["Table 1, line 12, Tail (RAW), MRR"] == 0.392
    assert by_place["Table 1, line 5, Torso (RAW), nDCG"] == 0.326
    assert by_place["Table 2, line 14, J@10"] == 0.41
    assert by_place["Table 2, line 1, R@1K"] == 0.834


@pytest.mark.parametrize(
    ("label", "test"),
    [
        ("head_test.dctr", "Head (DCTR)"),
        ("trip.torso_test", "Torso (RAW)"),
        ("head_test", None),
        ("tail_test.dctr", None),
        ("test", None),
    ],
)
def test_which_splits_are_the_papers(label: str, test: str | None) -> None:
    assert paper_test(label) == test
