"""Confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and its method (e.g. "bootstrap over 4,000 queries, clustered by
    passage").
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""

    def side(self, margin: float) -> int | None:
        """Return 0 if all of the interval lies within ``margin`` of 0, else the sign of the side of
        0 that all of it lies on; None if it does neither.

        >>> [Interval(*ends).side(0.03) for ends in ((0.01, 0.03), (0.01, 0.04), (-0.01, 0.04))]
        [0, 1, None]
        """
        if self.low >= -margin and self.high <= margin:
            return 0
        if self.low > 0 or self.high < 0:
            return 1 if self.low > 0 else -1
        return None


def interval_of(low: float | None, high: float | None) -> Interval | None:
    """Return the 95 % interval with these ends; None if one is undefined."""
    return None if low is None or high is None else Interval(low, high)
