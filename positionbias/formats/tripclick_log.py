"""Read TripClick's click log: JSON lines, one file a day (``2013-01-01.json``), one click a line.

The reader takes ``DocumentId``, the clicked document (0, "0", "" or null: none), and ``Documents``,
the documents shown, in order: ids, or "id:score" in a list or as one text, as in the release's own
script. A list is one page of results, mostly 20; the log lacks earlier pages, and how results were
sorted and filtered (Hofstätter et al. 2022, section 2.1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from positionbias.core.blocks import Block
from positionbias.core.click_log import ClickLog
from positionbias.formats.json_lines import FIX, json_lines, named

__all__ = ["Click", "ClickedRanks", "read_clicks"]

_QUOTES = re.compile(r'["\[\]\s]')


class Click(NamedTuple):
    """A line of the log: the clicked document ("" for none), and the documents shown, best first
    (empty if not logged).

    A shown document without an id is "", so that later ones keep their ranks.
    """

    clicked: str
    shown: tuple[str, ...]

    @property
    def rank(self) -> int | None:
        """Return the rank of the clicked document in its list, from 1."""
        return (
            self.shown.index(self.clicked) + 1
            if self.clicked and self.clicked in self.shown
            else None
        )


def read_clicks(block: Block) -> Iterator[Click]:
    """Yield the clicks of a block.

    Raises:
        InputError: a line that is not a JSON object or lacks one of the two fields (numbered).
    """
    for number, record in json_lines(block):
        if not isinstance(record, dict) or not {"DocumentId", "Documents"} <= record.keys():
            found = (
                "one without DocumentId or Documents" if isinstance(record, dict) else named(record)
            )
            raise block.bad_line(
                number,
                wanted="a click: an object with DocumentId and Documents",
                found=found,
                do=FIX,
            )
        try:
            yield Click(_id(record["DocumentId"]), _shown(record["Documents"]))
        except ValueError as error:
            raise block.bad_line(
                number, wanted="ids of documents", found=str(error), do=FIX
            ) from None


def _id(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(named(value))
    return "" if str(value) == "0" else str(value)


def _shown(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = bare.split(",") if (bare := _QUOTES.sub("", value)) else []
    if not isinstance(value, list):
        raise ValueError(named(value))
    shown = tuple(_id(_id(item).partition(":")[0]) for item in value)
    return shown if any(shown) else ()


class ClickedRanks:
    """Counts of the clicked ranks over a log."""

    def __init__(self) -> None:
        self.ranks: Counter[int] = Counter()
        self.records = self.clicks = self.without_list = self.outside = 0

    def add(self, clicks: Iterable[Click]) -> None:
        """Count clicks.

        Raises:
            InputError: from their iterator.
        """
        for click in clicks:
            self.records += 1
            if click.clicked:
                self.clicks += 1
                rank = click.rank
                if rank is not None:
                    self.ranks[rank] += 1
                elif click.shown:
                    self.outside += 1
                else:
                    self.without_list += 1

    def log(self) -> ClickLog:
        """Return the counts and the clicks by rank."""
        ranks = {str(rank): count for rank, count in sorted(self.ranks.items())}
        return ClickLog(self.records, self.clicks, self.without_list, self.outside, ranks)
