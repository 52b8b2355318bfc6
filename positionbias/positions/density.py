"""Define densities of evidence over relative positions in a passage, and draw sentences from them.

    uniform    f(x) = 1
    front:λ    f(x) = (1 − λ) + λ · κ·exp(−κ·x) / (1 − exp(−κ)),   x in [0, 1), κ = 12
    end:λ      f(1 − x) of front:λ
    middle:λ   f(|2x − 1|) of front:λ

λ = 0 is uniform, λ = 1 the strongest; front:0.7 has about as much mass in the first tenth as MS
MARCO's answers. A histogram, for example of real answers, is constant within each bin. Of n
sentences, sentence k has the mass from k/n to (k + 1)/n.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.schema import converted
from positionbias.core.seeds import key64

STEEPNESS = 12.0
Shape = Literal["uniform", "front", "end", "middle", "histogram"]
WANTED = (
    "wanted uniform, front:X, end:X or middle:X with X from 0 to 1, or a file of posbias histogram "
    "(--json, or the folder of --out)"
)


@dataclass(frozen=True, slots=True)
class _Bins:
    """A histogram in JSON."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Density:
    """A density over [0, 1). ``strength`` is λ; a histogram has ``edges`` from 0 to 1 and one fewer
    ``counts``.

    Raises:
        SettingError: an unknown shape, a strength outside [0, 1], or edges and counts that are not
            a histogram.
    """

    shape: Shape = "uniform"
    strength: float = 0.0
    edges: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape) or not 0 <= self.strength <= 1:
            raise SettingError(f"--density: {WANTED}; found {self}")
        if self.shape == "histogram" and not _is_histogram(self.edges, self.counts):
            raise SettingError(
                "--density: wanted a histogram with increasing edges from 0 to 1 and one count per "
                f"bin, not all 0; found {len(self.edges)} edges and {len(self.counts)} counts; "
                "make it with: posbias histogram … --json"
            )

    @classmethod
    def parse(cls, text: str) -> Density:
        """Parse ``uniform``, ``front:λ``, ``end:λ`` or ``middle:λ``, as written by ``str``;
        otherwise read a histogram at this path.

        >>> Density.parse("front:0.8")
        Density(shape='front', strength=0.8, edges=(), counts=())
        """
        shape, colon, strength = text.partition(":")
        if text == "uniform":
            return cls()
        if colon and shape in ("front", "end", "middle"):
            try:
                return cls(shape, float(strength))  # type: ignore[arg-type]
            except ValueError:
                raise SettingError(f"--density: {WANTED}; found {text}") from None
        if not Path(text).exists():
            raise SettingError(f"--density: {WANTED}; found {text}")
        return read_density(text)

    def __str__(self) -> str:
        return (
            self.shape
            if self.shape in ("uniform", "histogram")
            else f"{self.shape}:{self.strength:g}"
        )

    def record(self) -> str | dict[str, list[float]]:
        """Return the density for a manifest."""
        return (
            {"edges": [*self.edges], "counts": [*self.counts]}
            if self.shape == "histogram"
            else str(self)
        )

    @classmethod
    def of(cls, record: Json) -> Density:
        """Return the density of a record; the inverse of ``record``."""
        if isinstance(record, str):
            return cls.parse(record)
        bins = converted(_Bins, record)
        return cls("histogram", 0.0, bins.edges, bins.counts)

    def cumulative(self, x: float) -> float:
        """Return the mass below ``x``."""
        if self.shape == "histogram":
            if not self.edges[0] < x < self.edges[-1]:
                return float(x >= self.edges[-1])
            sums, place = [0.0, *accumulate(self.counts)], bisect_right(self.edges, x) - 1
            low, high = self.edges[place : place + 2]
            before, after = (sums[at] / sums[-1] for at in (place, place + 1))
            return (after - before) / (high - low) * (x - low) + before
        if self.shape == "end":
            return 1 - self._front(1 - x)
        if self.shape == "middle":  # the front's density, folded
            return (
                (1 - self._front(1 - 2 * x)) / 2 if x <= 0.5 else (1 + self._front(2 * x - 1)) / 2
            )
        return self._front(x)

    def _front(self, x: float) -> float:
        return (1 - self.strength) * x + self.strength * -math.expm1(-STEEPNESS * x) / -math.expm1(
            -STEEPNESS
        )

    def shares(self, parts: int) -> list[float]:
        """Return the mass in each of ``parts`` equal parts: the probability of drawing the 1st, 2nd
        … sentence.

        >>> Density().shares(4)
        [0.25, 0.25, 0.25, 0.25]
        """
        return [
            self.cumulative((part + 1) / parts) - self.cumulative(part / parts)
            for part in range(parts)
        ]

    def draw(self, parts: int, seed: int, purpose: str, *key: str | int) -> int:
        """Draw one of ``parts`` equal parts by its share.

        The part is the quantile of a number that depends on the key alone, so more mass in front
        moves draws only to the front.
        """
        number = (key64(seed, purpose, *key) >> 11) / (1 << 53)
        return next(
            (part for part in range(parts - 1) if number < self.cumulative((part + 1) / parts)),
            parts - 1,
        )


def _is_histogram(edges: tuple[float, ...], counts: tuple[float, ...]) -> bool:
    if len(edges) != len(counts) + 1 or not all(map(math.isfinite, (*edges, *counts))):
        return False
    rising = all(low < high for low, high in pairwise(edges))
    return (edges[0], edges[-1]) == (0, 1) and rising and min(counts) >= 0 and sum(counts) > 0


def read_density(path: Path | str) -> Density:
    """Read a histogram as a density: the output of ``posbias histogram --json``, its ``--out``
    folder, or JSON with ``edges`` and ``counts``.

    Raises:
        InputError: not such a file, or several histograms in it.
        SettingError: as ``Density``.
    """
    path = Path(path)
    if path.is_dir():
        from positionbias.core.rows import load, records

        found = _histograms(records(load(path)))
    else:
        record = read_json(path, what="a histogram")
        found = [record] if _has_bins(record) else _histograms(_rows_of(record))
    if len(found) != 1:
        raise bad_input(
            path,
            wanted="one histogram",
            found=f"{len(found)} of them",
            do=(
                "make one for a single split with: posbias histogram COLLECTION --split SPLIT "
                "--json"
            ),
        )
    try:
        bins = converted(_Bins, found[0], more=True)
    except ValueError as error:
        raise bad_input(
            path,
            wanted="a histogram",
            found=str(error),
            do="make it with: posbias histogram … --json",
        ) from error
    return Density("histogram", 0.0, bins.edges, bins.counts)


def _has_bins(record: Any) -> bool:
    return isinstance(record, Mapping) and {"edges", "counts"} <= record.keys()


def _rows_of(record: Any) -> list[Mapping[str, Any]]:
    rows = record.get("rows") if isinstance(record, Mapping) else None
    return [row for row in rows or () if isinstance(row, Mapping)]


def _histograms(rows: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """Return the histograms of answer positions among some rows, each of one collection and
    split.
    """
    counts: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        if row.get("axis") == "bin":
            key = tuple(row.get(name) for name in ("collection", "split", "rotation", "variant"))
            counts.setdefault(key, []).append(row.get("count"))
    return [
        {"edges": [place / len(own) for place in range(len(own) + 1)], "counts": own}
        for own in counts.values()
    ]
