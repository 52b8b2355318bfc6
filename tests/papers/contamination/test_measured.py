"""What a contamination study measures, worked by hand from made-up runs: effectiveness, tests,
training sets, sentences.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from pandas import DataFrame, Series
from scipy import stats

from positionbias.core.rows import read_csv
from positionbias.papers.contamination.measured import (
    PUBLISHED,
    ContaminationStudy,
    measure_contamination,
)
from positionbias.papers.contamination.shown import SHOWN

from .contaminating import TEACHER, System, contaminated_study

STUDENT = ("student", "tk", "kl")
QUERIES = 8


def ndcg(rank: int) -> float:
    """With one relevant passage: 1 / log2(rank + 1)."""
    return 1 / log2(rank + 1)


def rank(system: System, source: str, seed: int, target: str, query: int) -> int:
    """BM25 has 7. Clean: the teacher 3, with the second seed 1 for the first query; the student 7.

    The teacher that saw the target has 1 for all its queries but the last, which stays at 3; its
    student 3 for the even ones. A teacher that saw another target is as the clean one; its
    student 7.
    """
    teacher = system == TEACHER
    if source == target:
        return (3 if query == QUERIES - 1 else 1) if teacher else (3 if query % 2 == 0 else 7)
    return (1 if seed == 2 and query == 0 else 3) if teacher else 7


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ContaminationStudy:
    return contaminated_study(
        tmp_path_factory.mktemp("contamination") / "study", rank, queries=QUERIES
    )


@pytest.fixture(scope="module")
def rows(study: ContaminationStudy) -> DataFrame:
    return measured(study)


@pytest.fixture(scope="module")
def once(study: ContaminationStudy) -> DataFrame:
    """With the first seed alone: every query but the last gains 0.5 of the teacher that saw the
    target.
    """
    return measured(of_first_seed(study))


def measured(study: ContaminationStudy) -> DataFrame:
    return SHOWN.own(measure_contamination(study).rows)


def of_first_seed(study: ContaminationStudy) -> ContaminationStudy:
    return replace(study, trials=[trial for trial in study.trials if trial.seed == 1])


def one(
    rows: DataFrame,
    system: System,
    source: str = "none",
    *,
    statistic: str = "mean",
    split: str = "dl19",
    **cells: object,
) -> Series:
    """Return our only row of a system with these cells."""
    role, model, loss = system
    cells = {"measure": "nDCG@10", "against": "", "seed": -1, "whose": "", **cells}
    cells |= {"role": role, "model": model, "loss": loss, "source": source, "split": split}
    cells["statistic"] = statistic
    for name, cell in cells.items():
        rows = rows[rows[name] == cell]
    (found,) = (row for _, row in rows.iterrows())
    return found


def against_clean(rows: DataFrame, system: System, source: str, split: str) -> Series:
    return one(rows, system, source, split=split, statistic="difference", against="clean")


def test_a_query_is_its_mean_over_seeds(study: ContaminationStudy) -> None:
    made = measure_contamination(study)
    rows, values = SHOWN.own(made.rows), made.values
    clean = one(rows, TEACHER, axis="")
    own = values[values["row"] == clean["row"]].sort_values("item")
    assert list(own["item"]) == [f"dl19-{query}" for query in range(QUERIES)]
    # the first query: rank 3 with one seed (0.5), rank 1 with the other (1.0); the others rank 3
    # with both
    assert list(own["value"]) == pytest.approx([0.75, *[0.5] * 7])
    assert clean["value"] == pytest.approx((0.75 + 7 * 0.5) / 8)
    saw = one(rows, TEACHER, "dl19", measure="AP(rel=2)")
    assert saw["value"] == pytest.approx((7 * 1 + 1 / 3) / 8)
    assert one(rows, STUDENT, measure="R(rel=2)@100", split="dl20")["value"] == 1.0
    # 1 / log2(8)
    first = one(rows, ("first stage", "bm25", ""), split="dl20")
    assert first["value"] == pytest.approx(1 / 3)


def test_contaminated_against_clean(rows: DataFrame) -> None:
    both = against_clean(rows, TEACHER, "dl19", "dl19")
    gains = np.array([0.25, *[0.5] * 6, 0.0])
    assert both["value"] == pytest.approx(gains.mean())
    student_t = one(rows, TEACHER, "dl19", statistic="Student's t", against="clean")
    assert student_t["p"] == pytest.approx(stats.ttest_1samp(gains, 0).pvalue)
    # with the second seed the first query had 1
    by_seed = [
        one(rows, TEACHER, "dl19", statistic="difference", against="clean", seed=seed)["value"]
        for seed in (1, 2)
    ]
    assert by_seed == pytest.approx([7 * 0.5 / 8, 6 * 0.5 / 8])
    # of two trainings both values, and neither an interval nor a p
    assert np.isnan([both["low"], both["p"]]).all()
    assert both["interval"] == "trainings and queries"


def test_against_the_standard_teacher(rows: DataFrame) -> None:
    tested = rows.query(
        "against == 'the clean teacher' and statistic == 'difference' and seed == -1"
        " and measure == 'nDCG@10'"
    )
    systems = set(zip(tested["role"], tested["source"], tested["split"], strict=True))
    own = {(role, target, target) for role in ("teacher", "student") for target in ("dl19", "dl20")}
    assert systems == own | {("student", "none", target) for target in ("dl19", "dl20")}
    means = [
        one(rows, STUDENT, split="dl20", statistic=f"{side} mean", against="the clean teacher")
        for side in ("baseline", "candidate")
    ]
    assert [mean["value"] for mean in means] == pytest.approx([4.25 / 8, 1 / 3])


def findings(rows: DataFrame) -> dict[str, bool | None]:
    return {finding.text.replace("\u00a0", " "): finding.holds for finding in SHOWN.findings(rows)}


def beginning(texts: dict[str, bool | None], start: str) -> str:
    (text,) = (text for text in texts if text.startswith(start))
    return text


def test_the_sentences(once: DataFrame) -> None:
    texts = findings(once)
    teacher = beginning(texts, "Teacher BERT_CAT (LCE) on dl19: nDCG@10")
    assert teacher.startswith(
        "Teacher BERT_CAT (LCE) on dl19: nDCG@10 0.938 if it saw the judgements, 0.500 if not, "
        "difference +0.438 ["
    )
    # seven queries gain: 2 / 128, four times that by Holm
    assert "over 8 queries (Holm p 0.062); neither inflation nor deflation is established" in (
        teacher
    )
    assert texts[teacher] is None
    student = beginning(texts, "Student TK (KL div.) on dl19")
    assert "0.417 if its teacher saw the judgements, 0.333 if not, difference +0.083" in student
    weak = "nDCG@10 0.333 on dl19, where BM25 has 0.333."
    assert texts[f"Not learned: student TK (KL div.): {weak}"] is False
    assert any("after Holm's correction: none." in text for text in texts)


def test_queries_of_one_passage_are_one_cluster(
    study: ContaminationStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = {
        f"{target}-{query}": f"passage {query // 2}"
        for target in ("dl19", "dl20")
        for query in range(QUERIES)
    }
    monkeypatch.setattr(
        "positionbias.experiments.measured.clusters_by_passage", lambda qrels, level: pairs
    )
    rows = measured(of_first_seed(study))
    assert against_clean(rows, TEACHER, "dl19", "dl19")["p"] == 2 / 2**4
    # of four clusters
    assert rows["low"].isna().all()


@pytest.fixture(scope="module")
def of_teachers(study: ContaminationStudy) -> DataFrame:
    """Without students: a family of two tests."""
    trials = [trial for trial in of_first_seed(study).trials if trial.facts.role == "teacher"]
    return measured(replace(study, trials=trials))


def test_an_inflation_that_is_established(of_teachers: DataFrame) -> None:
    texts = findings(of_teachers)
    teacher = beginning(texts, "Teacher BERT_CAT (LCE) on dl19: nDCG@10")
    assert "over 8 queries (Holm p 0.031); inflation is established" in teacher
    assert texts[teacher] is True
    (tile, _) = SHOWN.tiles(of_teachers)
    assert (tile.words, tile.welcome) == ("Significantly higher", False)


def test_seeds_that_only_one_side_has_are_left_out_of_pairs(study: ContaminationStudy) -> None:
    trials = [trial for trial in study.trials if trial.seed == 1 or not trial.facts.source]
    tested = against_clean(measured(replace(study, trials=trials)), TEACHER, "dl19", "dl19")
    # with the first seed every query but the last gains 0.5
    assert (tested["value"], tested["trainings"]) == (pytest.approx(7 * 0.5 / 8), 1)
    apart = [trial for trial in study.trials if (trial.seed == 1) != bool(trial.facts.source)]
    assert measured(replace(study, trials=apart)).query("against == 'clean'").empty


def test_what_the_paper_prints() -> None:
    cells = read_csv(PUBLISHED)
    # Table 1 has 11 rows of 9 cells, Table 2 4 rows of 3, of which six are in Table 1 too
    assert len(cells) == 99 + 12 - 6
    keys = ["split", "measure", "role", "model", "loss", "source"]
    assert not cells.duplicated(keys).any()
    covid = cells.query("split == 'TREC COVID'").set_index(keys[1:])["value"]
    assert covid["nDCG@10", "teacher", "bert_cat", "lce", ""] == 0.590
    assert covid["nDCG@10", "teacher", "bert_cat", "lce", "TREC COVID"] == 0.746
    assert covid["R(rel=2)@100", "student", "bert_dot", "ranknet", "TREC COVID"] == 0.154
    # the sum of the first column, added up apart
    own = cells.query("split == 'Deep Learning 2019' and measure == 'nDCG@10'")
    own = own[(own["source"] == "") | (own["source"] == own["split"])]
    assert own["value"].sum() == pytest.approx(7.722)


def test_the_papers_figures_stand_beside_its_own_targets(rows: DataFrame) -> None:
    printed = rows[rows["whose"] == "published"]
    assert set(printed["split"]) == {"dl19", "dl20"}
    assert set(printed["source"]) == {"none", "dl19", "dl20"}
