"""Tiles: the answer to one question about one subject, with its effect, as a page's first screen
and a summary show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Answered", "Tile", "Tone", "advice_of", "by_importance"]

NOTHING_DECIDED = "Nothing to decide: these results measure, and no verdict rests on them."
NO_ACTION = "No action needed."


class Answered(StrEnum):
    """The answer of a tile. ``MEASURED``: there are figures, and no rule that decides."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "cannot tell"
    MEASURED = "measured only"


class Tone(StrEnum):
    """The look of a tile: a sign, a shape and a colour each."""

    BAD = "bad"
    UNKNOWN = "unknown"
    GOOD = "good"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One question about one ``subject`` (a system, a collection), and its answer.

    ``words`` are the answer in a phrase, ``effect`` its size with interval and unit, ``basis``
    margin, power and queries. ``welcome`` says whether a yes or no is good news; None: neither.
    ``advice`` is the next step in one sentence; "" where none is needed. ``measure`` names what a
    paired test of two subjects would compare; "" where subjects are not compared.
    """

    question: str
    subject: str
    answer: Answered
    words: str
    welcome: bool | None = False
    effect: str = ""
    basis: Sequence[str] = ()
    advice: str = ""
    measure: str = ""

    @property
    def tone(self) -> Tone:
        """Return the look: good or bad news only where something was decided."""
        if self.answer is Answered.UNKNOWN:
            return Tone.UNKNOWN
        if self.answer is Answered.MEASURED or self.welcome is None:
            return Tone.MEASURED
        return Tone.GOOD if self.welcome else Tone.BAD


def by_importance(tiles: Sequence[Tile]) -> list[Tile]:
    """Return bad news first, then what is open."""
    return sorted(tiles, key=lambda tile: list(Tone).index(tile.tone))


def advice_of(tiles: Sequence[Tile]) -> str:
    """Return one sentence on what to do next: that of the first bad news, else of what is open or
    measured; else that nothing is needed.
    """
    for tile in by_importance(tiles):
        if tile.tone is not Tone.GOOD and tile.advice:
            return tile.advice
    tones = {tile.tone for tile in tiles}
    if Tone.BAD in tones:
        return "Read the details below: what was found has no standard remedy."
    if Tone.UNKNOWN in tones:
        return "These data do not decide: the details below say what is missing."
    return NO_ACTION if Tone.GOOD in tones else NOTHING_DECIDED
