"""The known name that a mistyped one is closest to."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["closest", "or_closest"]


def closest(found: object, known: Iterable[str]) -> str:
    """Return the name most like ``found``, without regard to case; empty where none is like it.

    >>> closest("qurey", ["query", "passage"]), closest("NDCG", ["nDCG", "RR"]), closest("x", ["query"])
    ('query', 'nDCG', '')
    """
    from difflib import get_close_matches

    by_fold = {_folded(name): name for name in known}
    near = get_close_matches(_folded(str(found)), by_fold, n=1)
    return by_fold[near[0]] if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def or_closest(found: object, known: Iterable[str], do: str) -> str:
    """Return the end of an error: whether the closest name was meant, or where none is close what to do.

    >>> or_closest("qurey", ["query", "passage"], "pick one")
    'did you mean query?'
    """
    near = closest(found, known)
    return f"did you mean {near}?" if near else do
