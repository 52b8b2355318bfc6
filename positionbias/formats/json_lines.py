"""Read JSON lines, one object a line, and report faults by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError
from positionbias.core.json_text import parse_json

Bad = Callable[..., InputError]
FIX = "fix the file or fetch it again"


def json_lines(block: Block) -> Iterator[tuple[int, Any]]:
    """Yield the values of a block's lines with the numbers for ``Block.bad_line``; skips blank
    lines.

    Raises:
        InputError: a line that is not JSON or not UTF-8.
    """
    for number, line in block.lines():
        if line.strip():
            try:
                value = parse_json(line)
            except json.JSONDecodeError as error:
                found = f"{error.msg} at column {error.colno}"
                raise block.bad_line(
                    number, wanted="one JSON object a line", found=found, do=FIX
                ) from None
            except (
                RecursionError,
                ValueError,
                # nested beyond Python's stack, a repeated key, or a number of thousands of digits
            ) as error:
                raise block.bad_line(
                    number, wanted="one JSON object a line", found=str(error), do=FIX
                ) from None
            yield number, value


def text_of(value: Any, key: str, bad: Bad) -> str:
    """Return a value, checked to be text in valid Unicode; ``bad`` makes the error for its
    record.
    """
    if not isinstance(value, str):
        raise bad(wanted=f"{key!r} as text", found=named(value), do=FIX)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise bad(
            wanted=f"{key!r} in valid Unicode", found="half a surrogate pair", do=FIX
        ) from None
    return value


def named(value: Any) -> str:
    """Describe a value in words; show short ones in full."""
    if value is None:
        return "no such key, or null"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"
