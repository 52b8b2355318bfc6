"""What to remove because of overlapping pairs: the options of ``leakage clean``.

A pair counts as its label says. A pair without a label counts unless ``leakage find`` found it by
words alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place
from positionbias.core.settings import Panel, check_settings, setting
from positionbias.corpora.left_out import REMOVABLE, What
from positionbias.overlap.settings import PAIRS, PASSAGES, QUERIES, UNITS

__all__ = ["PAIRS_OF", "Removal", "Removing", "Side"]

Side = Literal["train", "test"]
SIDES: tuple[Side, ...] = get_args(Side)
PAIRS_OF = {
    PASSAGES: "pairs of passages",
    QUERIES: "pairs of queries",
    PAIRS: "pairs of queries with passages",
}
_UNIT_OF: Mapping[What, str] = {"passages": PASSAGES, "queries": QUERIES, "judgements": PAIRS}


@dataclass(frozen=True, slots=True)
class Removal:
    """The side to remove from, and the unit of the pairs that are the reason.

    Raises:
        SettingError: passages because of queries, which name none.
    """

    what: What = "queries"
    unit: str = ""
    side: Side = "train"

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", _UNIT_OF[self.what])
        if self.what == "passages" and self.unit == QUERIES:
            raise SettingError(
                "--unit: wanted passages or pairs with --remove passages; found queries, which "
                "have no passage; give --remove queries, or another --unit"
            )

    @property
    def needs_judgements(self) -> bool:
        """True where judgements say what the items of pairs stand for: queries of a passage,
        judgements of a passage or query.
        """
        return (self.unit == PASSAGES and self.what != "passages") or (
            self.unit == QUERIES and self.what == "judgements"
        )


@dataclass(frozen=True, slots=True)
class Removing:
    """Settings of removing overlapping pairs: the unit, and the side.

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
    sheet: Place | None = setting(
        None,
        "Write 50 of the pairs that counted here, to look at.",
        metavar="FILE",
        place="written",
        panel=Panel.ADVANCED,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        self.removal  # noqa: B018  # refuses what does not go together

    @property
    def removal(self) -> Removal:
        """Return the removal, with its defaults."""
        return Removal(
            cast("What", self.remove or "queries"), self.unit or "", cast("Side", self.side)
        )

    @property
    def asked(self) -> bool:
        """True where something was asked that queries near-duplicated by queries do not need."""
        return self != Removing()
