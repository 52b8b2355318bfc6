"""Settings of overlap: what is compared, by which detectors, and from which score a pair is found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.core.places import Place
from positionbias.core.settings import Panel, check_once, check_settings, seed_setting, setting
from positionbias.results.overlap import ANY

__all__ = [
    "ALL",
    "CANDIDATES",
    "DETECTORS",
    "EXACT",
    "MEANING",
    "NGRAM",
    "PAIRS",
    "PASSAGES",
    "QUERIES",
    "SHORT",
    "UNITS",
    "EvidenceSettings",
    "OverlapSettings",
]

PASSAGES, QUERIES, PAIRS = "passages", "queries", "pairs"
EXACT, NGRAM, SHORT = "exact", "ngram", "short"
UNITS = (PASSAGES, QUERIES, PAIRS)
# each with the module here and its function (``detectors``), in the order of tables
DETECTORS = {
    "exact": ("scan", "exact"),
    "ngram": ("scan", "ngram"),
    "near": ("near", "near"),
    "short": ("scan", "short"),
    "meaning": ("meaning", "meaning"),
}
MEANING = "meaning"  # the detector that needs an encoder
ALL, CANDIDATES = "all", "candidates"  # training texts to encode


@dataclass(frozen=True, slots=True)
class OverlapSettings:
    """What is compared with what, and when two texts overlap.

    ``n`` and ``containment`` are those of published decontaminated sets: 13 words and a half.

    Raises:
        SettingError: a setting outside its range, or one given twice.
    """

    units: Sequence[str] = setting(
        UNITS,
        "What to compare: passages, queries, or queries together with a relevant passage. May be given again.",
        flags=("--unit",),
        choices=UNITS,
    )
    detectors: Sequence[str] = setting(
        ("exact", "ngram", "near", "short"),
        "What looks for copies: exact (the same words), ngram (shared runs of words), near (most short runs in common), short (shared shorter runs, for "
        "test texts with too few words for ngram), meaning (an encoder). May be given again.",
        flags=("--detector",),
        choices=DETECTORS,
    )
    n: int = setting(13, "Words of a run for --detector ngram.", flags=("--ngram",), least=2, most=1_000, panel=Panel.ADVANCED)
    containment: float = setting(
        0.5,
        "Lowest share of one text's runs of words that the other must have.",
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )
    short_n: int = setting(
        5,
        "Words of a run for --detector short.",
        flags=("--short-ngram",),
        least=1,
        panel=Panel.ADVANCED,
    )
    near_n: int = setting(
        3, "Words of a run for --detector near.", flags=("--near-ngram",), least=1, most=1_000, panel=Panel.ADVANCED
    )
    jaccard: float = setting(
        0.5,
        "Lowest Jaccard coefficient of near-duplicates: runs of words that both texts have, of all that one has.",
        flags=("--near-jaccard",),
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )
    threshold: float | None = setting(
        None,
        "Lowest cosine of a pair for --detector meaning.",
        least=-1,
        most=1,
        wanted="a cosine from -1 to 1",
        absent="the encoder's own, if people labelled its cosines",
        metavar="SCORE",
    )
    encode: str = setting(
        ALL,
        "Training texts to encode: all, or those that share some words with a test text; what these miss is measured.",
        choices=(ALL, CANDIDATES),
        panel=Panel.ADVANCED,
    )
    all_passages: bool = setting(False, "Compare all passages of collections, not only those that judgements name.")
    relevant_from: int = setting(1, "Lowest grade of a relevant passage in test judgements.", least=1, metavar="GRADE")
    kept: int = setting(
        100,
        "Pairs kept of each test text, detector and training set, the best; all are counted.",
        flags=("--kept-pairs",),
        least=1,
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_once({"--unit": self.units, "--detector": self.detectors})

    def words_of(self, detector: str) -> tuple[int, int]:
        """Return the fewest words of a test text that a detector can find, and the words from which on it is not the detector's to find."""
        least = {"ngram": self.n, "near": max(self.n, self.near_n), SHORT: self.short}.get(detector, 1)
        return least, self.n if detector == SHORT else sys.maxsize

    @property
    def short(self) -> int:
        """The words of a run for test texts shorter than ``n`` words."""
        return min(self.n, self.short_n)

    def counted(self, detector: str) -> set[str]:
        """Return the detectors behind a row: the one, or those that are counted together as any."""
        return {self.detectors[place] for place in self.together} if detector == ANY else {detector}

    @property
    def together(self) -> list[int]:
        """The places of the detectors that are counted together as any: without short, whose pairs are mere candidates, unless it is alone."""
        found = [place for place, name in enumerate(self.detectors) if name != SHORT]
        return found or list(range(len(self.detectors)))


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """How good the detectors are: labelled pairs, for their precision, and test texts to plant duplicates of, for their recall.

    Raises:
        SettingError: a number below 0.
    """

    labelled: Sequence[Place] = setting(
        (),
        "A filled sheet of posbias leakage sample, which gives the precision of the detectors; may be given again.",
        metavar="SHEET",
        place="read",
    )
    recall: int = setting(
        0, "Plant duplicates of N test texts of each unit, and say how many of each kind are found.", least=0, metavar="N"
    )
    truth: Place | None = setting(
        None,
        "The true pairs, where they are known, as of a planted collection: says how many of them were found.",
        metavar="DIR|FILE",
        place="read",
        panel=Panel.ADVANCED,
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
