"""What is measured of a contamination study, from made-up runs: every figure worked by hand, tests
by another way, both directions in words.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats

from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest
from positionbias.papers.contamination import (
    BEYOND,
    CONTAMINATION,
    DOSES,
    STANDARD,
    TRAINED,
    Beyond,
    Doses,
    Inherited,
    TeacherSet,
    Trainings,
    comparisons_along,
)
from positionbias.papers.contamination.findings import contamination_findings
from positionbias.papers.contamination.measured import ContaminationStudy, measure_contamination
from positionbias.results.payloads import Comparison, Finding, PerQuery
from positionbias.results.result import Facts, Result, load_results, save_results
from positionbias.results.select import of_type

from .contaminating import TEACHER, System, contaminated_study

STUDENT = ("student", "tk", "kl")
QUERIES = 8


def ndcg(rank: int) -> float:
    """With one relevant passage: 1 / log2(rank + 1)."""
    return 1 / log2(rank + 1)


def rank(system: System, source: str, share: float, seed: int, target: str, query: int) -> int:
    """BM25 has 7. Clean: the teacher 3, with the second seed 1 for the first query; the student 7.

    The teacher that saw the target has 1 for all its queries but the last, which stays at 3; its
    student 3 for the even ones. A teacher that saw another target is as the clean one; its
    student 7. With half of the queries seen, the teacher has 1 for the first four queries.
    """
    teacher = system == TEACHER
    if source == target and share == 0.5:
        return (1 if query < 4 else 3) if teacher else 7
    if source == target:
        return (3 if query == QUERIES - 1 else 1) if teacher else (3 if query % 2 == 0 else 7)
    return (1 if seed == 2 and query == 0 else 3) if teacher else 7


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ContaminationStudy:
    return contaminated_study(
        tmp_path_factory.mktemp("contamination") / "study", rank, shares=(0.5, 1.0), queries=QUERIES
    )


@pytest.fixture(scope="module")
def results(study: ContaminationStudy) -> list[Result]:
    return measure_contamination(study)


@pytest.fixture(scope="module")
def once(study: ContaminationStudy) -> list[Result]:
    """With the first seed alone: every query but the last gains 0.5 of the teacher that saw the
    target.
    """
    return measure_contamination(of_first_seed(study))


def of_first_seed(study: ContaminationStudy) -> ContaminationStudy:
    return replace(study, trials=[trial for trial in study.trials if trial.seed == 1])


def facts(system: System, source: str = "", share: float | None = None) -> Facts:
    role, model, loss = system
    return Facts(model=model, role=role, loss=loss, source=source, share=share)


def one(
    results: list[Result], measure: str, target: str, of: Facts, kind: str = "per_query"
) -> Result:
    (found,) = (
        r for r in results if (r.measure, r.split, r.facts, r.kind) == (measure, target, of, kind)
    )
    return found


def compared(
    results: list[Result], axis: str, target: str, of: Facts, measure: str = "nDCG@10"
) -> Comparison:
    (found,) = (
        p
        for r, p in comparisons_along(results, axis)
        if (r.measure, r.split, r.facts) == (measure, target, of)
    )
    return found


def test_a_query_is_its_mean_over_seeds(results: list[Result]) -> None:
    clean = one(results, "nDCG@10", "dl19", facts(TEACHER))
    assert isinstance(clean.payload, PerQuery)
    assert clean.payload.query_ids == [f"dl19-{query}" for query in range(QUERIES)]
    # the first query: rank 3 with one seed (0.5), rank 1 with the other (1.0); the others rank 3
    # with both
    assert clean.payload.values == pytest.approx([0.75, *[0.5] * 7])
    assert clean.value == pytest.approx((0.75 + 7 * 0.5) / 8)
    assert clean.payload.notes == {"seeds": [1, 2]}
    saw = one(results, "AP(rel=2)", "dl19", facts(TEACHER, "dl19", 1.0))
    assert saw.value == pytest.approx((7 * 1 + 1 / 3) / 8)
    assert one(results, "R(rel=2)@100", "dl20", facts(STUDENT)).value == 1.0
    # 1 / log2(8)
    assert one(results, "nDCG@10", "dl20", Facts(model="bm25")).value == pytest.approx(1 / 3)


def test_contaminated_against_clean(results: list[Result]) -> None:
    both = compared(results, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    gains = np.array([0.25, *[0.5] * 6, 0.0])
    assert both.difference == pytest.approx(gains.mean())
    assert both.p_t == pytest.approx(stats.ttest_1samp(gains, 0).pvalue)
    assert both.notes["seeds"] == [1, 2]
    assert both.notes["difference by seed"] == pytest.approx(
        [7 * 0.5 / 8, 6 * 0.5 / 8]
    )  # with the second seed the first query had 1
    # of two trainings both values, and neither an interval nor a p
    assert (both.difference_interval, both.p, both.notes["over"]) == (
        None,
        None,
        "over trainings and queries",
    )


def test_contaminated_against_clean_of_one_seed(once: list[Result]) -> None:
    results = once
    found = compared(results, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    assert found.notes["over"] == "over queries of one training: speaks of this checkpoint"
    # a family of four: teacher and student, on the two targets; the teacher's and the student's p
    # are twice the same
    student = compared(results, CONTAMINATION, "dl19", facts(STUDENT, "dl19", 1.0))
    assert student.p_t == pytest.approx(stats.ttest_1samp([ndcg(3) - ndcg(7), 0] * 4, 0).pvalue)
    # seven queries gain, and four: 2 of 2⁷ and of 2⁴ signs are as far out
    assert (found.p, student.p) == (2 / 128, 2 / 16)
    assert found.p_adjusted == {
        "holm": pytest.approx(8 / 128),
        "bonferroni": pytest.approx(8 / 128),
    }
    assert student.p_adjusted == {
        "holm": pytest.approx(4 / 16),
        "bonferroni": pytest.approx(8 / 16),
    }
    # on the other target nothing differs
    assert compared(results, CONTAMINATION, "dl20", facts(TEACHER, "dl19", 1.0)).p is None
    # smaller shares are doses, and no tests
    assert {r.facts.share for r, _ in comparisons_along(results, CONTAMINATION)} == {1.0}


def test_against_the_standard_teacher(results: list[Result]) -> None:
    tests = [
        (r.split, r.facts)
        for r, _ in comparisons_along(results, STANDARD)
        if r.measure == "nDCG@10"
    ]
    clean = [(target, facts(STUDENT)) for target in ("dl19", "dl20")]
    own = [
        (target, facts(system, target, 1.0))
        for system in (TEACHER, STUDENT)
        for target in ("dl19", "dl20")
    ]
    assert sorted(map(str, tests)) == sorted(map(str, [*clean, *own]))
    found = compared(results, STANDARD, "dl20", facts(STUDENT))
    assert (found.baseline_mean, found.candidate_mean) == (
        pytest.approx(4.25 / 8),
        pytest.approx(1 / 3),
    )
    assert found.baseline == "teacher bert_cat (lce)"


def test_doses_and_which_queries_were_seen(
    study: ContaminationStudy, results: list[Result]
) -> None:
    dose = one(results, DOSES, "dl19", facts(TEACHER, "dl19"), "statistics")
    assert isinstance(dose.payload, Doses)
    half, whole = dose.payload.points
    assert (half.share, whole.share) == (0.5, 1.0)
    seen = set(
        Groups(study.trainsets["dl19", 0.5]).manifest.content["targets"]["dl19"]["query_ids"]
    )
    assert len(seen) == 4
    # with half: 1 instead of 3 for the first four queries, of which the first gains half as much;
    # nothing for the others
    gain = {
        f"dl19-{query}": 0.0 if query > 3 else 0.5 if query else 0.25 for query in range(QUERIES)
    }
    assert half.every.mean == pytest.approx(1.75 / 8)
    assert half.seen is not None
    assert (half.seen.mean, half.seen.queries) == (pytest.approx(sum(gain[q] for q in seen) / 4), 4)
    apart = sum(gain[q] if q in seen else -gain[q] for q in gain) / 4
    assert half.apart is not None
    assert half.apart.mean == pytest.approx(apart)
    assert (whole.others, whole.apart) == (None, None)
    assert dose.payload.change is not None
    assert dose.payload.change.mean == pytest.approx((3.25 - 1.75) / 8)


def test_what_the_student_inherits(once: list[Result]) -> None:
    results = once
    found = {
        result.split: result
        for result, of in of_type(results, Inherited)
        if of.measure == "nDCG@10"
    }
    assert set(found) == {"dl19", "dl20"}
    student, teacher = 4 * (ndcg(3) - ndcg(7)) / 8, 3.5 / 8
    assert found["dl19"].value == pytest.approx(student / teacher)
    bounds = found["dl19"].interval
    assert bounds is not None
    assert bounds.low < student / teacher < bounds.high
    recall = [result for result, of in of_type(results, Inherited) if of.measure == "R(rel=2)@100"]
    # the teacher's recall does not change
    assert {(r.value, r.interval) for r in recall} == {(None, None)}


def test_what_is_beyond_the_change_on_another_target(once: list[Result]) -> None:
    """On the target that was seen the teacher gains seven times 0.5 and 0; on the other nothing:
    Welch's interval is Student's of the gains.
    """
    results = once
    found = one(results, BEYOND, "dl19", facts(TEACHER, "dl19", 1.0), "statistics")
    gains = np.array([*[0.5] * 7, 0.0])
    assert found.payload == Beyond(
        measure="nDCG@10", elsewhere="dl20", here=pytest.approx(gains.mean()), there=0.0
    )
    assert found.value == pytest.approx(gains.mean())
    half = stats.t.ppf(0.975, 7) * gains.std(ddof=1) / np.sqrt(8)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (gains.mean() - half, gains.mean() + half)
    )
    assert {(r.facts.role, r.split, r.facts.share) for r, _ in of_type(results, Beyond)} == {
        (role, target, 1.0) for role in ("teacher", "student") for target in ("dl19", "dl20")
    }


def test_training_sets_and_trainings(results: list[Result]) -> None:
    sets = {
        (result.facts.source, result.facts.share): (result.value, of.queries)
        for result, of in of_type(results, TeacherSet)
    }
    assert sets["", None] == (0.0, 0)
    assert sets["dl20", 0.5] == (pytest.approx(4 / 12), 4)  # 8 ordinary groups, 4 of the target
    assert sets["dl20", 1.0] == (0.5, 8)
    trained = one(results, TRAINED, "", facts(STUDENT, "dl19", 0.5), "statistics")
    assert isinstance(trained.payload, Trainings)
    assert trained.payload.steps == [100, 200]
    assert trained.value == pytest.approx(0.15)  # validation 0.1 and 0.2


def test_what_was_added(results: list[Result]) -> None:
    part = (
        "4 of 12 training groups (33.33\u00a0%; 4 queries) to 8 of 16 training groups "
        "(50.00\u00a0%; 8 queries)"
    )
    assert (
        said(results)[f"Test judgements in the teachers' training sets: dl19 {part}; dl20 {part}."]
        is None
    )


def said(results: list[Result]) -> dict[str, bool | None]:
    return {r.payload.text: r.payload.holds for r in results if isinstance(r.payload, Finding)}


def test_the_sentences(once: list[Result]) -> None:
    found = said(once)
    (teacher,) = (
        text for text in found if text.startswith("Teacher bert_cat (lce) on dl19: nDCG@10")
    )
    assert teacher.startswith(
        "Teacher bert_cat (lce) on dl19: nDCG@10 0.938 when it saw its judgements, 0.500 when it "
        "did not, difference +0.438 ("
    )
    # seven queries gain: 2 / 128, four times that by Holm
    assert (
        ") over 8 queries; neither inflation nor deflation is established (p = 0.062 after "
        "Holm's correction)"
    ) in teacher
    assert (
        " On dl20, of which nothing was seen, the change is 0.000; the first change less this "
        "is +0.438 (95 % interval "
    ) in teacher
    assert found[teacher] is None
    (student,) = (text for text in found if text.startswith("Student tk (kl) on dl19"))
    assert (
        "0.417 with a teacher that saw its judgements, 0.333 with one that did not, difference "
        "+0.083"
    ) in student
    assert (
        "without contamination it does not beat BM25 there, so this is about a model that did "
        "not learn"
    ) in student
    assert "Of the teacher's inflation, +0.438, it inherits 19\u00a0%" in student
    weak = "nDCG@10 0.333 on dl19, where BM25 has 0.333; 0.333 on dl20, where BM25 has 0.333."
    assert found[f"Not learned: student tk (kl), {weak}"] is False
    assert any(
        text.startswith("Of 2 students of contaminated teachers") and "0 have a higher" in text
        for text in found
    )
    assert any("no change is significant" in text for text in found)
    (dose,) = (
        t
        for t in found
        if t.startswith("Teacher bert_cat (lce): with a share of 0.5 of the queries of dl19")
    )
    assert "changes by +0.250" in dose
    assert not any("No target is one of the paper's" in text for text in found)


def test_queries_of_one_passage_are_one_cluster(
    study: ContaminationStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = {
        f"{target}-{query}": f"passage {query // 2}"
        for target in ("dl19", "dl20")
        for query in range(QUERIES)
    }
    monkeypatch.setattr(
        "positionbias.experiments.measuring.clusters_by_passage", lambda qrels, level: pairs
    )
    results = measure_contamination(of_first_seed(study))
    found = compared(results, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    assert found.p == 2 / 2**4
    # of four clusters
    assert not any(r.interval for r in results if r.kind in ("per_query", "comparison"))
    assert not any(r.interval for r in results if isinstance(r.payload, Inherited | Beyond))


@pytest.fixture(scope="module")
def of_teachers(study: ContaminationStudy) -> list[Result]:
    """Without students: a family of two tests."""
    trials = [trial for trial in of_first_seed(study).trials if trial.facts.role == "teacher"]
    return measure_contamination(replace(study, trials=trials))


def test_an_inflation_that_is_established(of_teachers: list[Result]) -> None:
    found = said(of_teachers)
    (teacher,) = (
        text for text in found if text.startswith("Teacher bert_cat (lce) on dl19: nDCG@10")
    )
    assert (
        ") over 8 queries; inflation is established (p = 0.031 after Holm's correction)" in teacher
    )
    assert found[teacher] is True


def test_what_validation_kept_at_step_0_has_learned_nothing(results: list[Result]) -> None:
    assert not any(text.startswith("No step was better") for text in said(results))
    ((trained, of),) = (
        (r, of) for r, of in of_type(results, Trainings) if r.system == "student tk (kl)"
    )
    kept = msgspec.structs.replace(of, kept_steps=[50, 0])
    found = contamination_findings(
        [replace(r, payload=kept) if r is trained else r for r in results]
    )
    (told,) = (
        finding for finding in found if finding.text.startswith("No step was better on validation")
    )
    assert "which were kept: student tk (kl)." in told.text
    assert told.holds is False


def test_the_other_direction(tmp_path: Path) -> None:
    """A teacher that is worse where it saw the judgements, a student of which nothing can be said;
    targets that are not the paper's.
    """

    def worse(system: System, source: str, share: float, seed: int, target: str, query: int) -> int:
        if system == TEACHER:
            return (4 if query % 4 else 3) if source == target else 2
        return 3 if (source == target) == (query % 2 == 0) else 2

    made = contaminated_study(
        tmp_path / "study", worse, targets=("one", "two"), queries=QUERIES, seeds=(1,)
    )
    found = said(measure_contamination(made))
    (teacher,) = (text for text in found if text.startswith("Teacher bert_cat (lce) on one"))
    assert "deflation is established" in teacher
    assert found[teacher] is False
    (student,) = (text for text in found if text.startswith("Student tk (kl) on one"))
    assert "neither inflation nor deflation is established" in student
    assert "Of the teacher's deflation, −" in student
    assert found[student] is None
    assert found["Every teacher and student is above BM25's nDCG@10 on every target."] is True
    assert any(
        text.startswith("No target is one of the paper's (Deep Learning 2019") for text in found
    )


def test_three_trainings_are_tested_over_trainings_and_queries(tmp_path: Path) -> None:
    """Where all trainings agree the interval is that of queries; where they do not, two trainings
    more cannot make it sure.
    """

    def better(
        system: System, source: str, share: float, seed: int, target: str, query: int
    ) -> int:
        return (3 if query % 2 else 1) if source == target else (3 if system == TEACHER else 4)

    def unsteady(
        system: System, source: str, share: float, seed: int, target: str, query: int
    ) -> int:
        return (1 if seed == 1 else 3) if source == target else 3

    steady, other = (
        measure_contamination(
            contaminated_study(tmp_path / of.__name__, of, queries=QUERIES, seeds=(1, 2, 3))
        )
        for of in (better, unsteady)
    )
    found = compared(steady, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    gains = np.array([0.5, 0.0] * 4)  # ranks 1 and 3 instead of 3
    assert found.p == pytest.approx(stats.ttest_1samp(gains, 0).pvalue)
    assert found.notes["deviation of a training"] == 0
    (text,) = (
        text for text in said(steady) if text.startswith("Teacher bert_cat (lce) on dl19: nDCG@10")
    )
    assert ", over trainings and queries) over 8 queries" in text
    # gains of 0.5, 0 and 0 on all queries: t = (1/6) / (1/6) with 2 degrees of freedom
    found = compared(other, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    assert found.p == pytest.approx(2 * stats.t.sf(1, 2))


def test_where_the_paper_prints_the_other_order(of_teachers: list[Result]) -> None:
    # on dl20 it prints 0.700 and 0.688 for the teacher; here contamination lifts it
    (text,) = (text for text in said(of_teachers) if text.startswith("Against the paper"))
    assert text.startswith(
        "Against the paper: for the teacher bert_cat (lce) on dl20 it prints nDCG@10 0.700, and "
        "0.688 contaminated"
    )


def test_seeds_that_only_one_side_has_are_left_out_of_pairs(study: ContaminationStudy) -> None:
    trials = [trial for trial in study.trials if trial.seed == 1 or not trial.facts.source]
    found = measure_contamination(replace(study, trials=trials))
    payload = compared(found, CONTAMINATION, "dl19", facts(TEACHER, "dl19", 1.0))
    assert payload.notes["seeds"] == [1]
    # with the first seed every query but the last gains 0.5
    assert payload.difference == pytest.approx(7 * 0.5 / 8)
    without = [
        trial
        for trial in study.trials
        if not (trial.seed == 1 and trial.facts.source)
        and not (trial.seed == 2 and not trial.facts.source)
    ]
    assert not comparisons_along(
        measure_contamination(replace(study, trials=without)), CONTAMINATION
    )


def test_results_are_saved_and_read(results: list[Result], tmp_path: Path) -> None:
    save_results(tmp_path / "results", results, Manifest("results", "study", "study contamination"))
    assert load_results(tmp_path / "results") == results
    assert {type(result.payload) for result in results} >= {
        TeacherSet,
        Trainings,
        Doses,
        Inherited,
        Beyond,
    }
