"""The answer of a comparison, after the correction for its family."""

from __future__ import annotations

from enum import StrEnum

LEVEL = 0.05
MARGIN = 0.03  # a study's change whose whole interval lies within ±3 % counts as none [decision]


def is_significant(p: float | None) -> bool:
    """Return True if a p-value is defined and below 0.05."""
    return p is not None and p < LEVEL


class Compared(StrEnum):
    """The answer of a comparison, after the correction for its family."""

    HIGHER = "significantly higher"
    LOWER = "significantly lower"
    NONE = "no significant difference"
    UNTESTED = "no test"
    UNFINISHED = "training not finished"
    IDLE = "re-ranks nothing"


def compared(difference: float, p: float | None) -> Compared:
    """Return the answer of a comparison with this p-value after correction."""
    if p is None:
        return Compared.UNTESTED
    if not is_significant(p):
        return Compared.NONE
    return Compared.HIGHER if difference > 0 else Compared.LOWER
