"""Measures on exactly our ranks: by hand, ties that must not reorder, names, and real runs against
published figures.
"""

import csv
import math
import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from positionbias.core.errors import InputError, SettingError
from positionbias.core.qrels import Qrels
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.measures import (
    JUDGED,
    Evaluator,
    canonical,
    measured,
    parse_measure,
    per_query,
)
from positionbias.evaluation.records import PerQuery

RUN = Run("s", [("q1", ["a", "b", "c"], [3.0, 2.0, 1.0]), ("q2", ["x", "y"], [1.0, 0.5])])
QRELS = [Qrel("q1", "b", 2), Qrel("q1", "c", 1), Qrel("q2", "y", 1), Qrel("q3", "z", 1)]


def evaluate_run(run, qrels, measures, **where):
    return measured([run], Evaluator(qrels, canonical(measures)), **where).by_run[0]


def test_values_by_hand():
    values = per_query(
        RUN, QRELS, ["nDCG@10", "RR@10", "RR(rel=2)@10", "R@2", "AP(rel=2)", "P@1", "AP", "RR"]
    )
    # q1: grades 0 2 1: (2 / log2 3 + 1 / 2) / (2 + 1 / log2 3)
    assert values["nDCG@10"]["q1"] == pytest.approx((2 / np.log2(3) + 0.5) / (2 + 1 / np.log2(3)))
    assert values["nDCG@10"]["q2"] == pytest.approx(1 / np.log2(3))
    assert values["RR@10"] == {"q1": 0.5, "q2": 0.5, "q3": 0.0}
    assert values["RR"] == {"q1": 0.5, "q2": 0.5, "q3": 0.0}
    assert values["RR(rel=2)@10"] == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    assert values["R@2"] == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    assert values["AP(rel=2)"] == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    assert values["P@1"] == {"q1": 0.0, "q2": 0.0, "q3": 0.0}
    # q1: precision 1/2 at rank 2, 2/3 at rank 3
    assert values["AP"]["q1"] == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("NDCG@10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("mrr@10", "RR@10"),
        ("recip_rank", "RR"),
        ("rr(rel=2)@10", "RR(rel=2)@10"),
        ("map_cut_100", "AP@100"),
        ("recall_100", "R@100"),
        ("P_5", "P@5"),
        ("j@10", "Judged@10"),
        ("J@10", "Judged@10"),
        ("success_1", "Success@1"),
        ("rprec", "Rprec"),
    ],
)
def test_usual_spellings_mean_ir_measures_names(spelling, name):
    assert canonical([spelling]) == (name,)
    assert per_query(RUN, QRELS, [spelling])[spelling] == per_query(RUN, QRELS, [name])[name]


def test_results_have_the_canonical_name_once():
    results = evaluate_run(
        RUN, QRELS, ["ndcg@10", "nDCG@10", "map"], collection="c", split="s", seed=1
    )
    assert [result.measure for result in results] == ["nDCG@10", "AP"]


def test_query_ids_choose_what_counts():
    assert per_query(RUN, QRELS, ["RR@10"], query_ids=["q2", "q3", "unjudged"])["RR@10"] == {
        "q2": 0.5,
        "q3": 0.0,
    }


def test_results_count_what_is_missing():
    run = Run(
        "s",
        [
            *((r.query_id, r.passage_ids, r.scores) for r in RUN.rankings()),
            ("q9", ["a"], [1.0]),
            ("q3", [], []),
        ],
    )
    ndcg, rr = evaluate_run(
        run, QRELS, ["nDCG@10", "MRR@10", "RR@10"], collection="c", split="test", seed=1
    )
    assert (rr.measure, rr.system, rr.collection, rr.split, rr.count) == (
        "RR@10",
        "s",
        "c",
        "test",
        3,
    )
    assert rr.value == pytest.approx(1 / 3)
    assert isinstance(rr.payload, PerQuery)
    assert rr.payload.notes == {"queries without candidates": 1, "queries without judgements": 1}
    assert list(rr.payload.query_ids) == ["q1", "q2", "q3"]
    assert rr.interval is None  # of three queries
    assert rr.payload.clusters == ()
    assert ndcg.measure == "nDCG@10"


