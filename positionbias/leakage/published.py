"""Figures of the leakage paper's Tables 1 to 8, with their places, to compare with ours.

Only a target with the topics of one of the paper's 3 collections has figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from positionbias.leakage.labels import DIFFERENT
from positionbias.results.leakage_pairs import (
    PAPER,
    CandidateCounts,
    LabelCounts,
    PublishedReview,
    TopicsAndQueries,
)

__all__ = ["PAPER", "TARGETS", "published_candidates", "published_review", "target_of"]

TARGETS = ("Robust04", "Core 2017", "Core 2018")  # as Table 1 writes them

_ROBUST04 = frozenset(map(str, (*range(301, 451), *range(601, 701))))
# of Robust04, judged without a relevant document: left out of many copies
_WITHOUT_RELEVANT = {"672"}
_CORE_2017 = frozenset(
    (
        "307 310 321 325 330 336 341 344 345 347 350 353 354 355 356 362 363 367 372 375 378 379 "
        "389 393 394 397 399 400 404 408 414 416 419 422 423 426 427 433 435 436 439 442 443 445 "
        "614 620 626 646 677 690"
    ).split()
)
_CORE_2018 = frozenset(
    "321 336 341 347 350 362 363 367 375 378 393 397 400 408 414 422 426 427 433 439 442 445 626 "
    "646 690".split()
) | frozenset(map(str, range(801, 826)))

# field | for each target: topics and queries of MS MARCO, topics and queries of MS MARCO and ORCAS
_TABLE_1 = """
Title       | 33  83 140 1775 | 2 12 23 176 | 2  2 21 110
Description |  2   3   8   50 | 0  0  0   0 | 0  0  1   2
Variants    | 45 116 167 3356 | 6 16 38 602 | 9 26 38 973
5pt. Union  | 53 151 181 3960 | 7 18 38 645 | 9 26 38 973
"""
_FIELDS = {
    "Title": "title",
    "Description": "description",
    "Variants": "variant",
    "5pt. Union": "union",
}

_TABLE_2A = {  # of candidates labelled as leaks, and of others: queries, topics
    "Robust04": ((648, 172), (93, 53)),
    "Core 2017": ((138, 37), (21, 11)),
    "Core 2018": ((157, 38), (19, 7)),
}
_TABLE_2B = {
    "identical": 187,
    "generalization": 124,
    "specialization": 228,
    "reformulation": 182,
    DIFFERENT: 106,
}


def target_of(query_ids: Collection[str]) -> str | None:
    """Return the paper's collection with exactly these topics, which a merged collection may
    prefix; None for any other.

    >>> target_of(["301", "302"]) is None
    True
    """
    found = frozenset(query_id.rpartition(":")[2] for query_id in query_ids) - _WITHOUT_RELEVANT
    known = {
        "Robust04": _ROBUST04 - _WITHOUT_RELEVANT,
        "Core 2017": _CORE_2017,
        "Core 2018": _CORE_2018,
    }
    return next((name for name, topics in known.items() if topics == found), None)


def _rows(text: str) -> Iterator[list[str]]:
    return ([part.strip() for part in line.split("|")] for line in text.strip().splitlines())


def published_candidates(target: str) -> CandidateCounts:
    """Return Table 1 of a target."""
    rows: dict[str, dict[str, TopicsAndQueries]] = {}
    for field, *groups in _rows(_TABLE_1):
        figures = [int(figure) for figure in groups[TARGETS.index(target)].split()]
        sources = zip(("MSM", "MSM + ORCAS"), figures[::2], figures[1::2], strict=True)
        rows[_FIELDS[field]] = {
            source: TopicsAndQueries(topics, queries) for source, topics, queries in sources
        }
    return CandidateCounts(rows=rows)


def published_review(target: str) -> tuple[PublishedReview, LabelCounts]:
    """Return Table 2a of a target, and Table 2b of all targets."""
    rows = {
        word: {"queries": queries, "topics": topics}
        for word, (queries, topics) in zip(("true", "false"), _TABLE_2A[target], strict=True)
    }
    return PublishedReview(rows=rows), LabelCounts(rows=_TABLE_2B)
