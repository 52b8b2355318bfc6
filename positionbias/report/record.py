"""Rows of one thing side by side, and what is said of it: sentences by templates, and tiles, which
answer a question on a page's first screen.

A template names a key or a statistic in braces, as Python's formats do: ``{pool}``,
``{effect:+.3f}`` (a value with its interval), ``{effect.low:.3f}``, ``{power:.0%}``,
``{groups:,}``, ``{effect.p_adjusted:p}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import Formatter
from typing import Any

from pandas import DataFrame

from positionbias.core.records import Interval
from positionbias.text.formatting import as_form, with_interval

Sentences = Callable[[DataFrame], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was measured: what names it (``keys``), and its row of each statistic."""

    keys: Mapping[str, Any]
    rows: Mapping[str, Any]

    def value(self, statistic: str) -> float | None:
        """Return the value of a statistic; None where it is missing or undefined."""
        value = self.rows[statistic].value if statistic in self.rows else None
        return None if value is None or value != value else float(value)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about figures; ``holds`` is None if they are undecided."""

    text: str
    holds: bool | None = None


def records_of(rows: DataFrame, by: Sequence[str], where: str = "") -> list[Record]:
    """Return the chosen rows, those of one combination of keys together, by first occurrence of
    each key in turn.
    """
    chosen = rows.query(where) if where else rows
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in chosen.itertuples(index=False):
        found.setdefault(tuple(getattr(row, name) for name in by), {})[row.statistic] = row
    places = [{cell: place for place, cell in enumerate(chosen[name].unique())} for name in by]
    order = sorted(
        found, key=lambda key: [place[cell] for place, cell in zip(places, key, strict=True)]
    )
    return [Record(dict(zip(by, key, strict=True)), found[key]) for key in order]


def rows_with(rows: DataFrame, keys: Mapping[str, Any]) -> DataFrame:
    """Return the rows that have these cells."""
    for name, cell in keys.items():
        rows = rows[rows[name] == cell]
    return rows


def bounds_of(row: Any) -> Interval | None:
    """Return the interval of a row, if any."""
    return Interval(row.low, row.high, row.level) if row.low == row.low else None


def said(template: str, record: Record) -> str:
    """Return the sentence about a record; empty where a statistic that is named has no row, or is
    undefined.

    Example:
        >>> from positionbias.core.rows import frame
        >>> row = {"measure": "RR", "statistic": "change", "value": -0.1, "low": -0.2, "high": 0.0}
        >>> (record,) = records_of(frame([row]), ["measure"])
        >>> said("{measure}: {change:+.2f}", record), said("{tau:.2f}", record)
        ('RR: −0.10\\xa0[−0.20,\\xa00.00]', '')
    """
    try:
        return _Words().vformat(template, (), {**record.keys, **record.rows})
    except KeyError:
        return ""


def first_said(templates: Sequence[str], record: Record) -> str:
    """Return the first of several sentences that is not empty; empty where all are."""
    return next(filter(None, (said(template, record) for template in templates)), "")


def sentences(by: Sequence[str], where: str, *templates: str) -> Sentences:
    """Return what says of each record of the rows the first sentence whose statistics are there."""
    return lambda rows: list(
        filter(None, (first_said(templates, record) for record in records_of(rows, by, where)))
    )


class _Words(Formatter):
    """Formats a row as its value with its interval, and a number as it is read."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        number = getattr(value, "value", value)
        if number != number:  # undefined
            raise KeyError(format_spec)
        shown = as_form(number, format_spec)
        if number is value or format_spec in (",", "p"):
            return shown
        return with_interval(shown, bounds_of(value), format_spec)


# -- tiles -----------------------------------------------------------------------------------------


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
    advices = (tile.advice for tile in tiles if tile.tone is not Tone.GOOD)
    return next(filter(None, advices), NO_ADVICE[tiles[0].tone])


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
                    basis=[text for template in self.basis if (text := said(template, record))],
                    advice=first_said(answer.advice, record),
                )
            )
        return tiles
