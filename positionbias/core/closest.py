"""The known name that a mistyped one is closest to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_LEAST = 0.7  # of difflib's ratio: below it, names are rarely meant


def closest(found: object, known: Iterable[str]) -> str:
    """Return the name most like ``found``, without regard to case; empty where none is like it.

    >>> (
    ...     closest("qurey", ["query", "passage"]),
    ...     closest("NDCG", ["nDCG", "RR"]),
    ...     closest("x", ["query"]),
    ... )
    ('query', 'nDCG', '')
    """
    from difflib import get_close_matches

    by_fold = {_folded(name): name for name in known}
    near = get_close_matches(_folded(str(found)), by_fold, n=1, cutoff=_LEAST)
    return by_fold[near[0]] if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-").lstrip("-")


def or_closest(found: object, known: Iterable[str], do: str) -> str:
    """Return the end of an error: whether the closest name was meant, or where none is close what
    to do.

    >>> or_closest("qurey", ["query", "passage"], "pick one")
    'did you mean query?'
    """
    near = closest(found, known)
    return f"did you mean {near}?" if near else do


def near_file(path: Path | str, do: str) -> str:
    """Return the end of an error about a path that is not there: whether a neighbour of much the
    same name was meant, or what to do.
    """
    path = Path(path)
    try:
        there = [name for name in os.listdir(path.parent) if not name.startswith(".")]
    except OSError:
        return do
    if path.name in there:  # it is there, and something else is wrong
        return do
    near = closest(path.name, there)
    return f"did you mean {path.with_name(near)}?" if near else do