@pytest.mark.parametrize(
    ("found_at", "low", "high"),
    [
        ([1, 1], None, None),
        ([1, 1, 1, 2], None, None),  # four
        # 1, 1, 1, 1, ½: 0.9 ± t(0.975, 4) · √(1/20 / 5), t = 2.776445
        ([1, 1, 1, 1, 2], 0.9 - 2.776445 * 0.1, 1),
        ([1] * 10, 0.7, 1),  # 1 − 3 / 10
        ([0] * 5 + [0], 0, 0.5),  # 3 / 6
        ([2] * 60, 0.45, 0.55),  # ½ ± 3 / 60
    ],
)
def test_intervals_lie_within_the_measure(found_at, low, high):
    run = Run("s", [(f"q{k:02d}", ["x", "y"], [2.0, 1.0]) for k in range(len(found_at))])
    qrels = [
        Qrel(f"q{k:02d}", {0: "z", 1: "x", 2: "y"}[rank], 1) for k, rank in enumerate(found_at)
    ]
    (rr,) = evaluate_run(run, qrels, ["RR"], collection="c", split="test", seed=1)
    if low is None:
        assert rr.interval is None
    else:
        assert (rr.interval.low, rr.interval.high) == (pytest.approx(low), pytest.approx(high))


def test_the_evaluator_sees_our_ranks_where_it_would_see_a_tie():
    # pytrec_eval reads scores as float32: 1 + 1e-8 ties with 1, and the tie goes to the higher id
    judged = {"q": {"a": 1, "b": 0}}
    tied = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(
        {"q": {"a": 1 + 1e-8, "b": 1.0}}
    )
    assert tied["q"]["recip_rank"] == 0.5
    # 100,000 ranks, neighbours one float32 step apart
    scores = np.float32(1) + np.arange(100_000, 0, -1) * np.finfo(np.float32).eps
    run = Run("s", [("q", [f"{i:06d}" for i in range(100_000)], scores)])
    for place in (0, 1, 65_536, 99_999):
        found = per_query(run, [Qrel("q", f"{place:06d}", 1)], ["RR", "RR@100000"])
        assert found["RR"]["q"] == found["RR@100000"]["q"] == pytest.approx(1 / (place + 1))


def test_equal_scores_go_to_the_higher_id():
    run = Run("s", [("q", ["a", "c", "b"], [1.0, 1.0, 1.0])])
    for passage, rank in (("c", 1), ("b", 2), ("a", 3)):
        assert per_query(run, [Qrel("q", passage, 1)], ["RR@10"])["RR@10"]["q"] == pytest.approx(
            1 / rank
        )


def test_names():
    assert str(parse_measure("nDCG@10")) == "nDCG@10"
    assert str(parse_measure(" RR(rel=2)@10 ")) == "RR(rel=2)@10"
    assert str(parse_measure("MRR@10")) == "RR@10"
    assert str(parse_measure("IPrec@0.1")) == "IPrec@0.1"
    for name in ("nDGC@10", "", "nDCG@", "nDCG 10", "@10", "nDCG@10; RR"):
        with pytest.raises(
            SettingError,
            match=r"-m: wanted a measure; found .*(nDCG@10.*RR@10|did you mean nDCG@10)",
        ) as error:
            parse_measure(name)
        assert "\n" not in str(error.value)
    for name in (
        "nDCG@ten",
        "R",
        "AP(level=2)",
        "AP(2)",
        "AP(rel=x)",
        "nDCG(cutoff='a')",
        "AP(rel=)",
    ):
        with pytest.raises(SettingError, match="-m: wanted settings of"):
            parse_measure(name)
    with pytest.raises(SettingError, match="can be computed here"):
        parse_measure("alpha_nDCG@10")


def test_no_judged_query_is_one_clear_line():
    with pytest.raises(InputError, match="wanted judgements"):
        per_query(RUN, [], ["RR@10"])
    with pytest.raises(InputError, match="candidates for at least one of 1 judged queries"):
        evaluate_run(RUN, [Qrel("q3", "z", 1)], ["RR@10"], collection="c", split="test", seed=1)


