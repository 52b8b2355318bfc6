"""Parse JSON and refuse repeated keys, of which other parsers silently keep one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

__all__ = ["DECODER", "parse_json"]


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        seen: set[str] = set()
        twice = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} twice in an object")
    return record


DECODER = json.JSONDecoder(object_pairs_hook=_once_each)


def parse_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: not JSON (``JSONDecodeError``), a repeated key in an object, or a number of thousands of digits.
        RecursionError: nested beyond Python's stack.
    """
    return DECODER.decode(text)
