"""Read JSON into dataclasses, and check that every field is there and of its type."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from positionbias.core.errors import bad_input

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]
NAME = r"\w[\w.+-]*"  # a name that can be part of a file name: of a split, of a judgement set
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME}\Z")]


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
