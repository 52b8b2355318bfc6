"""The order of systems on leaked and on clean queries, against random splits of the same queries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AgainstSplits", "LeakedOrder", "OrderAnswer", "Power", "Swap"]


class OrderAnswer(StrEnum):
    """The answer to whether leakage changes the order; ``UNCHANGED`` if the smallest gain of interest would have been found."""

    CHANGED = "leakage changes the order of systems"
    UNCHANGED = "no change of the order of systems found"
    UNKNOWN = "cannot tell whether leakage changes the order of systems"


@dataclass(frozen=True, slots=True)
class AgainstSplits:
    """A figure of leaked against clean queries, and the mean and middle 90 % of random splits."""

    value: float
    expected: float
    low: float
    high: float

    @property
    def excess(self) -> float:
        """The value less the mean of random splits."""
        return self.value - self.expected

    @property
    def excess_ends(self) -> tuple[float, float]:
        """The excess's 90 % interval: every shift of the random splits that one-sided tests at 5 % do not reject."""
        return self.value - self.high, self.value - self.low


@dataclass(frozen=True, slots=True)
class Power:
    """The power to find a change if some systems gain ``gain`` of the measure on every leaked query."""

    gain: float
    found: float


@dataclass(frozen=True, slots=True)
class Swap:
    """``falls`` leads ``behind`` on clean queries and trails it on leaked ones; the leads are ``falls`` − ``behind``.

    ``p``: the share of random splits that swap the two by as much; ``q``: p corrected for the false discovery rate over all pairs.
    """

    falls: str
    behind: str
    lead_clean: float
    lead_leaked: float
    p: float
    q: float


@dataclass(frozen=True, slots=True)
class LeakedOrder:
    """The order on ``leaked`` against that on ``clean`` queries: Kendall's τ_b and the number of swaps among ``pairs`` of systems.

    ``p`` is one-sided: the share of random splits whose orders agree as little. Splits keep the number of leaked queries in each of ``strata``
    classes of difficulty. ``power`` is for gains of any ``gaining`` systems; ``detectable`` is the gain found in 80 % of cases. ``named`` are the
    swaps with q at most ``discovery_rate``. ``undefined`` says why figures are None.
    """

    answer: OrderAnswer
    leaked: int
    clean: int
    systems: int
    pairs: int
    tau: AgainstSplits | None = None
    swaps: AgainstSplits | None = None
    p: float | None = None
    splits: int = 0
    strata: int = 1
    gaining: int = 0
    power: tuple[Power, ...] = ()
    detectable: float | None = None
    named: tuple[Swap, ...] = ()
    discovery_rate: float = 0.0
    undefined: str = ""
