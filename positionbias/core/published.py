"""One figure that a paper prints, with its place, to stand beside ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from positionbias.core.result import Facts

__all__ = ["DELTA", "DEVIATION", "PublishedCell"]

DELTA = "Δ"  # after a measure's name: the printed relative difference of the two test sets
DEVIATION = "deviation"  # after a measure's name


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell of a printed table: what it is of, the figure (a share where it is printed in per cent), and where it stands.

    ``collection`` and ``facts.source`` are the paper's names. ``row`` is its row's letter, ``letters`` those of the rows that it is
    significantly better than.
    """

    table: int
    collection: str
    measure: str
    value: float
    place: str
    split: str = ""
    facts: Facts = field(default_factory=Facts)
    row: str = ""
    letters: str = ""
