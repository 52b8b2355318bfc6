"""Parse JSON, and refuse repeated keys; other parsers silently keep one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = Any  # msgspec cannot read a recursive type
JsonObject: TypeAlias = Mapping[str, Json]


def _once_each(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        seen: set[str] = set()
        twice = next(
            key
            for key in keys
            if key in seen or seen.add(key)  # type: ignore[func-returns-value]
        )
        raise ValueError(f"the key {twice[:80]!r} twice in an object")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_once_each)


def parse_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: not JSON (``JSONDecodeError``), a repeated key in an object, or a number of
            thousands of digits.
        RecursionError: nested beyond Python's stack.
    """
    try:
        value, end = _DECODER.scan_once(text, 0)  # type: ignore[attr-defined]
    except StopIteration:  # no value at its start, perhaps white space
        end = -1
    return value if end == len(text) else _DECODER.decode(text)  # slower, but knows the error