def test_a_measure_that_reads_scores_takes_retrieved_passages_first():
    # Compat with p = 0.5: the ideal ranking nearest to b a c is b d, as b was retrieved and d was
    # not run: 1/1 + 0.5 · 1/2 + 0.25 · 1/3 = 4/3; the ideal itself: 1/1 + 0.5 · 2/2 + 0.25 · 2/3 =
    # 5/3
    run = Run("s", [("q", ["b", "a", "c"], [-1.0, -2.0, -3.0])])
    values = per_query(run, [Qrel("q", "d", 1), Qrel("q", "b", 1)], ["Compat(p=0.5)"])
    assert values["Compat(p=0.5)"]["q"] == pytest.approx(0.8)


def test_a_measure_that_divides_by_zero_is_one_line():
    with pytest.raises(
        InputError,
        match="run 's': Accuracy@1 cannot be computed: ir_measures divides by zero; leave it out",
    ):
        per_query(Run("s", [("q", ["a", "b"], [2.0, 1.0])]), [Qrel("q", "a", 1)], ["Accuracy@1"])


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["Compat", "Compat(p=0.8,normalize=False)", "infAP", "Rprec"])
def test_measures_equal_those_of_ir_measures_on_other_positive_scores(posbias_data, name):
    folder = posbias_data / "trec_covid_r5"
    run, qrels = (
        Run.from_file(folder / "runs" / "BRPHJ_BM25.run.gz"),
        Qrels.from_file(folder / "qrels.round5.txt"),
    )
    values = per_query(run, qrels, [name])[name]
    # the run's own scores are rounded, and tied
    scores = {
        query_id: {item: 1 / rank for rank, item in enumerate(run[query_id].passage_ids, 1)}
        for query_id in run
    }
    judged = [
        ir_measures.Qrel(qrel.query_id, qrel.passage_id, max(qrel.grade, -1)) for qrel in qrels
    ]
    peer = {
        found.query_id: found.value
        for found in ir_measures.iter_calc([ir_measures.parse_measure(name)], judged, scores)
    }
    assert values == pytest.approx(peer, abs=1e-12)
    assert len(values) == 50
    if name == "Compat":
        assert np.mean(list(values.values())) == pytest.approx(0.5934, abs=5e-5)


@pytest.mark.realdata
def test_bm25_of_trec_dl_2019(posbias_data):
    run = Run.from_file(posbias_data / "msmarco_mini" / "bm25.dl19.run")
    qrels = Qrels.from_file(posbias_data / "msmarco_mini" / "qrels.dl19.txt")
    values = per_query(run, qrels, ["nDCG@10", "AP(rel=2)"])
    assert len(values["nDCG@10"]) == 43
    judged = {}
    for qrel in qrels:
        judged.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.grade
    direct = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut_10"}).evaluate(
        {
            r.query_id: dict(zip(r.passage_ids, map(float, r.scores), strict=True))
            for r in run.rankings()
        }
    )
    assert values["nDCG@10"] == pytest.approx(
        {query_id: value["ndcg_cut_10"] for query_id, value in direct.items()}, abs=1e-12
    )
    assert np.mean(list(values["nDCG@10"].values())) == pytest.approx(0.50, abs=0.02)


@pytest.mark.realdata
def test_trec_covid_equals_the_published_figures(posbias_data):
    folder = posbias_data / "trec_covid_r5"
    qrels = Qrels.from_file(folder / "qrels.round5.txt")
    with open(folder / "systems.tsv", encoding="utf-8") as handle:
        systems = list(csv.DictReader(handle, delimiter="\t"))
    differing = []
    for system in systems[::3]:
        values = per_query(
            Run.from_file(folder / "runs" / f"{system['run']}.run.gz"), qrels, ["nDCG@20"]
        )["nDCG@20"]
        if round(np.mean(list(values.values())), 4) != float(system["published_ndcg"]):
            differing.append(system["run"])
    assert len(systems) == 126
    assert len(differing) <= 1, differing


def test_j_at_10_of_a_ranking_without_passages_is_0() -> None:
    qrels = [Qrel("a", "p1", 0), Qrel("b", "p1", 1)]
    run = Run(
        "r", [("a", ["p1", "p2", "p3", "p4"], np.array([4, 3, 2, 1.0])), ("b", [], np.empty(0))]
    )
    # one of four has a judgement, of grade 0; nothing was retrieved for b
    assert per_query(run, qrels, [JUDGED]) == {JUDGED: {"a": 0.25, "b": 0.0}}


