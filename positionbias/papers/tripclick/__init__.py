"""The TripClick study: "Establishing Strong Baselines for TripClick Health Retrieval" (ECIR 2022),
Tables 1 and 2, and §3.1 on training data.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "CLEANED",
    "ENSEMBLE",
    "FIRST",
    "HEADLINE",
    "JUDGED",
    "REGENERATED",
    "RERANKER",
    "RETRIEVER",
    "TESTS",
    "Fall",
    "paper_test",
]

HEADLINE, JUDGED = "nDCG@10", "Judged@10"

REGENERATED = "regenerated"  # the training set with BM25's negatives
CLEANED = "-cleaned"  # suffix of a set's name: without its false negatives
FIRST, RERANKER, ENSEMBLE, RETRIEVER = "first stage", "re-ranker", "ensemble", "retriever"
TESTS = {"head": "Head (DCTR)", "torso": "Torso (RAW)", "tail": "Tail (RAW)"}  # as in the paper


class Fall(StrEnum):
    """The answer on a change from one re-ranking depth to a deeper one."""

    RISES = "it still rises"
    NONE = "no fall beyond 3\u00a0%"
    FALLS = "it falls"
    UNKNOWN = "cannot tell"
    SHALLOW = "no candidates beyond the study's depth exist, so the effect of more is unknown"


def paper_test(label: str) -> str | None:
    """Return TripClick's test that a split is named for, ``SPLIT`` or ``SPLIT.JUDGEMENTS``, or
    None.

    The paper's head is judged by DCTR, torso and tail by raw clicks. In a merged collection the
    split has a prefix.

    >>> (
    ...     paper_test("head_test.dctr"),
    ...     paper_test("trip.tail_test"),
    ...     paper_test("head_test"),
    ...     paper_test("test"),
    ... )
    ('Head (DCTR)', 'Tail (RAW)', None, None)
    """
    judged = label.endswith(".dctr")
    name, _, part = label.removesuffix(".dctr").rpartition(".")[2].partition("_")
    return TESTS.get(name) if part == "test" and judged == (name == "head") else None
