"""Settings of overlap: what is compared, by which detectors, and from which score a pair is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.core.settings import Panel, check_once, check_settings, setting

__all__ = ["DETECTORS", "EXACT", "PAIRS", "PASSAGES", "QUERIES", "SHORT", "UNITS", "OverlapSettings"]

PASSAGES, QUERIES, PAIRS = "passages", "queries", "pairs"
EXACT, SHORT = "exact", "short"
UNITS = (PASSAGES, QUERIES, PAIRS)
# each with the module here and its function (``detectors``), in the order of tables
DETECTORS = {
    "exact": ("scan", "exact"),
    "ngram": ("scan", "ngram"),
    "short": ("scan", "short"),
}


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
        ("exact", "ngram", "short"),
        "What looks for copies: exact (the same words), ngram (shared runs of words), short (shorter runs, for test texts with too few words for "
        "ngram). May be given again.",
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
    all_passages: bool = setting(False, "Compare all passages of collections, not only those that judgements name.")
    relevant_from: int = setting(1, "Lowest grade of a relevant passage in test judgements.", least=1, metavar="GRADE")
    kept: int = setting(
        1_000,
        "Pairs kept of each test text, detector and training set, the best; all are counted.",
        flags=("--kept-pairs",),
        least=1,
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_once({"--unit": self.units, "--detector": self.detectors})

    @property
    def short(self) -> int:
        """The words of a run for test texts shorter than ``n`` words."""
        return min(self.n, self.short_n)

    @property
    def together(self) -> list[int]:
        """The places of the detectors that are counted together as any: without short, whose pairs are mere candidates, unless it is alone."""
        found = [place for place, name in enumerate(self.detectors) if name != SHORT]
        return found or list(range(len(self.detectors)))
