"""What to remove because of overlapping pairs, and which pairs count: the options of ``leakage clean`` and ``evaluate --leaked``.

A pair counts as its label says. One without a label counts where one of the wanted detectors found it: by default the same words and runs of
13 words, as published decontaminated sets do [decision].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place
from positionbias.core.settings import Panel, Setting, check_settings, declared_setting, setting
from positionbias.corpora.left_out import REMOVABLE, What
from positionbias.leakage.pairs import LEXICAL, OVERLAP_DETECTORS, SEMANTIC
from positionbias.overlap.settings import DETECTORS, PAIRS, PASSAGES, QUERIES, UNITS

__all__ = ["COUNTED", "PAIRS_OF", "CountedLeaks", "Removal", "Removing", "Side"]

Side = Literal["train", "test"]
SIDES: tuple[Side, ...] = get_args(Side)
COUNTED = (SEMANTIC, "exact", "ngram")  # the detectors whose pairs count without a label
CHECKS = ("near",)  # what searches a result again besides the detectors of the search
PAIRS_OF = {PASSAGES: "pairs of passages", QUERIES: "pairs of queries", PAIRS: "pairs of queries with passages"}
_FOUND_BY = Setting(
    "A detector whose pairs count without a label; may be given again.",
    choices=(SEMANTIC, LEXICAL, *OVERLAP_DETECTORS),
    metavar="DETECTOR",
)
_UNIT_OF: Mapping[What, str] = {"passages": PASSAGES, "queries": QUERIES, "judgements": PAIRS}


@dataclass(frozen=True, slots=True)
class Removal:
    """What to remove on which side, because of pairs of which unit, found by which detectors.

    Raises:
        SettingError: passages because of queries, which name none.
    """

    what: What = "queries"
    unit: str = ""
    side: Side = "train"
    found_by: Sequence[str] = COUNTED

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", _UNIT_OF[self.what])
        if self.what == "passages" and self.unit == QUERIES:
            raise SettingError(
                "--unit: wanted passages or pairs with --remove passages; found queries, which have no passage; "
                "give --remove queries, or another --unit"
            )

    @property
    def needs_judgements(self) -> bool:
        """True where judgements say what the items of pairs stand for: queries of a passage, judgements of a passage or query."""
        return (self.unit == PASSAGES and self.what != "passages") or (self.unit == QUERIES and self.what == "judgements")


@dataclass(frozen=True, slots=True)
class CountedLeaks:
    """Which overlapping pairs make a test query a leaked one.

    Raises:
        SettingError: a value that is no choice.
    """

    unit: str | None = setting(
        None,
        "With --leaked, what of a query is in training: its text, a relevant passage, or both in one pair.",
        choices=UNITS,
        absent="queries",
    )
    found_by: Sequence[str] = declared_setting(COUNTED, _FOUND_BY)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class Removing:
    """What to remove because of overlapping pairs, on which side, and how the result is checked.

    Raises:
        SettingError: a value that is no choice, or passages because of queries.
    """

    remove: str | None = setting(
        None,
        "What to remove of pairs that overlap; of a judgement both query and passage stay.",
        choices=REMOVABLE,
        absent="queries",
    )
    side: str = setting("train", "The side of the pairs that COLLECTION is.", choices=SIDES)
    unit: str | None = setting(
        None,
        "Because of which pairs: of passages, of queries, or of queries with passages.",
        choices=UNITS,
        absent="passages or queries as they are removed; pairs for judgements",
    )
    found_by: Sequence[str] = declared_setting(COUNTED, _FOUND_BY)
    check_by: Sequence[str] = setting(
        CHECKS,
        "A further detector that searches the result again, with those of --pairs; none: no search. May be given again.",
        choices=(*DETECTORS, "none"),
        metavar="DETECTOR",
        panel=Panel.ADVANCED,
    )
    sheet: Place | None = setting(
        None, "Write 50 of the pairs that counted here, to look at.", metavar="FILE", place="written", panel=Panel.ADVANCED
    )

    def __post_init__(self) -> None:
        check_settings(self)
        self.removal  # noqa: B018  # refuses what does not go together

    @property
    def removal(self) -> Removal:
        """What is removed, with its defaults."""
        return Removal(cast("What", self.remove or "queries"), self.unit or "", cast("Side", self.side), self.found_by)

    @property
    def asked(self) -> bool:
        """True where something was asked that queries near-duplicated by queries do not need."""
        return self != Removing()
