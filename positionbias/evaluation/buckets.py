"""Define buckets of position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.core.errors import SettingError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Buckets"]

SCALES = ("relative", "characters")
MOST_BUCKETS = 1_000
MOST_RELATIVE = 20
QUERIES_A_BUCKET = 30  # on average; a bucket needs 20, and answers crowd the front


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of a position.

    Bucket b holds positions in [edges[b], edges[b + 1]); the last includes its right end. A
    position is "relative" (the answer's first word over the last word at which it could start) or
    in "characters" (its start).

    Raises:
        SettingError: an unknown scale, fewer than two buckets, edges that do not increase or are
            not numbers.
    """

    scale: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise SettingError(f"scale: wanted one of {', '.join(SCALES)}; found {self.scale!r}")
        shown = ",".join(f"{edge:g}" for edge in self.edges[:8]) + (
            ",…" if len(self.edges) > 8 else ""
        )
        if not 3 <= len(self.edges) <= MOST_BUCKETS + 1:
            raise SettingError(
                f"--buckets: wanted 3 to {MOST_BUCKETS + 1:,} edges, for at least 2 buckets; found "
                f"{len(self.edges):,} ({shown or 'none'})"
            )
        if not all(math.isfinite(edge) for edge in self.edges):
            raise SettingError(f"--buckets: wanted numbers as edges; found {shown}")
        if any(low >= high for low, high in zip(self.edges, self.edges[1:], strict=False)):
            raise SettingError(f"--buckets: wanted increasing edges; found {shown}")

    @staticmethod
    def relative(bins: int = 20) -> Buckets:
        """Return equal shares of the passage, from 0 to 1."""
        # one division each, so that an edge equals the position k / n as a float
        return Buckets("relative", tuple(edge / bins for edge in range(bins + 1)))

    @staticmethod
    def relative_for(queries: int) -> Buckets:
        """Return 2 to 20 equal shares, with 30 queries per bucket on average [decision].

        More buckets would show noise: noise in PSI grows with their number, and most would be below
        the minimum.

        >>> [len(Buckets.relative_for(queries)) for queries in (0, 100, 300, 5_928)]
        [2, 3, 10, 20]
        """
        return Buckets.relative(min(MOST_RELATIVE, max(2, queries // QUERIES_A_BUCKET)))

    @staticmethod
    def parse(text: str) -> Buckets:
        """Parse edges such as "0,0.2,0.5,1": shares of the passage up to 1, characters beyond
        [decision].

        Raises:
            SettingError: not numbers, or not edges of buckets.
        """
        try:
            edges = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise SettingError(
                "--buckets: wanted numbers separated by commas, such as 0,0.2,0.5,1; found "
                f"{text!r}"
            ) from None
        scale = "relative" if edges[-1] <= 1 else "characters"
        buckets = Buckets(scale, edges)
        if edges[0] < 0:
            raise SettingError(
                f"--buckets: wanted edges from 0, the passage's start; found {text!r}"
            )
        return buckets

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def middles(self) -> np.ndarray:
        """Return the middle of each bucket, ``(buckets,)``."""
        import numpy as np

        edges = np.array(self.edges)
        return (edges[:-1] + edges[1:]) / 2

    @property
    def labels(self) -> list[str]:
        """Return the name of each bucket: "0.05 to 0.1"."""
        return [
            f"{low:g} to {high:g}" for low, high in zip(self.edges, self.edges[1:], strict=False)
        ]

    def assign(self, positions: np.ndarray) -> np.ndarray:
        """Return the bucket of each position, ``(queries,)`` int64; −1 for NaN and outside all
        buckets.
        """
        import numpy as np

        positions = np.asarray(positions, np.float64)
        numbers = np.searchsorted(self.edges, positions, side="right") - 1
        numbers[positions == self.edges[-1]] = len(self) - 1
        numbers[~(positions <= self.edges[-1])] = -1
        return numbers.astype(np.int64)
