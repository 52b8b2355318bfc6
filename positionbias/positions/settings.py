"""Settings of histograms, selections, placement and the rotation of raw files, without numpy or
pyarrow.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import Json, JsonObject, converted
from positionbias.core.seeds import key64
from positionbias.core.settings import REQUIRED, Seeded, Settings, setting
from positionbias.text.splitter import USUAL_WORDS
from positionbias.text.words import WORD_METHODS, WORDS_HELP, WordMethod

Matches = Literal["all", "first", "last"]
MATCHES: tuple[Matches, ...] = get_args(Matches)
Point = Literal["start", "midpoint"]
POINTS: tuple[Point, ...] = get_args(Point)
RawFormat = Literal["tsv", "jsonl"]
RAW_FORMATS: tuple[RawFormat, ...] = get_args(RawFormat)
STEEPNESS = 12.0
Shape = Literal["uniform", "front", "end", "middle", "histogram"]
WANTED = (
    "wanted uniform, front:X, end:X or middle:X with X from 0 to 1, or a file of posbias histogram "
    "(--json, or the folder of --out)"
)


@dataclass(frozen=True, slots=True)
class Matching(Settings):
    """Settings of matching answers to words.

    In the paper all matches count. ``offsets`` False ignores the source's offsets and matches every
    answer.

    Raises:
        SettingError: an unknown method or choice of matches.
    """

    words: WordMethod = setting(USUAL_WORDS, WORDS_HELP, choices=WORD_METHODS, shown=False)
    matches: Matches = setting(
        "all",
        "Matches to count for an answer that occurs several times. Only where offsets are not "
        "used.",
        choices=MATCHES,
        shown=False,
    )
    fold_case: bool = setting(False, "Ignore case when matching.", shown=False)
    offsets: bool = setting(
        True,
        "Use an answer's place where the source gives it; false: match every answer.",
        shown=False,
    )


@dataclass(frozen=True, slots=True)
class HistogramOptions(Seeded):
    """Settings of counting positions.

    Raises:
        SettingError: a setting outside its range.
    """

    matching: Matching = field(default_factory=Matching)
    point: Point = setting(
        "start", "Position of an answer: its first word, or its middle.", choices=POINTS
    )
    bins: int = setting(20, "Bins from a passage's start to its end.", least=1, most=1_000)
    resamples: int = setting(
        1_000, "Resamples of the passages for the intervals.", least=100, shown=False
    )


@dataclass(frozen=True, slots=True)
class AnswerRange:
    """A range of relative positions, [``low``, ``high``).

    Raises:
        SettingError: not 0 ≤ low < high ≤ 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise _no_range(f"{self.low:g}:{self.high:g}")

    @classmethod
    def parse(cls, text: str, *, flag: str = "--answers-in") -> AnswerRange:
        """Parse ``LOW:HIGH``, as written by ``str``; ``flag`` is the option's name.

        >>> AnswerRange.parse("0:0.2")
        AnswerRange(low=0.0, high=0.2)
        """
        low, _, high = text.partition(":")
        try:
            return cls(float(low), float(high))
        except (ValueError, SettingError):
            raise _no_range(text, flag) from None

    def __str__(self) -> str:
        return f"{self.low:g}:{self.high:g}"

    def test(self) -> Callable[[int, int], bool]:
        """Return a function that tests a first word's index in a passage of a given number of
        words, in integers.
        """
        # 0.2 is exactly one fifth
        low, high = (Fraction(repr(bound)) for bound in (self.low, self.high))
        return lambda first, words: (
            low.numerator * words <= first * low.denominator
            and first * high.denominator < high.numerator * words
        )


def _no_range(found: str, flag: str = "--answers-in") -> SettingError:
    return SettingError(
        f"{flag}: wanted LOW:HIGH with 0 ≤ LOW < HIGH ≤ 1, as in 0:0.2; found {found}; give such a "
        "range"
    )


@dataclass(frozen=True, slots=True)
class Selection(Seeded):
    """The queries of a split to keep. ``queries`` is their number, drawn by (seed, id); None keeps
    all.

    Raises:
        SettingError: a setting outside its range.
    """

    answers_in: AnswerRange = setting(
        REQUIRED,
        "Range of relative positions where a kept query's answers start, without HIGH: 0:0.2 is "
        "the first fifth.",
        metavar="LOW:HIGH",
    )
    split: str = setting(
        "train", "The split to select from; other splits stay unchanged.", metavar="SPLIT"
    )
    queries: int | None = setting(
        None, "Draw N of the fitting queries; by default all are kept.", least=1, metavar="N"
    )
    matching: Matching = field(default_factory=Matching)

    def record(self) -> JsonObject:
        """The settings, as a manifest has them."""
        return {**asdict(self), "answers_in": str(self.answers_in)}


@dataclass(frozen=True, slots=True)
class _Bins:
    """A histogram in JSON."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Density:
    """A density of evidence over relative positions x in a passage, [0, 1); sentences are drawn
    from it.

    - uniform: ``f(x) = 1``
    - front:λ: ``f(x) = (1 − λ) + λ · κ·exp(−κ·x) / (1 − exp(−κ))``, κ = 12
    - end:λ: ``f(1 − x)`` of front:λ
    - middle:λ: ``f(|2x − 1|)`` of front:λ

    ``strength`` is λ: 0 is uniform, 1 the strongest; front:0.7 has about as much mass in the first
    tenth as MS MARCO's answers. A histogram, for example of real answers, has ``edges`` from 0 to 1
    and one fewer ``counts``, and is constant within each bin. Of n sentences, sentence k has the
    mass from k/n to (k + 1)/n.

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


@dataclass(frozen=True, slots=True)
class Placing(Seeded):
    """The density of evidence sentences, and the questions to keep.

    Raises:
        SettingError: a negative seed.
    """

    density: Density = setting(
        REQUIRED,
        "Density of evidence sentences: uniform, front:X, end:X or middle:X with X from 0 "
        "(uniform) to 1, as the planted collection's front-loading; or a histogram, as from "
        "`posbias histogram msmarco-qa --split train --json`.",
        metavar="DENSITY|FILE",
    )
    match_distance: bool = setting(
        False,
        "Weight the questions so that in all arms sentences move as far as under uniform "
        "placement.",
        shown=False,
    )

    def record(self) -> JsonObject:
        """The settings, as a manifest has them."""
        given = {"match_distance": self.match_distance, "seed": self.seed}
        return {"density": self.density.record(), **given}
