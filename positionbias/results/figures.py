"""Payloads of named figures: a class each, which declares its JSON fields and names its measures.

Figures are written to JSON as ``{"rows": {…}}``, one entry per field under its JSON name, and read
back by the measure of their result. So a measure's name is declared once, at its class, and readers
ask for the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo, fields

from positionbias.core.json_text import Json, JsonObject

__all__ = ["BESIDE", "Figures", "Record", "Rows", "read_figures"]

T = TypeVar("T")
BESIDE = msgspec.Meta(extra={"beside": True})


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Named figures. Fields are keyword arguments; ``msgspec.field(name=…)`` gives a field another
    name in JSON.

    A field ``Annotated[T, BESIDE]``, where T is a struct or a mapping, is flattened in JSON: its
    content stands among the other figures, under its own names after the field's. A class made with
    ``omit_defaults`` omits fields with their default from JSON.
    """

    FLAT: ClassVar[str] = ""  # a field whose content is flattened under its own names only

    def to_rows(self) -> dict[str, Json]:
        """Return the figures as in JSON, in the order of the fields."""
        rows: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_of_numpy)
        prefixes = {field.encode_name: prefix for field, prefix in _beside(type(self))}
        found: dict[str, Json] = {}
        for name, value in rows.items():
            found |= (
                {f"{prefixes[name]}{own}": item for own, item in (value or {}).items()}
                if name in prefixes
                else {name: value}
            )
        return found

    @classmethod
    def from_rows(cls, rows: JsonObject) -> Self:
        """Return the figures that ``to_rows`` wrote.

        Raises:
            ValueError: a field is missing, unknown or of another type.
        """
        left, inside = dict(rows), {}
        plain = {field.encode_name for field in fields(cls)} - {
            field.encode_name for field, _ in _beside(cls)
        }
        for field, prefix in _beside(cls):
            names = _names(field, prefix)
            own = [
                name
                for name in left
                if name not in plain
                and (name.startswith(prefix) if names is None else name in names)
            ]
            if own or field.required:
                inside[field.encode_name] = {
                    name.removeprefix(prefix): left.pop(name) for name in own
                }
        return msgspec.convert({**left, **inside}, cls)

    @classmethod
    def of_facts(cls, facts: JsonObject) -> Self:
        """Read the figures from a manifest, under the fields' own names; other facts are skipped.

        Raises:
            ValueError: a field is missing, or of another type.
        """
        names = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        return msgspec.convert(
            {encoded: facts[name] for name, encoded in names if name in facts}, cls
        )


class Figures(Record, frozen=True, kw_only=True):
    """Figures that are the payload of a result.

    ``MEASURES`` are the measures whose results have these figures; classes of one measure differ in
    their fields. A name that ends with a space or "@" matches all that begin with it, one that
    begins with a space all that end with it, and one with both all that contain it.
    """

    MEASURES: ClassVar[tuple[str, ...]] = ()


class Rows(Figures, Generic[T], frozen=True, kw_only=True):
    """Figures named by the data: a row per split, source or cause. In JSON the rows are the object
    itself.
    """

    FLAT = "rows"
    rows: Mapping[str, T]


def read_figures(measure: str, rows: JsonObject) -> Figures:
    """Return the figures of a result from its rows.

    Raises:
        ValueError: the measure has no class of figures, or the rows fit none of its classes.
    """
    known = _by_measure()
    name = (
        measure
        if measure in known
        else max((name for name in known if _stands_for(name, measure)), key=len, default="")
    )
    problem = ValueError(f"figures of the unknown measure {measure!r}")
    for number, kind in enumerate(known.get(name, ())):
        try:
            return kind.from_rows(rows)
        except ValueError as error:
            problem = problem if number else error
    raise problem


def _stands_for(name: str, measure: str) -> bool:
    begins, ends = name.endswith((" ", "@")), name.startswith(" ")
    if begins and ends:
        return name in measure
    return (begins and measure.startswith(name)) or (ends and measure.endswith(name))


@cache
def _beside(kind: type[Record]) -> list[tuple[FieldInfo, str]]:
    """Return the flattened fields, each with the prefix of its names; mappings last, as they take
    all names.
    """
    found = [(field, field.encode_name) for field in fields(kind) if BESIDE in get_args(field.type)]
    found += [(field, "") for field in fields(kind) if field.name == kind.FLAT]
    return sorted(found, key=lambda one: _names(*one) is None)


def _names(field: FieldInfo, prefix: str) -> set[str] | None:
    """Return the names in JSON of a field's content; None (any) for a mapping."""
    kinds = () if get_origin(field.type) is Mapping else (field.type, *get_args(field.type))
    known = next(
        (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)),
        None,
    )
    return None if known is None else {f"{prefix}{own.encode_name}" for own in fields(known)}


@cache
def _by_measure() -> dict[str, list[type[Figures]]]:
    from importlib import import_module
    from pkgutil import iter_modules

    import positionbias.results as package

    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    import_module("positionbias.papers").modules()  # these define their figures as classes
    known: dict[str, list[type[Figures]]] = {}
    for kind in _below(Figures):
        for measure in vars(kind).get("MEASURES", ()):
            known.setdefault(measure, []).append(kind)
    return known


def _below(kind: type[Figures]) -> Iterator[type[Figures]]:
    below: Iterable[type[Figures]] = kind.__subclasses__()
    for one in below:
        yield one
        yield from _below(one)


def _of_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} in figures")
