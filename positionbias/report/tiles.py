"""Tiles: the answer to one question about one subject, with its effect, as a page's first screen
and a summary show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pandas import DataFrame

from positionbias.core.formatting import MISSING, decimal, interval, with_interval
from positionbias.report.cells import text_cell
from positionbias.report.record import bounds_of
from positionbias.report.table import Column, Table
from positionbias.results.select import distinct

__all__ = [
    "MOST_TILES",
    "Answered",
    "Group",
    "Tile",
    "Tone",
    "advice_of",
    "answers_table",
    "groups_of",
    "shown_tiles",
]

MOST_TILES = 6  # on the first screen; a table has the others
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


@dataclass(frozen=True, slots=True)
class Group:
    """The tiles of one question, side by side; ``difference`` says how two of them compare."""

    question: str
    tiles: Sequence[Tile]
    difference: str = ""


def shown_tiles(tiles: Sequence[Tile]) -> list[Tile]:
    """Return the tiles of the first screen: all, or the six that matter most, in their order; bad
    news first, then what is open.
    """
    order = sorted(
        range(len(tiles)), key=lambda index: (list(Tone).index(tiles[index].tone), index)
    )
    return [tiles[index] for index in sorted(order[:MOST_TILES])]


def groups_of(tiles: Sequence[Tile], rows: Sequence[DataFrame]) -> list[Group]:
    """Return the tiles by question; two that can be compared get the paired test among ``rows``, or
    the remark that there is none.
    """
    groups = []
    for question in distinct(tile.question for tile in tiles):
        own = [tile for tile in tiles if tile.question == question]
        pair = len(own) == 2 and bool(own[0].measure and own[1].measure)
        groups.append(Group(question, own, _difference(own[0], own[1], rows) if pair else ""))
    return groups


def _difference(one: Tile, other: Tile, studies: Sequence[DataFrame]) -> str:
    for rows in studies:
        tested = rows[(rows["statistic"] == "difference") & (rows["measure"] == one.measure)]
        for row in tested.itertuples(name="Tested"):
            baseline = row.against.removeprefix("model=")
            if {baseline, row.model} == {one.subject, other.subject}:
                size = with_interval(
                    decimal(row.value, sign=True), interval(bounds_of(row), sign=True)
                )
                return (
                    f"Paired test of {row.measure} on {row.collection}: {row.model} − {baseline} "
                    f"{size}."
                )
    return "Not compared: no paired test of the two was measured."


def advice_of(tiles: Sequence[Tile]) -> str:
    """Return one sentence on what to do next: that of the first bad news, else of what is open or
    measured; else that nothing is needed.
    """
    for tone in (Tone.BAD, Tone.UNKNOWN, Tone.MEASURED):
        for tile in tiles:
            if tile.tone is tone and tile.advice:
                return tile.advice
    tones = {tile.tone for tile in tiles}
    if Tone.BAD in tones:
        return "Read the details below: what was found has no standard remedy."
    if Tone.UNKNOWN in tones:
        return "These data do not decide: the details below say what is missing."
    return NO_ACTION if Tone.GOOD in tones else NOTHING_DECIDED


def answers_table(tiles: Sequence[Tile]) -> Table:
    """Return every answer, a row each: what does not fit on the first screen, and the table of a
    summary.
    """
    names = ("Question", "About", "Answer", "In words", "Effect", "Basis")
    rows = [
        [
            text_cell(text or MISSING)
            for text in (
                tile.question,
                tile.subject,
                str(tile.answer),
                tile.words,
                tile.effect,
                "; ".join(tile.basis),
            )
        ]
        for tile in tiles
    ]
    return Table(
        "answers-all", "All answers", [Column(name, numeric=False) for name in names], rows, stub=2
    )
