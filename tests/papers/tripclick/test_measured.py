"""What a TripClick study measures, worked by hand from made-up runs: effectiveness, depth curves,
tests, false negatives, sentences.
"""

from __future__ import annotations

from contextlib import ExitStack
from math import log2
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.core.publish import atomic_folder
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected, read_csv
from positionbias.core.run import Run
from positionbias.core.seeds import keys64
from positionbias.experiments.measured import system_cells
from positionbias.papers.tripclick import Fall, paper_test
from positionbias.papers.tripclick.measured import (
    PUBLISHED,
    accuracy_rows,
    fall,
    measure_tripclick,
    reached,
    within_candidates,
)
from positionbias.papers.tripclick.shown import NEGATIVES, OVER_BM25, RETRIEVAL, SHOWN
from positionbias.papers.tripclick.trainsets import Distinct, count_set
from positionbias.results.result import Facts

from .made_up import CAT, CLEAN, DOT, ORIGINAL, QUERIES, TK, TOGETHER, made_up

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


def test_re_rankers_have_no_recall_and_curves_only_where_they_were_asked_for(
    rows: DataFrame,
) -> None:
    means = rows.query("statistic == 'mean' and whose == ''")
    measured = set(zip(means["model"], means["measure"], strict=True))
    assert ("tk", "R@100") not in measured
    assert ("bert_dot", "R@200") in measured
    curves = means.query("axis == 'depth'")
    assert list(curves["split"].unique()) == ["head_test.dctr"]
    assert list(curves["whole"].unique()) == [
        "TK (regenerated)",
        "BERT_CAT, scibert (regenerated)",
        "BERT_CAT, scibert (original)",
    ]


def test_a_depth_curve_by_hand(rows: DataFrame) -> None:
    curve = of_system(rows, TK, axis="depth")
    points = curve[curve["statistic"] == "mean"].set_index("label")["value"].to_dict()
    # the relevant candidate is BM25's fifth: re-ranked from depth 5 on
    assert points == pytest.approx({"3": gain(5), "6": gain(2), "10": gain(2)})
    changes = curve[curve["statistic"] == "change"].set_index("against")["value"].to_dict()
    assert changes == pytest.approx({"depth=3": gain(2) - gain(5), "depth=6": 0})


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
    members = tail[tail["family"].str.startswith("the ensemble")]
    assert set(members["beside"]) == {"TK", "BERT_CAT, scibert"}


def test_false_negatives_are_counted_exactly(rows: DataFrame) -> None:
    sets = rows.query("measure == 'training set'").set_index(["variant", "statistic"])["value"]
    # original: passages 4 and 5 of each query, of which 5 is relevant in truth
    assert sets["original", "share false"] == 0.5
    assert sets["original", "groups"] == sets["regenerated", "groups"] == 2 * QUERIES
    # regenerated: two of the nine candidates that were not clicked, of which one is relevant in
    # truth
    assert 0 < sets["regenerated", "share false"] < 0.5


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
    ("bounds", "answer"),
    [
        ((-0.02, -0.005), Fall.NONE),  # of 0.9: 0.027
        ((-0.2, -0.05), Fall.FALLS),
        ((-0.2, 0.1), Fall.UNKNOWN),
        ((-0.01, 0.2), Fall.NONE),
        ((0.01, 0.03), Fall.RISES),
        (None, Fall.UNKNOWN),
    ],
    ids=["small", "fall", "undecided", "or a rise", "rise", "no interval"],
)
def test_how_a_fall_by_depth_is_judged(bounds: tuple[float, float] | None, answer: Fall) -> None:
    assert fall(Interval(*bounds) if bounds else None, 0.03 * 0.9) is answer


