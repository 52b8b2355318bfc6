"""Depth tuning: by hand, against ir_measures at every depth, and the faults."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.run_files import strictly_decreasing
from positionbias.evaluation.depth import apply_depth, tune_depth
from positionbias.evaluation.measures import per_query

CANDIDATES = Run("bm25", [("q", ["a", "b", "c", "d"], [9.0, 8.0, 7.0, 6.0])])
MODEL = Run("model", [("q", ["a", "b", "c", "d"], [-1.0, 2.5, 3.0, 4.0])])


def test_the_tail_stays_in_first_stage_order():
    assert apply_depth(CANDIDATES, MODEL, 1)["q"].passage_ids == ["a", "b", "c", "d"]
    assert apply_depth(CANDIDATES, MODEL, 2)["q"].passage_ids == ["b", "a", "c", "d"]
    assert apply_depth(CANDIDATES, MODEL, 3)["q"].passage_ids == ["c", "b", "a", "d"]
    assert apply_depth(CANDIDATES, MODEL, 4)["q"].passage_ids == ["d", "c", "b", "a"]
    assert apply_depth(CANDIDATES, MODEL, 99, name="all")["q"].passage_ids == ["d", "c", "b", "a"]
    assert apply_depth(CANDIDATES, MODEL, 99, name="all").name == "all"


def test_scores_of_the_tail_fall_below_the_model_s():
    # the reordered part keeps the model's scores; the lowest is −1, so the tail takes −2, −3
    assert apply_depth(CANDIDATES, MODEL, 2)["q"].scores.tolist() == [2.5, -1.0, -2.0, -3.0]


@pytest.mark.parametrize("lowest", [0.0, -0.5, 3e7, -3e7, 1e30, -1e30, 1e-40])
def test_the_tail_is_strictly_decreasing_at_any_size_of_score(lowest):
    rescored = Run("model", [("q", ["a", "b", "c", "d"], [lowest, 0, 0, 0])])
    ranking = apply_depth(CANDIDATES, rescored, 1)["q"]
    assert ranking.passage_ids == ["a", "b", "c", "d"]
    assert (np.diff(ranking.scores) < 0).all()
    assert (strictly_decreasing(ranking.scores) == ranking.scores).all()


def test_depth_by_hand():
    # only d is relevant: at rank 4 up to depth 3, nDCG = 1 / log2(5); at rank 1 with depth 4
    choice = tune_depth(CANDIDATES, MODEL, [Qrel("q", "d", 1)], range(1, 5))
    assert choice.depth == 4
    assert list(choice.curve.values()) == pytest.approx([0.43067656] * 3 + [1.0])
    # a judged query without candidates counts 0: every value is halved
    choice = tune_depth(CANDIDATES, MODEL, [Qrel("q", "d", 1), Qrel("other", "x", 2)], [4])
    assert choice.value == pytest.approx(0.5)
    # cutoff 3: d is out of sight until depth 4
    assert tune_depth(CANDIDATES, MODEL, [Qrel("q", "d", 1)], [3, 4], cutoff=3).curve == {
        3: 0.0,
        4: 1.0,
    }


def test_gain_is_linear_in_the_grade():
    # depth 4 gives d c b a with grades 0 3 0 1: (3 / log2 3 + 1 / log2 5) / (3 + 1 / log2 3)
    qrels = [Qrel("q", "c", 3), Qrel("q", "a", 1), Qrel("q", "b", -1)]
    expected = (3 / np.log2(3) + 1 / np.log2(5)) / (3 + 1 / np.log2(3))
    assert tune_depth(CANDIDATES, MODEL, qrels, [4]).value == pytest.approx(expected)


def test_of_tied_depths_the_smallest():
    # a and b are relevant: "a b" (depth 1) and "b a" (depth 2) are both perfect, depth 4 is not
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 1)]
    choice = tune_depth(CANDIDATES, MODEL, qrels, [4, 2, 1])
    assert choice.curve[1] == choice.curve[2] == pytest.approx(1.0)
    assert choice.depth == 1


def test_depths_beyond_the_candidates_change_nothing():
    choice = tune_depth(CANDIDATES, MODEL, [Qrel("q", "d", 1)], [4, 50])
    assert choice.curve[50] == choice.curve[4]
    assert choice.depth == 4


@st.composite
def rankings(draw):
    """Candidates, model scores with many ties, and graded judgements, for up to four queries."""
    candidates, rescored, qrels = [], [], []
    for number in range(draw(st.integers(1, 4))):
        passages = [f"p{i}" for i in draw(st.permutations(range(draw(st.integers(0, 16)))))]
        scores = draw(st.lists(st.integers(0, 6), min_size=len(passages), max_size=len(passages)))
        candidates.append((f"q{number}", passages, draw(st.permutations(range(len(passages))))))
        rescored.append((f"q{number}", passages, scores))
        grades = draw(
            st.dictionaries(
                st.sampled_from([f"p{i}" for i in range(20)]), st.integers(-1, 3), max_size=8
            )
        )
        qrels += [Qrel(f"q{number}", passage, grade) for passage, grade in grades.items()]
    return Run("first", candidates), Run("model", rescored), [*qrels, Qrel("extra", "p1", 1)]


@settings(max_examples=25, deadline=None)
@given(rankings(), st.sampled_from([1, 3, 10]))
def test_every_depth_equals_ir_measures(case, cutoff):
    candidates, rescored, qrels = case
    choice = tune_depth(candidates, rescored, qrels, range(1, 21), cutoff=cutoff)
    measure = f"nDCG@{cutoff}"
    for depth in range(1, 21):
        run = apply_depth(candidates, rescored, depth)
        values = per_query(run, qrels, [measure])[measure]
        assert choice.curve[depth] == pytest.approx(np.mean(list(values.values())), abs=1e-12)
        # the written scores say the same to an evaluator that reads them itself
        scores = {
            r.query_id: {p: float(s) for p, s in zip(r.passage_ids, r.scores, strict=True)}
            for r in run.rankings()
        }
        judged = {}
        for qrel in qrels:
            judged.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.grade
        seen = ir_measures.calc_aggregate([ir_measures.nDCG @ cutoff], judged, scores)
        assert seen[ir_measures.nDCG @ cutoff] == pytest.approx(choice.curve[depth], abs=1e-12)
    assert choice.value == choice.curve[choice.depth] >= max(choice.curve.values()) - 1e-12


def test_a_candidate_without_a_score_is_named():
    short = Run("model", [("q", ["a", "b"], [1.0, 2.0])])
    assert apply_depth(CANDIDATES, short, 2)["q"].passage_ids == ["b", "a", "c", "d"]
    with pytest.raises(
        InputError, match=r"'c' of query 'q'.*re-rank these candidates at least as deep"
    ):
        apply_depth(CANDIDATES, short, 3)
    with pytest.raises(InputError, match="'c' of query 'q'"):
        tune_depth(CANDIDATES, short, [Qrel("q", "d", 1)], [1, 3])
    with pytest.raises(InputError, match="'a' of query 'q'"):
        apply_depth(CANDIDATES, Run("model", []), 1)
