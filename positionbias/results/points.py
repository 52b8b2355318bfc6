"""Means with their intervals, for use in figures."""

from __future__ import annotations

import msgspec

from positionbias.core.interval import Interval

__all__ = ["Estimate", "Point"]


class Estimate(msgspec.Struct, frozen=True):
    """A mean, or a difference of means, with its interval, if any."""

    mean: float
    interval: Interval | None

    @property
    def beside_zero(self) -> bool:
        """True if there is an interval that excludes 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high


class Point(Estimate, frozen=True):
    """An estimate with its number of queries."""

    queries: int