def test_what_is_said(rows: DataFrame) -> None:
    findings = [finding.text for finding in SHOWN.findings(rows)]
    for begins in (
        "Negatives that are relevant in truth, by training set: regenerated ",
        "BERT_CAT, scibert on head_test.dctr: nDCG@10 0.982 with negatives “regenerated”, 0.748 "
        "with “original”;",
        "TK (regenerated) on head_test.dctr: from re-ranking depth 6 to 10 nDCG@10 changes by",
        "tail_test: the ensemble has nDCG@10 1.000, the best of its models (BERT_CAT, scibert)",
    ):
        assert any(text.startswith(begins) for text in findings), begins
    assert any("original 20 of 40 (50.0\u00a0%)" in text for text in findings)
    assert any("Judged@10 50\u00a0% (50\u00a0%)" in text for text in findings)
    assert not any(text.startswith("No test is one of the paper's") for text in findings)


def test_false_negatives_alone_are_tested(tmp_path: Path) -> None:
    def cleaner(facts: Facts, seed: int, split: str, query: int) -> int:
        return (2 if query == 1 else 1) if facts == CLEAN else rank(facts, seed, split, query)

    study = made_up(tmp_path / "study", cleaner, tests=("tail_test",), cleaned=True)
    rows = SHOWN.own(measure_tripclick(study).rows)
    tests = rows.query(f"statistic == 'difference' and measure == 'nDCG@10' and {NEGATIVES}")
    differences = tests.set_index(["beside", "trained"])["value"]
    cleaned = "original, false negatives left out"
    assert set(differences.index) == {
        ("original", cleaned),
        ("original", "regenerated"),
        (cleaned, "regenerated"),
    }
    # 19 queries at 1 and one at 2, less 0.75 of 19 queries and (1 / log2 5 + 1) / 2 of one
    assert differences["original", cleaned] == pytest.approx(
        (19 + gain(2)) / 20 - (19 * 0.75 + (gain(4) + 1) / 2) / 20
    )
    (text,) = [f.text for f in SHOWN.findings(rows) if "only false ones" in f.text]
    # of two negatives a query one is false, so that every query keeps one
    assert text.endswith(
        "only false ones are left out (20 triples of 20 queries instead of 40 triples of 20 "
        "queries)."
    )


@pytest.mark.parametrize("reaches", [False, True])
def test_an_index_and_what_runs_do_not_reach_leave_no_number(tmp_path: Path, reaches: bool) -> None:
    # candidates of the tests end at rank 6, which is the study's depth; deeper ones were asked for
    study = made_up(
        tmp_path / "study",
        rank,
        tests=("head_test:dctr",),
        reach=6,
        depth=6 if reaches else 8,
        retrieval_depth=150,
        index="hnsw",
    )
    rows = SHOWN.own(measure_tripclick(study).rows)
    curve = of_system(rows, TK, axis="depth")
    shares = curve[curve["statistic"] == "queries with so many"].set_index("label")["value"]
    assert shares.to_dict() == {"3": 1.0, "6": 1.0}
    beyond = curve[curve["statistic"] == "beyond"]["label"]
    assert list(beyond) == (["10"] if reaches else ["8", "10"])
    findings = {finding.text: finding.holds for finding in SHOWN.findings(rows)}
    (text,) = [
        text
        for text in findings
        if text.startswith("TK (regenerated) on head_test.dctr: from re-ranking depth 3 to 6")
    ]
    assert text.endswith(f"{Fall.SHALLOW}.")
    assert findings[text] is None
    shallow = (
        "head_test.dctr: 0\u00a0% of the queries have the 8 candidates that are re-ranked (the "
        "median has 6)"
    )
    assert any(text.startswith(shallow) for text in findings) is not reaches
    # no recall at 100 of six candidates, and none at 200 of 150 retrieved
    means = rows.query("statistic == 'mean' and whose == '' and axis == ''")
    measured = means.groupby("model")["measure"].agg(list)
    assert measured["bm25"] == ["Judged@10", "nDCG@10", "RR@10"]
    assert measured["bert_dot"] == ["Judged@10", "nDCG@10", "RR@10", "R@100"]
    assert any("approximate index (hnsw)" in note for note in RETRIEVAL.table(rows).notes)


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


