"""The fields of a record read back from JSON, held against the dataclass that they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

__all__ = ["check_fields"]

_JSON = {Mapping: dict, Sequence: list}
_SIMPLE = (str, int, float, bool, NoneType, dict, list)


def check_fields(kind: type, record: Mapping[str, Any]) -> None:
    """Check what JSON can say of the fields of a dataclass: text, numbers, lists and objects, one level deep.

    Raises:
        ValueError: a field of another type, or text that cannot be written as UTF-8.
    """
    for name, wanted in _types(kind).items():
        value = record.get(name)
        if name in record and not _fits(value, wanted):
            raise ValueError(f"{name!r} of type {type(value).__name__}")
        if isinstance(value, str):
            value.encode()


def _fits(value: Any, wanted: tuple[type, ...]) -> bool:
    return type(value) in wanted or (type(value) in (int, NoneType) and float in wanted)  # None stands for what is no number


@cache
def _types(kind: type) -> dict[str, tuple[type, ...]]:
    """The types that each field takes; fields of our own types are left to those."""
    hints = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(kind).items()}
    hints |= {name: (origin,) for name, hint in get_type_hints(kind).items() if (origin := get_origin(hint)) in _JSON}
    types = {name: tuple(_JSON.get(one, one) for one in wanted) for name, wanted in hints.items()}
    return {name: wanted for name, wanted in types.items() if all(one in _SIMPLE for one in wanted)}
