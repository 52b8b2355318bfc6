"""Confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and its method (e.g. "bootstrap over 4,000 queries, clustered by
    passage").
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""
