"""Read an endpoint's answers, decoded from JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from positionbias.models.endpoint_client import BadAnswer

__all__ = ["by_index", "content", "finite", "listed"]


def listed(answer: Any, *names: str) -> list[Any]:
    """Return the list of an answer under the first of these names that has one.

    Raises:
        BadAnswer: it has none.
    """
    for name in names:
        if isinstance(answer, dict) and isinstance(answer.get(name), list):
            return answer[name]
    raise BadAnswer(f"an answer without a list {' or '.join(names)}")


def by_index(rows: Sequence[Any], count: int, *, needed: bool = False) -> list[Any]:
    """Return the rows in the order of their ``index``, one for each of ``count`` texts.

    Rows without an index are taken in the order of the texts, unless it is ``needed``.

    Raises:
        BadAnswer: an index that is missing or not a whole number, or not exactly one row for each text.
    """
    if not all(isinstance(row, dict) for row in rows):
        raise BadAnswer("rows that are not objects")
    named = [row.get("index") for row in rows]
    if not needed and all(place is None for place in named):
        named = list(range(len(rows)))
    for place in named:
        if type(place) is not int:
            raise BadAnswer("rows without an index" if place is None else f"an index that is not a whole number, {place!r:.40}")
    places = dict(zip(named, rows, strict=True))
    if len(rows) != count or places.keys() != set(range(count)):
        raise BadAnswer(f"{len(rows):,} rows, of {len(places.keys() & set(range(count))):,} of {count:,} texts")
    return [places[place] for place in range(count)]


def finite(values: Any, what: str) -> np.ndarray:
    """Return the values as float32.

    Raises:
        BadAnswer: one is NaN, infinite, or beyond float32.
        OverflowError, TypeError, ValueError: one is not a number.
    """
    with np.errstate(over="ignore"):
        found = np.asarray(values, np.float32)
    if not np.isfinite(found).all():
        raise BadAnswer(f"{what} with NaN or infinity")
    return found


def content(answer: Any) -> str:
    """Return the text of a chat's first choice, with its parts joined; "" if it is not a text.

    Raises:
        BadAnswer: there is no first choice.
    """
    try:
        found = answer["choices"][0]["message"]["content"]
    except (KeyError, TypeError, IndexError) as error:
        raise BadAnswer("an answer without choices[0].message.content") from error
    parts = [part.get("text") for part in found if isinstance(part, dict)] if isinstance(found, list) else [found]
    return "".join(part for part in parts if isinstance(part, str))
