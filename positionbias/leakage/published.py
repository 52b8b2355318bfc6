"""Figures of the leakage paper, to compare with ours: only a target with the topics of one of the
paper's three collections has any.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from positionbias.core.rows import Collected, printed_cells

__all__ = ["PAPER", "TARGETS", "add_published", "target_of"]

PAPER = "How Train–Test Leakage Affects Zero-shot Retrieval (SPIRE 2022)"
TARGETS = ("Robust04", "Core 2017", "Core 2018")  # as Table 1 writes them
_CSV = Path(__file__).with_name("published.csv")  # Tables 1, 2a, 2b

# 672, judged without a relevant document, is left out of many copies of Robust04
_ROBUST04 = {*map(str, (*range(301, 451), *range(601, 701)))} - {"672"}
_CORE_2017 = {
    *(
        "307 310 321 325 330 336 341 344 345 347 350 353 354 355 356 362 363 367 372 375 378 379 "
        "389 393 394 397 399 400 404 408 414 416 419 422 423 426 427 433 435 436 439 442 443 445 "
        "614 620 626 646 677 690"
    ).split()
}
_CORE_2018 = {
    *(
        "321 336 341 347 350 362 363 367 375 378 393 397 400 408 414 422 426 427 433 439 442 445 "
        "626 646 690"
    ).split(),
    *map(str, range(801, 826)),
}


def target_of(query_ids: Collection[str]) -> str:
    """Return the paper's collection with exactly these topics, which a merged collection may
    prefix; "" for any other.

    >>> target_of(["301", "302"])
    ''
    """
    topics = {query_id.rpartition(":")[2] for query_id in query_ids} - {"672"}
    known = zip(TARGETS, (_ROBUST04, _CORE_2017, _CORE_2018), strict=True)
    return next((name for name, own in known if topics == own), "")


def add_published(made: Collected, target: str, measures: Sequence[str]) -> None:
    """Add the paper's figures of a target, and of all three together."""
    for cell in printed_cells(_CSV) if target else ():
        if cell["measure"] in measures and cell["collection"] in (target, "all three"):
            made.add(**cell)
