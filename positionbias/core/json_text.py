"""Parse JSON, and refuse repeated keys, of which other parsers silently keep one; read it into
dataclasses, and check that every field is there and of its type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import msgspec

from positionbias.core.errors import bad_input

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = Any  # msgspec cannot read a recursive type
JsonObject: TypeAlias = Mapping[str, Json]
T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]
NAME = r"\w[\w.+-]*"  # a name that can be part of a file name: of a split, of a judgement set
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME}\Z")]


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


def read_as(kind: type[T], record: Any, path: Path | str, *, do: str, more: bool = False) -> T:
    """Convert the content of a JSON file at ``path`` to the dataclass ``kind``; ``more`` allows
    further fields.

    Raises:
        InputError: a field is missing, unknown or of another type; the message names it and the
            wanted type.
    """
    try:
        return converted(kind, record, more=more)
    except (msgspec.ValidationError, UnicodeError) as error:  # UnicodeError: half a surrogate pair
        raise bad_input(
            path, wanted="fields as posbias writes them", found=f"{error}".replace("$.", ""), do=do
        ) from error


def converted(kind: type[T], record: Any, *, more: bool = False) -> T:
    """Convert parsed JSON to ``kind``, a dataclass or another type; ``more`` allows further fields.

    Raises:
        msgspec.ValidationError, a ValueError: a field is missing, unknown or of another type.
    """
    if (
        not more
        and is_dataclass(kind)
        and isinstance(record, dict)
        and (unknown := set(record) - {field.name for field in fields(kind)})
    ):
        raise msgspec.ValidationError(f"the unknown field `{min(unknown)}`")
    return msgspec.convert(record, kind)
