"""What a TripClick study measures, worked by hand from made-up runs: effectiveness, depth curves,
tests, false negatives, sentences.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import keys64
from positionbias.papers.tripclick import (
    AGAINST_BM25,
    CURVES,
    FIRST,
    MEMBERS,
    NEGATIVES,
    SETS,
    TELEMETRY,
    DepthCurve,
    Telemetry,
    TrainingSet,
    compared_along,
    paper_test,
)
from positionbias.papers.tripclick.findings import tripclick_findings
from positionbias.papers.tripclick.measured import (
    against_regenerated,
    measure_tripclick,
    reached,
    within_candidates,
)
from positionbias.papers.tripclick.page import CELLS, retrieval_table
from positionbias.papers.tripclick.trainsets import Distinct, count_set
from positionbias.results.payloads import Comparison, Finding, PerQuery
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type

from .made_up import CAT, CLEAN, DOT, ORIGINAL, QUERIES, TK, TOGETHER, made_up

BM25 = Facts(model="bm25", role=FIRST)


def rank(facts: Facts, seed: int, split: str, query: int) -> int:
    """TK 2, BERT_CAT 1 (2 for query 0), on original negatives 3 (4 for query 0) with seed 1 and 1
    with seed 2, the ensemble 1; BERT_DOT 4.
    """
    if facts == ORIGINAL:
        return (4 if query == 0 else 3) if seed == 1 else 1
    return {TK: 2, CAT: 2 if query == 0 else 1, DOT: 4, TOGETHER: 1}[facts]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return measure_tripclick(made_up(tmp_path_factory.mktemp("tripclick") / "study", rank))


def gain(at: int) -> float:
    return 1 / log2(at + 1)


def value(
    results: list[Result], facts: Facts, measure: str, split: str = "head_test.dctr"
) -> float:
    (found,) = [
        r
        for r in results
        if r.kind == "per_query" and (r.facts, r.measure, r.split) == (facts, measure, split)
    ]
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
    assert value(results, ORIGINAL, "nDCG@10", split) == pytest.approx(
        (19 * 0.75 + (gain(4) + 1) / 2) / 20
    )
    assert value(results, DOT, "RR@10", split) == pytest.approx(1 / 4)
    assert value(results, TOGETHER, "RR@10", split) == 1


def test_re_rankers_have_no_recall_and_curves_only_where_they_were_asked_for(
    results: list[Result],
) -> None:
    measured = {(r.facts.model, r.measure) for r in results if r.kind == "per_query"}
    assert ("tk", "R@100") not in measured
    assert ("bert_dot", "R@200") in measured
    curves = [r for r in results if r.measure == CURVES]
    assert {r.split for r in curves} == {"head_test.dctr"}
    assert [r.facts for r in curves] == [TK, CAT, ORIGINAL]


def test_a_depth_curve_by_hand(results: list[Result]) -> None:
    result, curve = curve_of(results, TK)
    points = {point.depth: point.mean for point in curve.points}
    # the relevant candidate is BM25's fifth: re-ranked from depth 5 on
    assert points == pytest.approx({3: gain(5), 6: gain(2), 10: gain(2)})
    assert curve.changes["3"].mean == pytest.approx(gain(2) - gain(5))
    assert curve.changes["6"].mean == 0
    assert result.value == pytest.approx(gain(2))


def curve_of(results: list[Result], facts: Facts) -> tuple[Result, DepthCurve]:
    (found,) = [
        (result, curve) for result, curve in of_type(results, DepthCurve) if result.facts == facts
    ]
    return found


def test_the_tests_name_what_is_compared(results: list[Result]) -> None:
    def of(axis: str) -> list[tuple[Result, Comparison]]:
        return [
            (r, p)
            for r, p in compared_along(results, axis)
            if (r.measure, r.split) == ("nDCG@10", "tail_test")
        ]

    assert [r.facts for r, _ in of(AGAINST_BM25)] == [TK, CAT, DOT, TOGETHER, ORIGINAL]
    ((better, gained),) = of(NEGATIVES)
    assert better.facts == CAT
    assert gained.notes["systems"] == [
        "BERT_CAT, scibert (original)",
        "BERT_CAT, scibert (regenerated)",
    ]
    # of query 0 2's gain less the mean of 4's and 1's
    expected = (19 * 0.25 + gain(2) - (gain(4) + 1) / 2) / 20
    assert gained.difference == pytest.approx(expected)
    assert {p.baseline for _, p in of(MEMBERS)} == {
        "TK (regenerated)",
        "BERT_CAT, scibert (regenerated)",
    }


def test_false_negatives_are_counted_exactly(results: list[Result]) -> None:
    sets = {r.facts.variant: r for r in results if r.measure == SETS}
    # original: passages 4 and 5 of each query, of which 5 is relevant in truth
    assert sets["original"].value == 0.5
    assert sets["original"].count == 2 * QUERIES
    # regenerated: two of the nine candidates that were not clicked, of which one is relevant in
    # truth
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


@pytest.mark.parametrize(
    ("bounds", "says", "holds"),
    [
        ((-0.02, -0.005), "no fall beyond 3\u00a0%", True),  # of 0.9: 0.027
        ((-0.2, -0.05), "it falls", False),
        ((-0.2, 0.1), "cannot tell", None),
        ((-0.01, 0.2), "no fall beyond 3\u00a0%", True),
        ((0.01, 0.03), "it still rises", True),
        (None, "cannot tell", None),
    ],
    ids=["small", "fall", "undecided", "or a rise", "rise", "no interval"],
)
def test_how_a_fall_by_depth_is_judged(
    results: list[Result], bounds: tuple[float, float] | None, says: str, holds: bool | None
) -> None:
    result, curve = curve_of(results, TK)
    mean = sum(bounds) / 2 if bounds else -0.1
    change = Point(mean, Interval(*bounds, level=0.95, method="bootstrap") if bounds else None, 10)
    points = [*curve.points[:-1], structs.replace(curve.points[-1], mean=0.9 + mean)]
    payload = structs.replace(curve, points=points, changes={"6": change})
    changed = [replace(r, payload=payload) if r is result else r for r in results]
    (found,) = [
        f
        for f in tripclick_findings(changed)
        if f.text.startswith("TK (regenerated) on head_test.dctr: from re-ranking")
    ]
    assert found.text.endswith(f": {says}.")
    assert found.holds is holds


def test_what_is_said(results: list[Result]) -> None:
    said = [r.payload.text for r in results if isinstance(r.payload, Finding)]
    assert any(
        text.startswith("Negatives that are relevant in truth, by training set: regenerated ")
        for text in said
    )
    assert any("original 20 of 40 (50.0\u00a0%)" in text for text in said)
    assert any(
        text.startswith(
            "BERT_CAT, scibert on head_test.dctr: nDCG@10 0.982 with regenerated negatives, 0.748 "
            "with original;"
        )
        for text in said
    )
    assert any(
        text.startswith(
            "TK (regenerated) on head_test.dctr: from re-ranking depth 6 to 10 nDCG@10 changes by"
        )
        for text in said
    )
    assert any(
        text.startswith(
            "tail_test: the ensemble has nDCG@10 1.000, the best of its models (BERT_CAT"
        )
        for text in said
    )
    assert any("J@10 50\u00a0% (50\u00a0%)" in text for text in said)
    assert not any(text.startswith("No test is one of the paper's") for text in said)


def test_false_negatives_alone_are_tested(tmp_path: Path) -> None:
    def cleaner(facts: Facts, seed: int, split: str, query: int) -> int:
        return (2 if query == 1 else 1) if facts == CLEAN else rank(facts, seed, split, query)

    found = measure_tripclick(
        made_up(tmp_path / "study", cleaner, tests=("tail_test",), cleaned=True)
    )
    pairs = {
        (p.baseline, p.candidate): (r, p)
        for r, p in compared_along(found, NEGATIVES)
        if r.measure == "nDCG@10"
    }
    names = [
        f"BERT_CAT, scibert ({of})"
        for of in ("original", "original, false negatives left out", "regenerated")
    ]
    assert set(pairs) == {(names[0], names[1]), (names[0], names[2]), (names[1], names[2])}
    result, test = pairs[names[0], names[1]]
    # 19 queries at 1 and one at 2, less 0.75 of 19 queries and (1 / log2 5 + 1) / 2 of one
    assert result.facts == CLEAN
    assert test.difference == pytest.approx(
        (19 + gain(2)) / 20 - (19 * 0.75 + (gain(4) + 1) / 2) / 20
    )
    said = next(
        r.payload.text
        for r in found
        if isinstance(r.payload, Finding) and "only false ones" in r.payload.text
    )
    # of two negatives a query one is false, so that every query keeps one
    assert said.endswith(
        "only false ones are left out (20 triples of 20 queries instead of 40 triples of 20 "
        "queries)."
    )
    assert "with original, false negatives left out, 0.7" in said


@pytest.mark.parametrize("pairs", [False, True])
def test_an_index_and_what_runs_do_not_reach_leave_no_number(tmp_path: Path, pairs: bool) -> None:
    # candidates of the tests end at rank 6, which is the study's depth; deeper ones were asked for
    study = made_up(
        tmp_path / "study",
        rank,
        tests=("head_test:dctr",),
        reach=6,
        depth=6 if pairs else 8,
        retrieval_depth=150,
        index="hnsw",
    )
    found = measure_tripclick(study)
    _, curve = curve_of(found, TK)
    assert [(point.depth, point.reached) for point in curve.points] == [(3, 1.0), (6, 1.0)]
    assert curve.beyond == ([10] if pairs else [8, 10])
    said = {r.payload.text: r.payload.holds for r in found if isinstance(r.payload, Finding)}
    (text,) = [
        text
        for text in said
        if text.startswith("TK (regenerated) on head_test.dctr: from re-ranking depth 3 to 6")
    ]
    assert text.endswith(
        f"no candidates beyond --depth ({study.settings.depth}) exist, so the effect of more is "
        "unknown."
    )
    assert said[text] is None
    shallow = (
        "head_test.dctr: 0\u00a0% of the queries have the 8 candidates that are re-ranked (the "
        "median has 6)"
    )
    assert any(text.startswith(shallow) for text in said) is not pairs
    # no recall at 100 of six candidates, and none at 200 of 150 retrieved
    measured = {(r.facts.model, r.measure) for r in found if r.kind == "per_query"}
    assert {measure for model, measure in measured if model == "bm25"} == {
        "Judged@10",
        "nDCG@10",
        "RR@10",
    }
    assert {measure for model, measure in measured if model == "bert_dot"} == {
        "Judged@10",
        "nDCG@10",
        "RR@10",
        "R@100",
    }
    notes = [
        r.payload.notes
        for r in found
        if r.kind == "per_query" and r.facts == DOT and isinstance(r.payload, PerQuery)
    ]
    assert {note["index"] for note in notes} == {"hnsw"}
    (table,) = [retrieval_table(found)]
    assert any("approximate index (hnsw)" in note for note in table.notes)


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
    assert reached(run, queries, (9, 2, 6)) == pytest.approx({2: 0.8, 6: 0.4, 9: 0.4})
    assert within_candidates(run, queries, (2, 5, 6, 9)) == [2, 5]
    assert within_candidates(run, queries, (50, 100)) == [5]  # what three of five have
    assert within_candidates(run, ["x", "y"], (50,)) == []


def test_pairwise_accuracy_is_tested_over_seeds() -> None:
    def of(*values: float) -> Telemetry:
        return telemetry_of(dict(enumerate(values, 1)))

    (one,) = against_regenerated(of(0.9), [of(0.5)])
    assert (one.difference, one.p_holm, one.seeds) == (pytest.approx(-0.4), None, 1)
    lower, alike = against_regenerated(
        of(0.9, 0.8, 0.85), [of(0.5, 0.42, 0.43), of(0.9, 0.81, 0.83)]
    )
    # differences −0.4, −0.38, −0.42: t = −0.4 / (0.02 / √3) = −34.64, two-sided p 0.00083 with 2
    # degrees of freedom, twice that after Holm
    assert lower.p_holm == pytest.approx(2 * 0.000832, rel=0.01)
    assert alike.p_holm is not None
    assert alike.p_holm > 0.5


@pytest.mark.parametrize(
    ("accuracy", "holds", "said"),
    [
        ({1: (0.9, 0.6)}, None, "original 0.600, margin not logged (1 seed, no test)"),
        (
            {1: (0.9, 0.6), 2: (0.88, 0.57), 3: (0.91, 0.62)},
            True,
            "over 3 seeds p < 0.001 against regenerated",
        ),
        (
            {1: (0.6, 0.9), 2: (0.57, 0.88), 3: (0.62, 0.91)},
            False,
            "over 3 seeds p < 0.001 against regenerated",
        ),
        ({1: (0.9, 0.6), 2: (0.5, 0.62)}, None, "over 2 seeds p = "),
    ],
)
def test_a_lower_accuracy_holds_where_seeds_say_so(
    accuracy: dict[int, tuple[float, float]], holds: bool | None, said: str
) -> None:
    base, other = (telemetry_of({seed: of[n] for seed, of in accuracy.items()}) for n in (0, 1))
    other = structs.replace(other, against=against_regenerated(base, [other])[0])
    found = [logged(facts, own) for facts, own in ((CAT, base), (ORIGINAL, other))]
    (sentence,) = [
        f
        for f in tripclick_findings([effectiveness_of(BM25), *found])
        if "pairwise accuracy" in f.text
    ]
    assert said in sentence.text
    assert sentence.holds is holds


def test_a_training_that_kept_step_0_is_named() -> None:
    began = structs.replace(telemetry_of({1: 0.9, 2: 0.9}), kept=[0, 40])
    found = tripclick_findings([effectiveness_of(BM25), logged(CAT, began)])
    (sentence,) = [f for f in found if "initial weights" in f.text]
    assert sentence.text.startswith(
        "BERT_CAT, scibert (regenerated): no step was better on validation than the initial weights"
    )
    assert "(seed 1)" in sentence.text
    assert sentence.holds is False


def telemetry_of(accuracy: dict[int, float]) -> Telemetry:
    """Pairwise accuracy by seed, nothing else logged."""
    nothing = [None] * len(accuracy)
    return Telemetry(
        pair_accuracy=[*accuracy.values()],
        score_margin=nothing,
        loss=nothing,
        seeds=[*accuracy],
        steps=[5] * len(accuracy),
    )


def logged(facts: Facts, telemetry: Telemetry) -> Result:
    value = np.mean([of for of in telemetry.pair_accuracy if of is not None])
    return Result(TELEMETRY, "invented", "", "a system", 1, float(value), None, 1, telemetry, facts)


def effectiveness_of(facts: Facts) -> Result:
    return Result(
        "nDCG@10", "invented", "test", "BM25", 1, 0.5, None, 1, PerQuery(["q"], [0.5]), facts
    )


def test_a_set_is_counted_each_time_and_each_once(tmp_path: Path) -> None:
    groups = [
        TrainingGroup("q1", ("a", "b"), (1, 0)),
        TrainingGroup("q1", ("a", "c"), (1, 0)),
        TrainingGroup("q1", ("d", "b"), (1, 0)),
        TrainingGroup("q2", ("a", "b", "c"), (1, 0, 0)),
    ]
    with atomic_folder(tmp_path / "set") as folder:
        write_groups(
            folder, list, [groups], Manifest("trainset", "set", "a test"), splits=("train",)
        )
    stored = Groups(tmp_path / "set")
    truth = [Qrel("q1", "b", 1), Qrel("q2", "c", 2), Qrel("q2", "b", 0), Qrel("q1", "a", 1)]
    # negatives q1 b, c, b and q2 b, c: q1 b twice, and it and q2 c are false
    assert count_set(stored, truth, {}) == TrainingSet(
        groups=4,
        queries=2,
        positives=3,
        negatives=5,
        false_negatives=3,
        distinct_negatives=4,
        distinct_false_negatives=2,
    )
    assert count_set(stored, None, {}).false_negatives is None
    assert count_set(stored, [], {}).false_negatives == 0


def test_many_distinct_keys_are_parted_and_none_is_lost() -> None:
    keys = keys64(1, "a test", [str(n % 5_000).encode() for n in range(20_000)])
    with ExitStack() as files:
        distinct = Distinct(files)
        for start in range(0, len(keys), 3_000):
            distinct.add(keys[start : start + 3_000])
        parts = list(distinct.parts())
    assert min(map(len, parts)) > 100  # 5,000 keys over 32 files: some 156 each
    assert sum(map(len, parts)) == 5_000
    assert set(np.concatenate(parts).tolist()) == set(keys.tolist())


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
