"""Figures of a training set of clicks: its draw, its triples, and the clicked ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import field

from positionbias.results.figures import Figures

__all__ = [
    "CLICKED",
    "CLICK_MEASURES",
    "LENGTHS",
    "TRIPLES",
    "ClickCounts",
    "ClickLog",
    "ClickedRank",
    "ClickedRanks",
    "SampledTriples",
    "Source",
    "TripleFigures",
    "Words",
]

TRIPLES, LENGTHS, CLICKED = "training triples", "words of sampled triples", "clicked ranks"
CLICK_MEASURES = (TRIPLES, LENGTHS, CLICKED)


class ClickLog(msgspec.Struct, frozen=True):
    """The manifest's facts about a click log; ``clicked_ranks`` counts clicks by rank."""

    records: int
    clicks: int
    without_list: int = field(name="clicks without a list")
    outside: int = field(name="clicks outside of their list")
    clicked_ranks: Mapping[str, int]


class Source(msgspec.Struct, frozen=True):
    """The origin of a collection's clicks."""

    log: ClickLog | None = None


class ClickCounts(Figures, frozen=True, kw_only=True):
    """The counts of a draw: a split's queries by outcome, positives, candidates, and triples drawn
    and kept.

    Each query with a positive counts once: with all negatives, with fewer, without one, without a
    positive in the corpus, or without candidates.
    """

    queries: int
    with_positive: int = field(name="queries with a positive")
    without_candidates: int = field(name="queries without candidates")
    with_candidates: int = field(name="queries with candidates")
    all_negatives: int = field(name="queries with all negatives")
    fewer_negatives: int = field(name="queries with fewer negatives")
    no_negative: int = field(name="queries without a negative")
    no_positive: int = field(name="queries without a positive in the corpus")
    positives: int = field(name="positives of queries with candidates")
    positives_missing: int = field(name="positives missing from the corpus")
    left_out: int = field(name="candidates left out as relevant")
    drawn_again: int = field(name="negatives drawn again for another positive")
    drawn: int = field(name="triples drawn")
    triples: int
    judged: int = field(name="negatives judged not relevant")


class TripleFigures(ClickCounts, frozen=True, kw_only=True):
    """The counts, the number of negatives ``asked`` for per positive, and shares of the queries
    with a positive.
    """

    MEASURES = (TRIPLES,)

    asked: int = field(name="negatives asked for")
    share_all: float = field(name="share of queries with all negatives")
    share_fewer: float = field(name="share of queries with fewer negatives")
    share_no_negative: float = field(name="share of queries without a negative")
    share_no_positive: float = field(name="share of queries without a positive in the corpus")
    share_no_candidates: float = field(name="share of queries without candidates")


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The lengths of passages in words between white space; ``without`` counts passages without a
    word.
    """

    mean: float
    median: float
    longest: int
    without: int = field(name="without words")


class SampledTriples(Figures, frozen=True, kw_only=True):
    """A description of the first triples of a shuffled set.

    ``relevant`` counts negatives that any judgement set of the split has as relevant.
    """

    MEASURES = (LENGTHS,)

    triples: int = field(name="triples looked at")
    positives: Words
    negatives: Words
    same_text: int = field(name="negatives with the text of their positive")
    relevant: int = field(name="negatives judged relevant")


class ClickedRank(msgspec.Struct, frozen=True, kw_only=True):
    """The clicks at a rank, from 1, and their share of all clicks with a rank."""

    rank: int
    clicks: int
    share: float


class ClickedRanks(Figures, frozen=True, kw_only=True):
    """A click log: the clicked ranks, ascending, and clicks without a rank; ``records`` counts its
    entries.
    """

    MEASURES = (CLICKED,)

    ranks: Sequence[ClickedRank]
    ranked: int = field(name="clicks with a rank")
    records: int
    clicks: int
    without_list: int = field(name="clicks without a list")
    outside: int = field(name="clicks outside of their list")
    mean_rank: float = field(name="mean rank")
