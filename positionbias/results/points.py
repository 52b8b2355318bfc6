"""Means with their intervals, as parts of figures."""

from __future__ import annotations

import msgspec

from positionbias.core.interval import Interval

__all__ = ["Estimate", "Point"]


class Estimate(msgspec.Struct, frozen=True):
    """A mean, or a difference of means, with its interval; None where it has none."""

    mean: float
    interval: Interval | None

    @property
    def beside_zero(self) -> bool:
        """Whether there is an interval that leaves out 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high


class Point(Estimate, frozen=True):
    """An estimate over so many queries."""

    queries: int
