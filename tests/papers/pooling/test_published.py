"""The paper's Tables 1 and 2, read again from its text; which tasks are the paper's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.records import Qrel
from positionbias.core.rows import read_csv
from positionbias.papers.pooling.study import (
    DOCUMENTS,
    PASSAGES,
    PUBLISHED,
    TOPICS,
    paper_task,
)
from positionbias.pooling.settings import PoolSettings

PAPER = (
    "On the Reliability of Test Collections for Evaluating Systems of Different Types (SIGIR 2020)"
)
# as the paper prints them, line by line: test systems trad, neural, all under MRR, then under
# NDCG@10
PRINTED = {
    (1, DOCUMENTS, "RR", "traditional"): "0.436 -0.12 -0.19 0.772 0.68 0.676",
    (1, DOCUMENTS, "RR", "neural"): "0.769 0.635 0.842 0.774 0.836 0.852",
    (2, PASSAGES, "RR(rel=2)", "traditional"): "0.63 0.004 0.0 0.789 0.574 0.612",
    (2, PASSAGES, "RR(rel=2)", "neural"): "0.7 0.81 0.875 0.89 0.874 0.881",
}


def test_every_cell_and_its_place() -> None:
    columns = ["family", "collection", "pool", "measure", "kind", "value"]
    cells = read_csv(PUBLISHED)[columns].itertuples(index=False, name=None)
    printed = {
        (f"{PAPER}, Table {table}", collection, pool, measure, kind, value)
        for (table, collection, rank, pool), line in PRINTED.items()
        for (measure, kind), value in zip(
            [
                (name, test)
                for name in (rank, "nDCG@10")
                for test in ("traditional", "neural", "all")
            ],
            map(float, line.split()),
            strict=True,
        )
    }
    assert sorted(cells) == sorted(printed)


def judged(form: str = "D{}") -> list[Qrel]:
    return [Qrel(topic, form.format(number), 1) for number, topic in enumerate(sorted(TOPICS))]


KINDS, POOLS = ("neural", "traditional"), PoolSettings()


def test_the_papers_tasks_are_known_by_topics_and_documents() -> None:
    assert len(judged()) == 43
    assert {"19335", "1133167"} <= {qrel.query_id for qrel in judged()}
    assert paper_task(judged(), KINDS, POOLS) == DOCUMENTS
    assert paper_task(judged("{}"), KINDS, POOLS) == PASSAGES


@pytest.mark.parametrize(
    ("qrels", "kinds", "settings"),
    [
        (judged()[1:], KINDS, POOLS),
        (judged("doc-{}"), KINDS, POOLS),
        (judged(), ("traditional", "nnlm", "nn"), POOLS),
        (judged(), KINDS, replace(POOLS, depth=5)),
        (judged(), KINDS, replace(POOLS, gold="all")),
    ],
    ids=["topics", "documents", "kinds", "depth", "gold"],
)
def test_no_other_task_is(
    qrels: list[Qrel], kinds: tuple[str, ...], settings: PoolSettings
) -> None:
    assert paper_task(qrels, kinds, settings) == ""
