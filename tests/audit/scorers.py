"""Cheap scorers of a known position preference, as a user would name them on the command line."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["blind", "broken", "end_lover", "first_placed", "front_lover", "short"]


def _overlap(query: str, passage: str) -> float:
    words = set(passage.lower().replace(".", " ").split())
    return float(sum(word in words for word in set(query.lower().replace("?", " ").split())))


def _place(query: str, passage: str) -> float:
    """Where the rarest of the query's words stands, as a share of the passage; in the middle where
    none does.
    """
    words = passage.lower().replace(".", " ").split()
    found = [
        words.index(word) / len(words)
        for word in query.lower().replace("?", " ").split()
        if word in words and len(word) > 3
    ]
    return sum(found) / len(found) if found else 0.5


def blind(query: str, passages: Sequence[str]) -> list[float]:
    """Counts words, wherever they stand."""
    return [_overlap(query, passage) for passage in passages]


def front_lover(query: str, passages: Sequence[str]) -> list[float]:
    """Likes the query's words in front."""
    return [_overlap(query, passage) - 3 * _place(query, passage) for passage in passages]


def end_lover(query: str, passages: Sequence[str]) -> list[float]:
    """Likes the query's words at the end."""
    return [_overlap(query, passage) + 3 * _place(query, passage) for passage in passages]


def first_placed(query: str, passages: Sequence[str]) -> list[float]:
    """Likes what it is handed first."""
    return [
        _overlap(query, passage) - 3 * place / len(passages)
        for place, passage in enumerate(passages)
    ]


def broken(query: str, passages: Sequence[str]) -> list[float]:
    """Gives what is no number."""
    return [float("nan")] * len(passages)


def short(query: str, passages: Sequence[str]) -> list[float]:
    """Forgets a passage."""
    return blind(query, passages)[:-1]
