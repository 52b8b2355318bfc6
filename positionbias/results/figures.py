"""Payloads of named figures: a class each, which says by its fields what stands in JSON, and of which measures it is.

A class of figures is written to JSON as ``{"rows": {…}}``, one entry a field under the field's JSON name, and read back by the measure of its
result. So a measure's name is declared once, at its class, and whoever reads figures asks for the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

__all__ = ["Figures", "Rows", "figures_of"]

T = TypeVar("T")


class Figures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Named figures of one kind of measurement. Fields are keyword arguments; ``msgspec.field(name=…)`` gives a field another name in JSON.

    ``MEASURES`` are the measures whose results carry these figures. A name that ends in a space stands for all that begin with it.
    """

    MEASURES: ClassVar[tuple[str, ...]] = ()

    def to_rows(self) -> dict[str, Any]:
        """Return the figures as JSON has them, in the order of the fields."""
        rows: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_of_numpy)
        return rows

    @classmethod
    def from_rows(cls, rows: Mapping[str, Any]) -> Self:
        """Return the figures that ``to_rows`` wrote.

        Raises:
            ValueError: a field is missing, unknown or of another type.
        """
        return msgspec.convert(rows, cls)


class Rows(Figures, Generic[T], frozen=True, kw_only=True):
    """Figures by names that only the data know: a row a split, a source, a cause. In JSON the rows stand by themselves."""

    rows: Mapping[str, T]

    def to_rows(self) -> dict[str, Any]:
        """Return the rows as JSON has them."""
        rows: dict[str, Any] = super().to_rows()["rows"]
        return rows

    @classmethod
    def from_rows(cls, rows: Mapping[str, Any]) -> Self:
        """Return the rows that ``to_rows`` wrote."""
        return msgspec.convert({"rows": rows}, cls)


def figures_of(measure: str) -> type[Figures] | None:
    """Return the class of a measure's figures; None where it has none.

    >>> figures_of("no such measure") is None
    True
    """
    known = _by_measure()
    if measure in known:
        return known[measure]
    begins = [name for name in known if name.endswith(" ") and measure.startswith(name)]
    return known[max(begins, key=len)] if begins else None


@cache
def _by_measure() -> dict[str, type[Figures]]:
    from importlib import import_module
    from pkgutil import iter_modules

    import positionbias.results as package

    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    known: dict[str, type[Figures]] = {}
    for kind in _below(Figures):
        for measure in vars(kind).get("MEASURES", ()):
            if known.setdefault(measure, kind) is not kind:
                raise TypeError(f"{measure!r} is a measure of {known[measure].__name__} and of {kind.__name__}")
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
