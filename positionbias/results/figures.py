"""Payloads of named figures: a class each, which says by its fields what stands in JSON, and of which measures it is.

A class of figures is written to JSON as ``{"rows": {…}}``, one entry a field under the field's JSON name, and read back by the measure of its
result. So a measure's name is declared once, at its class, and whoever reads figures asks for the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

__all__ = ["Figures", "Rows", "read_figures"]

T = TypeVar("T")


class Figures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Named figures of one kind of measurement. Fields are keyword arguments; ``msgspec.field(name=…)`` gives a field another name in JSON.

    ``MEASURES`` are the measures whose results carry these figures; classes of one measure differ in their fields. A name that ends in a space or
    "@" stands for all that begin with it, one that begins with a space for all that end with it, with both for all that hold it. A class made with ``omit_defaults`` leaves fields out
    of JSON that have their default.
    """

    MEASURES: ClassVar[tuple[str, ...]] = ()
    FLAT: ClassVar[str] = ""  # a field whose own entries stand beside the others in JSON; nothing stands there where it is None

    def to_rows(self) -> dict[str, Any]:
        """Return the figures as JSON has them, in the order of the fields."""
        rows: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_of_numpy)
        beside = ((value or {}).items() if name == self.FLAT else ((name, value),) for name, value in rows.items())
        return dict(chain.from_iterable(beside))

    @classmethod
    def from_rows(cls, rows: Mapping[str, Any]) -> Self:
        """Return the figures that ``to_rows`` wrote.

        Raises:
            ValueError: a field is missing, unknown or of another type.
        """
        if cls.FLAT:
            own = {field.encode_name for field in msgspec.structs.fields(cls)} - {cls.FLAT}
            flat = {name: value for name, value in rows.items() if name not in own}
            rows = {name: value for name, value in rows.items() if name in own}
            rows |= {cls.FLAT: flat} if flat or not own else {}
        return msgspec.convert(rows, cls)


class Rows(Figures, Generic[T], frozen=True, kw_only=True):
    """Figures by names that only the data know: a row a split, a source, a cause. In JSON the rows stand by themselves."""

    FLAT = "rows"
    rows: Mapping[str, T]


def read_figures(measure: str, rows: Mapping[str, Any]) -> Figures | None:
    """Return the figures of a result from its rows; None where its measure has no class.

    Raises:
        ValueError: the rows are of none of the measure's classes.
    """
    known = _by_measure()
    name = measure if measure in known else max((name for name in known if _stands_for(name, measure)), key=len, default="")
    problem: ValueError | None = None
    for kind in known.get(name, ()):
        try:
            return kind.from_rows(rows)
        except ValueError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None


def _stands_for(name: str, measure: str) -> bool:
    begins, ends = name.endswith((" ", "@")), name.startswith(" ")
    if begins and ends:
        return name in measure
    return (begins and measure.startswith(name)) or (ends and measure.endswith(name))


@cache
def _by_measure() -> dict[str, list[type[Figures]]]:
    from importlib import import_module
    from pkgutil import iter_modules

    import positionbias.results as package

    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
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
