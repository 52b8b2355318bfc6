"""Settings of histograms, selections, placement and the rotation of raw files, without numpy or
pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import REQUIRED, Seeded, Settings, setting
from positionbias.core.splitter import USUAL_WORDS
from positionbias.positions.density import Density
from positionbias.text.words import WORD_METHODS, WORDS_HELP, WordMethod

Matches = Literal["all", "first", "last"]
MATCHES: tuple[Matches, ...] = get_args(Matches)
Point = Literal["start", "midpoint"]
POINTS: tuple[Point, ...] = get_args(Point)
RawFormat = Literal["tsv", "jsonl"]
RAW_FORMATS: tuple[RawFormat, ...] = get_args(RawFormat)


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
