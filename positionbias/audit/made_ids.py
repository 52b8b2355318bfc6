"""Ids of the texts and lists that an audit makes for a query."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from positionbias.core.errors import InputError

__all__ = ["made_id", "own_ids"]

# as ``repr`` writes an id
_NAMED = re.compile(r"""(query|passage) ('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")


def made_id(query_id: str, what: int | str) -> str:
    """Return the id of a text or list made for a query, by its number or another label."""
    return f"{query_id}\x1f{what}"


@contextmanager
def own_ids(passages: Mapping[str, str]) -> Iterator[None]:
    """Let errors name the query and passage behind a made text; ``passages`` are the ids of
    passages by query.

    >>> with own_ids({"q1": "p7"}):
    ...     query, passage = made_id("q1", "once"), made_id("q1", 3)
    ...     raise InputError(f"m: found nan for query {query!r}, passage {passage!r}; fix it")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.InputError: m: found nan for query 'q1', a text made of passage 'p7';
    fix it
    """

    def named(found: re.Match[str]) -> str:
        if "\\x1f" not in found[2]:
            return found[0]
        query_id = ast.literal_eval(found[2]).partition("\x1f")[0]
        if found[1] == "query":
            return f"query {query_id!r}"
        return (
            f"a text made of passage {passages[query_id]!r}"
            if query_id in passages
            else f"a text made for query {query_id!r}"
        )

    try:
        yield
    except InputError as error:
        told = _NAMED.sub(named, str(error))
        if told == str(error):
            raise
        raise type(error)(told) from error
