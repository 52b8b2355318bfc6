"""The study of pools: match tasks with those of the paper on test collections, to compare its
figures with ours.

Only a task with the paper's 43 judged queries, and with document ids like the paper's, has figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.records import Qrel
from positionbias.pooling.settings import PoolSettings

__all__ = ["DOCUMENTS", "PAPER", "PASSAGES", "TOPICS", "paper_task"]

PAPER = (
    "On the Reliability of Test Collections for Evaluating Systems of Different Types (SIGIR 2020)"
)
DOCUMENTS, PASSAGES = "TREC DL 2019 documents", "TREC DL 2019 passages"
KINDS = ("traditional", "neural")
DEPTH = 10

# the judged topics of the TREC 2019 Deep Learning Track, the same for both tasks
TOPICS = frozenset(
    (
        "19335 47923 87181 87452 104861 130510 131843 146187 148538 156493 168216 182539 183378 "
        "207786 264014 359349 405717 443396 451602 489204 490595 527433 573724 833860 855410 "
        "915593 962179 1037798 1063750 1103812 1106007 1110199 1112341 1113437 1114646 1114819 "
        "1115776 1117099 1121402 1121709 1124210 1129237 1133167"
    ).split()
)


def paper_task(
    qrels: Sequence[Qrel], kinds: Sequence[str], settings: PoolSettings
) -> tuple[str, str]:
    """Return (the paper's task, "") or ("", reason).

    The track's document ids are D and a number, its passage ids a number [decision]; both tasks
    have the same topics.
    """
    if {qrel.query_id for qrel in qrels} != TOPICS:
        return "", "its queries are not the 43 judged ones of the TREC 2019 Deep Learning Track"
    if all(qrel.passage_id.isdecimal() for qrel in qrels):
        task = PASSAGES
    elif all(qrel.passage_id[:1] == "D" and qrel.passage_id[1:].isdecimal() for qrel in qrels):
        task = DOCUMENTS
    else:
        return "", "its documents are named neither as the track's documents nor as its passages"
    if set(kinds) != set(KINDS):
        return "", f"its kinds are {', '.join(kinds)}, and the paper's {' and '.join(KINDS)}"
    if (settings.depth, settings.gold, settings.gold_depth or DEPTH, settings.groups) != (
        DEPTH,
        "pool",
        DEPTH,
        None,
    ):
        return (
            "",
            (
                f"the paper's pools are of depth {DEPTH} and of half of the groups, its gold is "
                "the pool of all runs"
            ),
        )
    return task, ""
