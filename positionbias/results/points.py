"""Means with their intervals, for use in figures."""

from __future__ import annotations

import msgspec

from positionbias.core.interval import Interval

__all__ = ["Estimate", "Point"]


class Estimate(msgspec.Struct, frozen=True):
    """A mean, or a difference of means, with its interval, if any."""

    mean: float
    interval: Interval | None


class Point(Estimate, frozen=True):
    """An estimate with its number of queries."""

    queries: int
