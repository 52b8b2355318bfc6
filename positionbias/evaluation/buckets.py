"""Define buckets of position and groups of passage length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.errors import SettingError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SQUAD_POSQ", "Buckets", "LengthGroups", "length_groups"]

SCALES = ("relative", "characters", "moved", "segment")
MOST_BUCKETS = 1_000
MOST_RELATIVE = 20
QUERIES_A_BUCKET = 30  # on average; a bucket needs 20, and answers crowd the front


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of a position.

    Bucket b holds positions in [edges[b], edges[b + 1]); the last includes its right end. ``scale``
    defines a position, as in ``results.buckets.PositionBuckets``.

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
    def moved(bins: int = 10) -> Buckets:
        """Return equal parts of −1 to 1: the answer's movement as a share of the passage, negative
        to the front.
        """
        return Buckets("moved", tuple((2 * edge - bins) / bins for edge in range(bins + 1)))

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


# by the character at which the answer starts, as in SQuAD-PosQ
SQUAD_POSQ = Buckets("characters", (0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 3120.0))


class LengthGroups(NamedTuple):
    """The group of each query, ``(queries,)`` int64, and the groups' names."""

    numbers: np.ndarray
    labels: list[str]


def length_groups(lengths: Sequence[float] | np.ndarray, groups: int = 3) -> LengthGroups:
    """Group queries by the length of their passage into groups of about equal size, short to long:
    "92 to 121 words".

    Passages of the same length stay together, so a frequent length makes groups unequal or fewer
    [decision].

    Raises:
        ValueError: fewer than one group, or a length that is not a number.
    """
    import numpy as np

    lengths = np.asarray(lengths, np.float64)
    if groups < 1 or not np.isfinite(lengths).all():
        raise ValueError(
            f"length groups: wanted at least 1, and numbers as lengths; found {groups}"
        )
    if not len(lengths):
        return LengthGroups(np.zeros(0, np.int64), [])
    _, distinct, counts = np.unique(lengths, return_inverse=True, return_counts=True)
    # a length's group is that of its middle rank, doubled to stay a whole number
    middles = 2 * np.cumsum(counts) - counts
    found, number = np.unique(groups * middles // (2 * len(lengths)), return_inverse=True)
    numbers = number[distinct]
    labels = []
    for group in range(len(found)):
        members = lengths[numbers == group]
        low, high = f"{members.min():,.0f}", f"{members.max():,.0f}"
        labels.append(f"{low} words" if low == high else f"{low} to {high} words")
    return LengthGroups(numbers.astype(np.int64), labels)
