"""The order of systems on leaked and on clean queries, against random splits of the same
queries.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LeakedOrder"]


@dataclass(frozen=True, slots=True)
class LeakedOrder:
    """The order on ``leaked`` against that on ``clean`` queries: Kendall's τ_b, and the ``swaps``
    among ``pairs`` of systems.

    ``p`` is one-sided: the share of ``splits`` random splits whose orders agree as little;
    ``expected`` is the mean of their τ. Splits keep the number of leaked queries in each of
    ``strata`` classes of difficulty. ``undefined`` says why figures are None.
    """

    leaked: int
    clean: int
    systems: int
    pairs: int
    tau: float | None = None
    expected: float | None = None
    p: float | None = None
    swaps: int = 0
    splits: int = 0
    strata: int = 1
    undefined: str = ""
