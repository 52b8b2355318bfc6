"""Tiles: the answer to one question about one subject, with its effect, as a page's first screen
shows it; and questions declared over rows, which make them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pandas import DataFrame

from positionbias.report.record import first_said, records_of, said


class Answered(StrEnum):
    """The answer of a tile."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "cannot tell"


class Tone(StrEnum):
    """The look of a tile: a sign, a shape and a colour each."""

    BAD = "bad"
    UNKNOWN = "unknown"
    GOOD = "good"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One question about one ``subject`` (a system, a collection), and its answer.

    ``words`` are the answer in a phrase, ``effect`` its size with interval and unit, ``basis``
    margin, power and queries. ``welcome`` says whether a yes or no is good news. ``advice`` is the
    next step in one sentence; "" where none is needed.
    """

    question: str
    subject: str
    answer: Answered
    words: str
    welcome: bool = False
    effect: str = ""
    basis: Sequence[str] = ()
    advice: str = ""

    @property
    def tone(self) -> Tone:
        """Return the look: good or bad news only where something was decided."""
        if self.answer is Answered.UNKNOWN:
            return Tone.UNKNOWN
        return Tone.GOOD if self.welcome else Tone.BAD


def by_importance(tiles: Sequence[Tile]) -> list[Tile]:
    """Return bad news first, then what is open."""
    return sorted(tiles, key=lambda tile: list(Tone).index(tile.tone))


NO_ADVICE = {  # of a tile's own, by the worst of all
    Tone.BAD: "Read the details below: what was found has no standard remedy.",
    Tone.UNKNOWN: "These data do not decide: the details below say what is missing.",
    Tone.GOOD: "No action needed.",
}


def advice_of(tiles: Sequence[Tile]) -> str:
    """Return in one sentence what to do next, by the first bad news, else by what is open."""
    tiles = by_importance(tiles)
    if not tiles:
        return "Nothing to decide: these results measure, and no verdict rests on them."
    own = (tile.advice for tile in tiles if tile.tone is not Tone.GOOD)
    return next(filter(None, own), NO_ADVICE[tiles[0].tone])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The meaning of one answer of a verdict: as yes or no, in words, and what to do next."""

    answered: Answered
    words: str
    welcome: bool = False
    advice: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that rows with an answer decide, one for each combination of ``by``: a tile.

    All texts are templates (``report.record``). Of ``effect`` and of an answer's advice the first
    stands whose statistics are there, of ``basis`` every one.
    """

    by: Sequence[str]
    where: str
    statistics: Sequence[str]
    question: str
    subject: str
    answers: Mapping[str, Answer]
    effect: Sequence[str]
    basis: Sequence[str] = ()

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return a tile for each record with an answer."""
        tiles = []
        for record in records_of(rows, self.by, self.where):
            row = next((record.rows[name] for name in self.statistics if name in record.rows), None)
            if row is None or not row.answer:
                continue
            answer = self.answers[row.answer]
            tiles.append(
                Tile(
                    question=said(self.question, record),
                    subject=said(self.subject, record),
                    answer=answer.answered,
                    words=answer.words,
                    welcome=answer.welcome,
                    effect=first_said(self.effect, record),
                    basis=[text for one in self.basis if (text := said(one, record))],
                    advice=first_said(answer.advice, record),
                )
            )
        return tiles
