"""Measures on arrays: by hand, and equal to ir_measures on adversarial runs and judgements."""

import math
import shutil

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.qrels import Qrels
from positionbias.core.records import HIGHEST_GRADE, Qrel
from positionbias.core.run import Run
from positionbias.evaluation.judgements import Judgements
from positionbias.evaluation.measures import parse_measure, per_query
from positionbias.evaluation.on_arrays import has_arrays

NAMES = (
    "nDCG", "nDCG@1", "nDCG@3", "nDCG@1000", "nDCG(gains={1:0,2:7,3:-1})@3", "nDCG(gains={1:5})",
    "RR", "RR@1", "RR@2", "RR(rel=2)", "RR(rel=3)@4", "AP", "AP@2", "AP(rel=2)", "AP(rel=3)@5",
    "P@1", "P@4", "P(rel=2)@3", "P@50",
    "R@1", "R@3", "R(rel=2)@5", "R@1000", "Judged", "Judged@1", "Judged@4", "Judged@50",
)  # fmt: skip
QUERIES, PASSAGES = (
    ["q1", "q2", "10", "9", "ü", "問"],
    ["a", "b", "B", "10", "9", "é", "z z", "日本", "ﬀ", "\U0001f600"],
)
GRADES = st.one_of(st.integers(-3, 4), st.sampled_from([0, 2_000, -2_000]))
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-8, 1e-45, 3e38, -3e38]), st.floats(-5, 5, width=32)
)
RUNS = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(PASSAGES), SCORES), max_size=6
)
JUDGED = st.lists(
    st.builds(Qrel, st.sampled_from(QUERIES), st.sampled_from(PASSAGES), GRADES),
    min_size=1,
    max_size=40,
)


@settings(deadline=None, max_examples=25)
@given(RUNS, JUDGED)
def test_values_equal_those_of_ir_measures(
    scores: dict[str, dict[str, float]], qrels: list[Qrel]
) -> None:
    run = Run(scores)
    grades = {qrel.query_id: {} for qrel in qrels}  # the last judgement of a pair counts
    for qrel in qrels:
        # below −1 pytrec_eval writes outside its tables
        grades[qrel.query_id][qrel.passage_id] = max(qrel.grade, -1)
    # of negative grades alone, it computes nDCG of memory that nothing was written to
    for judged in grades.values():
        if max(judged.values()) < 0:
            judged.update(dict.fromkeys(judged, 0))
    ranked = {
        query_id: {p: -rank for rank, p in enumerate(run[query_id].passage_ids)}
        for query_id in run
        if scores[query_id]
    }
    found = per_query(run, qrels, NAMES)
    for name in NAMES:
        assert has_arrays(parse_measure(name))
        # apart, as ir_measures 0.4.3 mixes measures of several cutoffs and grades
        peer = {
            one.query_id: one.value
            for one in ir_measures.iter_calc([parse_measure(name)], grades, ranked)
            if one.query_id in grades
        }
        assert found[name] == pytest.approx(peer, abs=1e-12), name
        assert list(found[name]) == sorted(grades)


def test_values_by_hand() -> None:
    run = Run({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}})
    qrels = Qrels(
        {"q": {"b": 3, "c": -1, "d": 1, "x": 2}, "none": {"a": 1}, "nothing relevant": {"a": 0}}
    )
    names = [
        "RBP(rel=1)",
        "RBP(rel=2,p=0.5)",
        "RBP(rel=1)@3",
        "nDCG(dcg='exp-log2')@4",
        "nDCG(dcg='exp-log2')@2",
        "Judged",
        "Judged@2",
    ]
    found = per_query(run, qrels, names)
    # relevant at ranks 2 and 4: 0.2 · (0.8 + 0.8³); grade 3 at rank 2: 0.5 · 0.5
    assert found["RBP(rel=1)"]["q"] == pytest.approx(0.2 * (0.8 + 0.8**3))
    assert found["RBP(rel=2,p=0.5)"]["q"] == pytest.approx(0.25)
    assert found["RBP(rel=1)@3"]["q"] == pytest.approx(0.16)
    # gains 7, 3 and 1; 7 at rank 2 and 1 at rank 4
    log = math.log2
    assert found["nDCG(dcg='exp-log2')@4"]["q"] == pytest.approx(
        (7 / log(3) + 1 / log(5)) / (7 + 3 / log(3) + 1 / 2)
    )
    assert found["nDCG(dcg='exp-log2')@2"]["q"] == pytest.approx((7 / log(3)) / (7 + 3 / log(3)))
    # b, c and d of four are judged, one of the first two
    assert (found["Judged"]["q"], found["Judged@2"]["q"]) == (0.75, 0.5)
    assert all(found[name]["none"] == found[name]["nothing relevant"] == 0 for name in names)


def test_exponential_gains_of_high_grades_do_not_overflow() -> None:
    run = Run({"q": {"a": 2.0, "b": 1.0}})
    found = per_query(
        run, Qrels({"q": {"a": HIGHEST_GRADE - 1, "b": HIGHEST_GRADE}}), ["nDCG(dcg='exp-log2')"]
    )
    # gains of a ratio of 1 to 2
    best = 1 + 0.5 / math.log2(3)
    assert found["nDCG(dcg='exp-log2')"]["q"] == pytest.approx((0.5 + 1 / math.log2(3)) / best)


@pytest.mark.skipif(
    not shutil.which("perl"), reason="ir_measures computes this nDCG in Perl, and there is none"
)
@settings(deadline=None, max_examples=5)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 15), st.integers(-1, 4)),
        min_size=1,
        max_size=30,
        unique_by=lambda row: row[:2],
    )
)
def test_exponential_gains_equal_ir_measures_to_its_five_decimals(
    rows: list[tuple[int, int, int]],
) -> None:
    qrels = Qrels(Qrel(str(query), f"p{passage}", grade) for query, passage, grade in rows)
    run = Run(
        {
            str(query): {f"p{passage}": float(passage % 5) for passage in range(12)}
            for query in range(1, 4)
        }
    )
    for name in ("nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@20"):
        ranked = {q: {p: -rank for rank, p in enumerate(run[q].passage_ids)} for q in run}
        peer = {
            one.query_id: one.value
            for one in ir_measures.gdeval.iter_calc([parse_measure(name)], qrels.to_dict(), ranked)
        }
        for query_id, value in per_query(run, qrels, [name])[name].items():
            assert value == pytest.approx(peer.get(query_id, 0), abs=6e-6)


def test_what_arrays_do_not_have_is_left_to_ir_measures() -> None:
    for name in (
        "nDCG(judged_only=True)@10",
        "RR(judged_only=True)",
        "Bpref",
        "Rprec",
        "Success@3",
    ):
        assert not has_arrays(parse_measure(name))
    run, qrels = Run({"q": {"a": 2.0, "b": 1.0}}), Qrels({"q": {"b": 1}})
    assert per_query(run, qrels, ["RR", "RR(judged_only=True)"]) == {
        "RR": {"q": 0.5},
        "RR(judged_only=True)": {"q": 1.0},
    }


def test_grades_beyond_the_limit_are_refused() -> None:
    for grade in (HIGHEST_GRADE + 1, -HIGHEST_GRADE - 1, 10**30):
        with pytest.raises(
            InputError,
            match=(
                r"judgements: wanted grades up to 1,000,000; found .* for query 'q'; rescale them"
            ),
        ):
            Judgements([Qrel("q", "a", 1), Qrel("q", "b", grade)])