@pytest.mark.parametrize(
    "name",
    [
        "nDCG@0",
        "P@0",
        "Success@0",
        "RR@0",
        "ERR@0",
        "Judged@0",
        "nDCG@True",
        "nDCG@99999999999",
        "RR@99999999999",
        "AP(rel=0)",
        "AP(rel=-5)",
        "AP(rel=True)",
        "AP(rel=99999999999999)",
        "AP(rel=1,rel=2)",
        "AP(**{'rel': 1})",
        "NumRet(rel=0)",
        "IPrec@1.5",
        "IPrec(recall=1e999)",
        "SetF(beta=1e999)",
        "SetF(beta=0.0)",
        "SetF(beta=-1.0)",
        "SetF(beta=1e308)",
        "nDCG(gains={0:'a'})@10",
        "nDCG(gains={0:99999999999})@10",
        "nDCG(gains={[]:1})@10",
        "Compat(p=2.0)",
        f"AP(rel={'-' * 100_000}1)",
        f"AP(rel={'[' * 1_000})",
        f"nDCG@{'9' * 5_000}",
    ],
)  # fmt: skip
def test_settings_that_c_and_perl_would_end_the_process_for_are_refused_before(name):
    with pytest.raises(SettingError, match="-m: wanted settings of"):
        parse_measure(name)


def test_settings_at_their_bounds_are_computed():
    for name in (
        "nDCG@1",
        "nDCG@1000000",
        "IPrec@0.0",
        "IPrec@1.0",
        "IPrec@0.55",
        "SetF(beta=0.5)",
        "nDCG(gains={1:7})@10",
    ):
        found = per_query(RUN, QRELS, [name])[name]
        assert all(0 <= value <= 1 for value in found.values()), name


@pytest.mark.skipif(
    not shutil.which("perl"), reason="ir_measures computes ERR in Perl, and there is none"
)
@pytest.mark.parametrize("odd", ["q1", "0007", "amean", "a b\tc", "é\x1b", "1\n2 Q0 x 1 9 x"])
def test_ids_of_any_form_are_measured_by_perl_too(odd):
    # ERR@10 of one relevant passage (grade 1 of 4: (2 − 1) / 16) at rank 2: 1/16 · 1/2
    run = Run("s", [(odd, ["x y", "d\n"], [2.0, 1.0]), ("2", ["d\n"], [1.0])])
    qrels = [Qrel(odd, "d\n", 1), Qrel("2", "d\n", 1), Qrel("none", "d\n", 1)]
    found = per_query(run, qrels, ["ERR@10", "nDCG(dcg='exp-log2')@10", "RR"])
    assert found["ERR@10"] == {"2": 0.0625, odd: 0.03125, "none": 0}
    assert found["nDCG(dcg='exp-log2')@10"][odd] == pytest.approx(1 / np.log2(3), abs=1e-5)
    assert found["RR"] == {"2": 1, odd: 0.5, "none": 0}


def test_a_grade_too_high_to_be_computed_with_is_one_line():
    run = Run("r", [("q", ["a", "b"], [2.0, 1.0])])
    assert per_query(run, [Qrel("q", "b", 1_000_000)], ["nDCG@10"])["nDCG@10"][
        "q"
    ] == pytest.approx(1 / math.log2(3))
    with pytest.raises(
        InputError,
        match=(
            r"judgements: wanted grades up to 1,000,000; found 500,000,000 for query 'q'; rescale"
        ),
    ):
        per_query(run, [Qrel("q", "b", 500_000_000)], ["nDCG@10"])


@pytest.mark.parametrize(
    ("name", "near"), [("ndcgg", "nDCG@10"), ("ndgc@20", "nDCG@10"), ("bpreff", "Bpref")]
)
def test_the_closest_measure_is_named_whatever_its_cutoff(name: str, near: str) -> None:
    with pytest.raises(SettingError, match=f"did you mean {near}"):
        parse_measure(name)
