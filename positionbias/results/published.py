"""One figure that a paper prints, with its place, to stand beside ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from positionbias.results.result import Facts

__all__ = ["DELTA", "DEVIATION", "PublishedCell", "under_pools"]

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


def under_pools(pool: str, test: str) -> Facts:
    """What a cell on test collections is of: systems of the kind ``test`` ("all": of every kind) under pools drawn from the kind ``pool``."""
    return Facts(variant=f"{test} systems, {pool} pools")
