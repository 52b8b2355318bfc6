"""Figures of runs: what retrieval and re-ranking counted."""

from __future__ import annotations

from msgspec import field

from positionbias.results.figures import Figures

__all__ = ["CANDIDATES", "BM25Figures", "DenseFigures", "RerankingFigures"]

CANDIDATES = "candidates"


class BM25Figures(Figures, frozen=True, kw_only=True):
    """What BM25 retrieved. ``index`` says where its index came from."""

    MEASURES = (CANDIDATES,)

    queries: int
    candidates: int
    depth: int
    without_known_term: int = field(name="queries without a known term")
    index: str


class DenseFigures(Figures, frozen=True, kw_only=True):
    """What a search of vectors retrieved. ``short`` counts queries with fewer candidates than were asked for and are there."""

    MEASURES = (CANDIDATES,)

    queries: int
    candidates: int
    empty_queries: int = field(name="empty queries")
    short: int = field(name="queries with fewer candidates than asked for")
    index: str
    index_bytes: int = field(name="index bytes")


class RerankingFigures(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """What a re-ranking read. ``long_passages`` or ``long_pairs`` are as long as the model reads; None: not counted."""

    MEASURES = ("re-ranking",)

    queries: int
    candidates: int
    passages: int = field(name="distinct passages")
    encoded_again: int = field(name="passages encoded again")
    without_word: int = field(name="queries without a word")
    long_passages: int | None = field(name="passages up to the length limit", default=None)
    long_pairs: int | None = field(name="pairs up to the length limit", default=None)
