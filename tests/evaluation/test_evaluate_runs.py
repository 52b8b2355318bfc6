"""Several runs on one set of judgements: what is compared with what, and runs that belong
elsewhere.
"""

import pytest

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.evaluate import check_run, evaluate_runs
from positionbias.evaluation.records import Comparison, PerQuery
from positionbias.evaluation.significance import clusters_by_passage

QRELS = [Qrel(f"q{i}", "good", 1) for i in range(8)]


def run_with_ranks(name, ranks):
    """A run whose relevant passage stands at these ranks, one query each."""
    rankings = []
    for number, rank in enumerate(ranks):
        passages = [f"bad{i}" for i in range(max(ranks))]
        passages.insert(rank - 1, "good")
        rankings.append((f"q{number}", passages, range(len(passages), 0, -1)))
    return Run(name, rankings)


FIRST = run_with_ranks("first", [2] * 8)
BETTER = run_with_ranks("better", [1] * 7 + [2])
MIXED = run_with_ranks("mixed", [1, 4] * 4)


def test_each_later_run_is_compared_with_the_first():
    results, _ = evaluate_runs(
        [FIRST, BETTER, MIXED], QRELS, ["RR@10", "R@1"], collection="c", split="test", seed=1
    )
    kinds = [(r.measure, r.system, type(r.payload)) for r in results]
    assert kinds == [
        *((m, s, PerQuery) for s in ("first", "better", "mixed") for m in ("RR@10", "R@1")),
        *((m, s, Comparison) for m in ("RR@10", "R@1") for s in ("better", "mixed")),
    ]
    assert [r.value for r in results[:6]] == pytest.approx(
        [0.5, 0, 7.5 / 8, 7 / 8, (1 + 0.25) / 2, 0.5]
    )
    better = results[6]
    assert isinstance(better.payload, Comparison)
    assert (better.payload.baseline, better.payload.candidate) == ("first", "better")
    assert better.value == better.payload.difference == pytest.approx(3.5 / 8)
    assert better.interval == better.payload.difference_interval
    assert better.count == 8
    # seven differences of ½ with one sign, of 2⁷ = 128 signs two are as far out; two comparisons in
    # the family of this measure
    assert better.payload.p == 2 / 128
    assert better.payload.p_adjusted["bonferroni"] == pytest.approx(4 / 128)


def test_one_cluster_has_no_interval():
    clusters = clusters_by_passage(QRELS)
    results, _ = evaluate_runs(
        [FIRST, MIXED], QRELS, ["RR@10"], collection="c", split="test", seed=1, clusters=clusters
    )
    # all queries share one relevant passage: nothing can be resampled, one sign can be flipped, and
    # the comparison says so
    assert results[0].interval is None
    assert list(results[0].payload.clusters) == ["passage good"] * 8
    assert results[-1].payload.p == 1.0
    assert results[-1].payload.notes["intervals"] == "undefined: fewer than 5 clusters of queries"


def test_runs_of_another_collection_are_named(small_collection):
    good = Run("mine", [("q3", ["p-bridge", "p-word"], [2.0, 1.0]), ("q1", ["p-lamp"], [1.0])])
    check_run(good, small_collection, "test")
    check_run(Run("empty", []), small_collection, "test")
    with pytest.raises(
        InputError, match=r"run 'alien'.*found 1 of 2 that are not in it, the first 'p-none'"
    ):
        check_run(
            Run("alien", [("q3", ["p-lamp", "p-none"], [2.0, 1.0])]), small_collection, "test"
        )
    with pytest.raises(
        InputError, match=r"run 'alien'.*queries of .*found 1 of 2 .*, the first 'q9'"
    ):
        check_run(
            Run("alien", [("q3", ["p-lamp"], [1.0]), ("q9", ["p-lamp"], [1.0])]),
            small_collection,
            "test",
        )
