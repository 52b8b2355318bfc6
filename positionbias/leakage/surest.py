"""The surest pairs of a search, to look at first."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from positionbias.leakage.find import FoundPair

__all__ = ["SURE", "score_of", "surest"]

SURE = 10  # pairs to look at first


def score_of(pair: FoundPair) -> tuple[str, float]:
    """Return the score that a pair is ranked by: its cosine where it was found by meaning, else the
    share of words in common.
    """
    return (
        ("Cosine", pair.cosine)
        if pair.by_meaning and pair.cosine is not None
        else ("Jaccard", pair.jaccard)
    )


def surest(pairs: Iterable[FoundPair]) -> list[FoundPair]:
    """Return the pairs of the highest score, those by meaning before those by words alone; of equal
    ones by id.
    """
    return nsmallest(
        SURE, pairs, key=lambda pair: (*_order(pair), pair.source, pair.train_id, pair.test_id)
    )


def _order(pair: FoundPair) -> tuple[str, float]:
    name, score = score_of(pair)
    return name, -score
