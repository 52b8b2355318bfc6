"""Figures of the same evidence at several places of texts of several lengths: cells, and the
effects of place, length and truncation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec

from positionbias.results.figures import BESIDE, Record

__all__ = ["LENGTHS", "GridCell", "GridEffect", "GridEffectOf", "GridFigures", "LengthGrid"]

LENGTHS = "length by place"


class GridEffectOf(StrEnum):
    """The cause of an effect.

    ``PLACE``: within one length, a place less place 0. ``LENGTH``: at place 0, a length less the
    shortest. ``TRUNCATION``: the effect of a place at which the evidence is not read, less its
    effect in the longest text where it is read. ``INTERACTION``: the change of the slope over
    places, last − first, by each doubling of the length, over the lengths that are read.
    """

    PLACE = "place"
    LENGTH = "length"
    TRUNCATION = "truncation"
    INTERACTION = "place by length"


class GridFigures(Record, frozen=True, kw_only=True):
    """Figures behind a grid: the ``unit`` of its lengths, at most ``competitors`` per query, how
    far ``apart`` fillers are from the relevant passage, and the source of the model's ``limit``."""

    unit: str
    queries: int
    clusters: int
    competitors: int
    apart: str
    limit: str
    unmoved: Annotated[Mapping[str, int], BESIDE] = msgspec.field(
        name="left out: ", default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class GridCell:
    """The evidence at one place of texts of one length.

    ``score`` is its lead over the competitors, which stand at place 0 of texts of that length, in
    their deviations, with a simultaneous 95 % interval over all cells. ``rank`` is its mean rank
    among them, ``start`` the mean token (or word) at which it starts. ``beyond`` is the share of
    queries where it starts beyond the model's limit, ``cut`` the share where it starts within and
    ends beyond.
    """

    length: int
    place: float
    score: float | None
    low: float | None
    high: float | None
    rank: float
    start: float
    beyond: float
    cut: float = 0.0


@dataclass(frozen=True, slots=True)
class GridEffect:
    """One effect in deviations, with its simultaneous 95 % interval over all effects; ``length``
    and ``place`` where it has one.
    """

    of: GridEffectOf
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    length: int | None = None
    place: float | None = None


@dataclass(frozen=True, slots=True)
class LengthGrid:
    """A model's response to the length of a text and the place of the same evidence in it; cells by
    length, then by place. ``deviations`` are those of the competitors' scores, in the system's own
    unit, one per length."""

    lengths: Sequence[int]
    deviations: Sequence[float]
    places: Sequence[float]
    cells: Sequence[GridCell]
    effects: Sequence[GridEffect]
    figures: GridFigures
