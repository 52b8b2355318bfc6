"""Settings of overlap: which texts are compared, and from which share of common words on they
overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.settings import Panel, check_settings, setting
from positionbias.leakage.pairs import OVERLAP_DETECTORS as DETECTORS

__all__ = ["DETECTORS", "PAIRS", "PASSAGES", "QUERIES", "UNITS", "OverlapSettings"]

UNITS = PASSAGES, QUERIES, PAIRS = "passages", "queries", "pairs"


@dataclass(frozen=True, slots=True)
class OverlapSettings:
    """Which texts are compared, and when two of them overlap.

    ``n`` and ``containment`` are those of published decontaminated sets: 13 words and a half.

    Raises:
        SettingError: a setting outside its range.
    """

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

    def __post_init__(self) -> None:
        check_settings(self)
