"""Read an endpoint's answers, decoded from JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from positionbias.models.endpoint_client import BadAnswer

_UNFINISHED = ("length", "max_tokens", "content_filter")


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
        BadAnswer: an index that is missing or not a whole number, or not exactly one row for each
            text.
    """
    if not all(isinstance(row, dict) for row in rows):
        raise BadAnswer("rows that are not objects")
    named = [row.get("index") for row in rows]
    if not needed and all(place is None for place in named):
        named = list(range(len(rows)))
    for place in named:
        if type(place) is not int:
            raise BadAnswer(
                "rows without an index" if place is None else "an index that is not a whole number"
            )
    places = dict(zip(named, rows, strict=True))
    if len(rows) != count or places.keys() != set(range(count)):
        raise BadAnswer(
            f"{len(rows):,} rows, of {len(places.keys() & set(range(count))):,} of {count:,} texts"
        )
    return [places[place] for place in range(count)]


def finite(values: Any, what: str) -> np.ndarray:
    """Return a list of numbers as float32.

    Raises:
        BadAnswer: it is no list, one is not a number (null, a text and a boolean are none), NaN,
            infinite, or beyond float32.
    """
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise BadAnswer(f"{what} that are not numbers")
    try:
        with np.errstate(over="ignore"):
            numbers = np.array(values, np.float32)
    except OverflowError:  # a whole number beyond float64
        numbers = np.array([np.inf], np.float32)
    if not np.isfinite(numbers).all():
        raise BadAnswer(f"{what} with NaN or infinity")
    return numbers


def content(answer: Any) -> str | None:
    """Return the text of a chat's first choice, with its parts joined, without parts that are
    reasoning; None if the model did not finish it.

    Raises:
        BadAnswer: there is no first choice.
    """
    try:
        choice = answer["choices"][0]
        said, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadAnswer("an answer without choices[0].message") from error
    if isinstance(reason, str) and reason.lower() in _UNFINISHED:
        return None
    parts = (
        [part.get("text") for part in said if _is_text(part)] if isinstance(said, list) else [said]
    )
    return "".join(part for part in parts if isinstance(part, str))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type", "text") in ("text", "output_text")
