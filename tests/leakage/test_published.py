"""The leakage paper's figures as we hold them: cells by hand, counts, sums that the paper's text gives, the targets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from positionbias.leakage.labels import DIFFERENT
from positionbias.leakage.published import CELLS, TARGETS, published_candidates, published_review, target_of
from positionbias.results.leakage import OFFSET, RANK, SCORE, WITH, WITHOUT
from positionbias.results.leakage_pairs import TopicsAndQueries
from positionbias.results.published import DEVIATION
from positionbias.results.result import Facts


def value(table: int, target: str, measure: str, model: str = "", variant: str = "") -> tuple[float, str]:
    facts = Facts(model=model, variant=variant)
    (cell,) = (c for c in CELLS if (c.table, c.collection, c.measure, c.facts) == (table, target, measure, facts))
    return cell.value, cell.letters


def test_every_cell_is_there_once() -> None:
    # fields × targets × sources × 2; 3 × 2 × 2 and 5 labels; models × conditions × measures; models × leaks × targets × 4; × 2
    assert Counter(cell.table for cell in CELLS) == {1: 48, 2: 17, 3: 45, 4: 45, 5: 45, 6: 120, 7: 120, 8: 60}
    assert len({cell.place for cell in CELLS}) == len(CELLS)
    assert {cell.collection for cell in CELLS} == {*TARGETS, ""}


@pytest.mark.parametrize(
    ("cell", "figure", "letters"),
    [
        ((3, "Robust04", "nDCG@10", "knrm", "test leakage"), 0.309, "†"),
        ((3, "Robust04", "MFR", "duet", "MSM leakage"), 2.682, ""),
        ((4, "Core 2017", "P@1", "mono_t5", "no leakage"), 0.660, ""),
        ((5, "Core 2018", "MFR", "pacrr", "MSM leakage"), 1.383, "†"),
        ((6, "Core 2018", f"{RANK}, {WITHOUT}", "duet", "MSM leakage"), 45.67, ""),
        ((6, "Robust04", f"{RANK}, {WITH} {DEVIATION}", "pacrr", "test leakage"), 34.05, ""),
        ((7, "Core 2017", f"{SCORE}, {WITH}", "bert_cat", "MSM leakage"), -0.88, ""),
        ((7, "Robust04", f"{SCORE}, {WITHOUT}", "mono_t5", "test leakage"), -2.37, ""),
        ((8, "Robust04", OFFSET, "duet", "MSM leakage"), 6.378, ""),
        ((8, "Core 2018", f"{OFFSET} {DEVIATION}", "bert_cat", "test leakage"), 25.98, ""),
    ],
)
def test_cells_by_hand(cell: tuple[int, str, str, str, str], figure: float, letters: str) -> None:
    assert value(*cell) == (figure, letters)


def test_the_sums_that_the_text_gives() -> None:
    review, counts = published_review("Robust04")
    labels = counts.rows
    assert sum(labels.values()) == 827  # candidates that were reviewed
    assert sum(count for label, count in labels.items() if label != DIFFERENT) == 721
    assert review.rows["true"] == {"queries": 648, "topics": 172}
    assert round(0.575 * 721) == labels["identical"] + labels["specialization"]
    # Duet's rank offset rises by 6.4; 181 topics and 3,960 queries of Robust04 are candidates
    assert published_candidates("Robust04").rows["union"]["MSM + ORCAS"] == TopicsAndQueries(181, 3960)
    # the daggers of Tables 3, 4 and 5
    assert sum(cell.letters == "†" for cell in CELLS) == sum(cell.letters != "" for cell in CELLS) == 8 + 2 + 3


def test_leakage_lifts_the_score_but_where_the_text_says() -> None:
    """ "In most cases" (exception: monoBERT for MSM leakage and PACRR for test leakage from Common Core 2017)."""
    falls = set()
    for cell in CELLS:
        if cell.table == 7 and cell.measure == f"{SCORE}, {WITH}":
            without = value(7, cell.collection, f"{SCORE}, {WITHOUT}", cell.facts.model, cell.facts.variant)[0]
            if cell.value <= without:
                falls.add((cell.facts.model, cell.facts.variant, cell.collection))
    assert falls == {("bert_cat", "MSM leakage", target) for target in TARGETS} | {("pacrr", "test leakage", "Core 2017")}


def test_a_target_is_known_by_its_topics() -> None:
    robust = [str(number) for number in (*range(301, 451), *range(601, 701))]
    assert target_of(robust) == "Robust04"
    assert target_of([topic for topic in robust if topic != "672"]) == "Robust04"  # nothing relevant was judged for it
    assert target_of([f"robust:{topic}" for topic in robust]) == "Robust04"
    assert target_of(robust[1:]) is None
    assert target_of([]) is None


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "target", "count"), [("robust04", "Robust04", 250), ("core17", "Core 2017", 50), ("core18", "Core 2018", 50)]
)
def test_the_published_topics_are_the_targets(posbias_data: Path, name: str, target: str, count: int) -> None:
    from positionbias.formats.trec_topics import read_topics

    topics = [query.query_id for query in read_topics(posbias_data / "leakage" / f"topics.{name}.txt")]
    assert (len(topics), target_of(topics)) == (count, target)
