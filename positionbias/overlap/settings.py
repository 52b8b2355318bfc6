"""Settings of overlap: what is compared, and from which share of common words two texts overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.core.settings import Panel, check_once, check_settings, setting
from positionbias.leakage.pairs import OVERLAP_DETECTORS as DETECTORS
from positionbias.results.overlap import ANY

__all__ = [
    "DETECTORS",
    "EXACT",
    "NGRAM",
    "PAIRS",
    "PASSAGES",
    "QUERIES",
    "UNITS",
    "OverlapSettings",
    "counted",
]

PASSAGES, QUERIES, PAIRS = "passages", "queries", "pairs"
EXACT, NGRAM = DETECTORS
UNITS = (PASSAGES, QUERIES, PAIRS)


@dataclass(frozen=True, slots=True)
class OverlapSettings:
    """What is compared with what, and when two texts overlap.

    ``n`` and ``containment`` are those of published decontaminated sets: 13 words and a half.

    Raises:
        SettingError: a setting outside its range, or one given twice.
    """

    units: Sequence[str] = setting(
        UNITS,
        "What to compare: passages, queries, or queries together with a relevant passage. May be "
        "given again.",
        flags=("--unit",),
        choices=UNITS,
    )
    n: int = setting(
        13, "Words of a run.", flags=("--ngram",), least=2, most=1_000, panel=Panel.ADVANCED
    )
    containment: float = setting(
        0.5,
        "Lowest share of one text's runs of words that the other must have.",
        above=0,
        most=1,
        wanted="a share above 0, to 1",
        panel=Panel.ADVANCED,
    )
    all_passages: bool = setting(
        False, "Compare all passages of collections, not only those that judgements name."
    )
    relevant_from: int = setting(
        1, "Lowest grade of a relevant passage in test judgements.", least=1, metavar="GRADE"
    )
    kept: int = setting(
        100,
        "Pairs kept of each test text, detector and training set, the best; all are counted.",
        flags=("--kept-pairs",),
        least=1,
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_once({"--unit": self.units})


def counted(detector: str) -> set[str]:
    """Return the detectors behind a row: the named detector, or both that are counted together as
    any.
    """
    return set(DETECTORS) if detector == ANY else {detector}
