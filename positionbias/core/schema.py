"""JSON that is read back, as the dataclass that it was written from: every field there and of its type."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from positionbias.core.errors import bad_input

__all__ = ["NAME", "Count", "Name", "converted", "read_as"]

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]
NAME = r"\w[\w.+-]*"  # what may be part of a file's name: a split's, a judgement set's
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME}\Z")]


def read_as(kind: type[T], record: Any, path: Path | str, *, do: str, more: bool = False) -> T:
    """Return the dataclass ``kind`` from what a JSON file at ``path`` held; with ``more`` it may hold further fields.

    Raises:
        InputError: a field is missing, unknown or of another type; it is named, with the type that is wanted.
    """
    try:
        return converted(kind, record, more=more)
    except (msgspec.ValidationError, UnicodeError) as error:  # of half a surrogate pair
        raise bad_input(path, wanted="fields as posbias writes them", found=f"{error}".replace("$.", ""), do=do) from error


def converted(kind: type[T], record: Any, *, more: bool = False) -> T:
    """Return ``kind``, a dataclass or another type, from what JSON held; with ``more`` it may hold further fields.

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
