"""The paper's Tables 1 and 2, read again from its text; which tasks are the paper's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.records import Qrel
from positionbias.papers.pooling import DOCUMENTS, PASSAGES, TOPICS, paper_task
from positionbias.papers.pooling.page import CELLS
from positionbias.pooling.settings import PoolSettings
from positionbias.results.published import under_pools

# as the paper prints them, line by line: test systems trad, neural, all under MRR, then under
# NDCG@10
PRINTED = {
    (1, "Trad Pool"): "0.436 -0.12 -0.19 0.772 0.68 0.676",
    (1, "Neural Pool"): "0.769 0.635 0.842 0.774 0.836 0.852",
    (2, "Trad Pool"): "0.63 0.004 0.0 0.789 0.574 0.612",
    (2, "Neural Pool"): "0.7 0.81 0.875 0.89 0.874 0.881",
}


def test_every_cell_and_its_place() -> None:
    assert len(CELLS) == len({(cell.table, cell.measure, cell.facts) for cell in CELLS}) == 24
    by_place = {cell.place: cell.value for cell in CELLS}
    for (table, row), line in PRINTED.items():
        heads = [
            f"{test}, {column}"
            for column in ("MRR", "NDCG@10")
            for test in ("Trad", "Neural", "All")
        ]
        for head, value in zip(heads, map(float, line.split()), strict=True):
            assert by_place[f"Table {table}, {row}, {head}"] == value
    found = next(cell for cell in CELLS if cell.place == "Table 2, Trad Pool, Neural, MRR")
    assert (found.collection, found.measure, found.facts) == (
        PASSAGES,
        "RR(rel=2)",
        under_pools("traditional", "neural"),
    )


def judged(form: str = "D{}") -> list[Qrel]:
    return [Qrel(topic, form.format(number), 1) for number, topic in enumerate(sorted(TOPICS))]


def test_the_papers_tasks_are_known_by_topics_and_documents() -> None:
    settings, kinds = PoolSettings(), ("neural", "traditional")
    assert len(judged()) == 43
    assert {"19335", "1133167"} <= {qrel.query_id for qrel in judged()}
    assert paper_task(judged(), kinds, settings) == (DOCUMENTS, "")
    assert paper_task(judged("{}"), kinds, settings) == (PASSAGES, "")


@pytest.mark.parametrize(
    ("qrels", "kinds", "settings", "why"),
    [
        (judged()[1:], ("traditional", "neural"), PoolSettings(), "its queries are not the 43"),
        (judged("doc-{}"), ("traditional", "neural"), PoolSettings(), "named neither as"),
        (
            judged(),
            ("traditional", "nnlm", "nn"),
            PoolSettings(),
            "its kinds are traditional, nnlm, nn",
        ),
        (
            judged(),
            ("traditional", "neural"),
            PoolSettings(depth=5),
            "of depth 10 and of half of the groups",
        ),
        (
            judged(),
            ("traditional", "neural"),
            PoolSettings(gold="all"),
            "its gold is the pool of all runs",
        ),
        (
            judged(),
            ("traditional", "neural"),
            replace(PoolSettings(), groups=2),
            "of half of the groups",
        ),
    ],
    ids=["topics", "documents", "kinds", "depth", "gold", "groups"],
)
def test_no_other_task_is_and_it_says_why(
    qrels: list[Qrel], kinds: tuple[str, ...], settings: PoolSettings, why: str
) -> None:
    task, said = paper_task(qrels, kinds, settings)
    assert task == ""
    assert why in said