def late(accuracies: dict[Facts, dict[int, float]]) -> DataFrame:
    """Return the rows of trainings' pairwise accuracy, by system and seed, nothing else logged."""
    made = Collected({"study": "tripclick"})
    for facts, values in accuracies.items():
        mean = float(np.mean(list(values.values())))
        made.add("training", "pair accuracy", mean, **system_cells(facts))
    accuracy_rows(made, accuracies)
    return SHOWN.own(made.rows)


def test_pairwise_accuracy_is_tested_over_seeds() -> None:
    def tests(*values: dict[int, float]) -> DataFrame:
        rows = late(dict(zip((CAT, ORIGINAL, CLEAN), values, strict=False)))
        return rows.query("statistic == 'difference of pair accuracy'")

    (single,) = tests({1: 0.9}, {1: 0.5}).itertuples()
    assert (single.value, single.trainings) == (pytest.approx(-0.4), 1)
    assert np.isnan(single.p_adjusted)
    lower, alike = tests(
        {1: 0.9, 2: 0.8, 3: 0.85}, {1: 0.5, 2: 0.42, 3: 0.43}, {1: 0.9, 2: 0.81, 3: 0.83}
    ).itertuples()
    # differences −0.4, −0.38, −0.42: t = −0.4 / (0.02 / √3) = −34.64, two-sided p 0.00083 with 2
    # degrees of freedom, twice that after Holm
    assert lower.p_adjusted == pytest.approx(2 * 0.000832, rel=0.01)
    assert alike.p_adjusted > 0.5


@pytest.mark.parametrize(
    ("accuracy", "holds", "words"),
    [
        ({1: (0.9, 0.6)}, None, "original 0.600, margin not logged (1 seed, no test)"),
        ({1: (0.9, 0.6), 2: (0.88, 0.57), 3: (0.91, 0.62)}, True, "(Holm p <0.001 over 3 seeds"),
        ({1: (0.6, 0.9), 2: (0.57, 0.88), 3: (0.62, 0.91)}, False, "(Holm p <0.001 over 3 seeds"),
        ({1: (0.9, 0.6), 2: (0.5, 0.62)}, None, " over 2 seeds, against regenerated"),
    ],
)
def test_a_lower_accuracy_holds_where_seeds_say_so(
    accuracy: dict[int, tuple[float, float]], holds: bool | None, words: str
) -> None:
    base, other = ({seed: pair[side] for seed, pair in accuracy.items()} for side in (0, 1))
    (finding,) = [
        f for f in SHOWN.findings(late({CAT: base, ORIGINAL: other})) if "last half" in f.text
    ]
    assert words in finding.text
    assert finding.holds is holds


def test_a_training_that_kept_step_0_is_named() -> None:
    made = Collected({"study": "tripclick"})
    for seed, kept in ((1, 0), (2, 40)):
        made.add("training", "step kept", kept, **{**system_cells(CAT), "seed": seed})
    (finding,) = SHOWN.findings(SHOWN.own(made.rows))
    assert finding.text.startswith(
        "BERT_CAT, scibert (regenerated): no step was better on validation than the initial weights"
    )
    assert "(seed 1)" in finding.text
    assert finding.holds is False


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
    assert count_set(stored, truth) == {
        "groups": 4,
        "queries": 2,
        "positives": 3,
        "negatives": 5,
        "false negatives": 3,
        "distinct negatives": 4,
        "distinct false negatives": 2,
    }
    assert "false negatives" not in count_set(stored, None)
    assert count_set(stored, [])["false negatives"] == 0


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
    cells = read_csv(PUBLISHED)
    # 12 lines × 3 tests × 2 measures, and 4 lines × 6, of which BM25's nDCG and MRR are the same
    assert len(cells) == 72 + 24 - 2
    beside = cells.set_index(["family", "split", "measure"])["value"]
    assert beside["Table 1, line 12", "Tail (RAW)", "RR@10"] == 0.392
    assert beside["Table 1, line 5", "Torso (RAW)", "nDCG@10"] == 0.326
    assert beside["Table 2, line 14", "Head (DCTR)", "Judged@10"] == 0.41
    assert beside["Table 2, line 1", "Head (DCTR)", "R@1000"] == 0.834


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
