"""Prepare the ranks of clicks for display, with later ones combined, and describe a click log in
words.
"""

from __future__ import annotations

from typing import NamedTuple

from positionbias.core.formatting import count
from positionbias.results.clicks import ClickedRanks

__all__ = ["Place", "log_sentence", "shown_ranks"]

SHOWN = 20  # ranks shown individually: a page of TripClick's results; later ranks are combined


class Place(NamedTuple):
    """A rank, or all ranks from it on (``later``), with its clicks and their share."""

    rank: int
    clicks: int
    share: float
    later: bool = False

    @property
    def name(self) -> str:
        """Return the rank's label in a figure."""
        return f"{self.rank}+" if self.later else str(self.rank)


def log_sentence(log: ClickedRanks) -> str:
    """Return a sentence with the click log's counts, and those of clicks without a rank."""
    missing = {
        "whose list of results is not in the log": log.without_list,
        "on a document that is not in their list": log.outside,
    }
    left_out = " and ".join(
        f"{count(number)} {words}" for words, number in missing.items() if number
    )
    held = f"The log has {count(log.records)} entries with {count(log.clicks)} clicks"
    return f"{held}; without a rank are {left_out}." if left_out else f"{held}."


def shown_ranks(log: ClickedRanks, shown: int = SHOWN) -> list[Place]:
    """Return every rank from 1 to the last clicked, including ranks without clicks; combine ranks
    after ``shown``.
    """
    clicks = {item.rank: item.clicks for item in log.ranks}
    total = sum(clicks.values())
    places = [
        Place(r, clicks.get(r, 0), clicks.get(r, 0) / total)
        for r in range(1, min(shown, max(clicks)) + 1)
    ]
    if later := sum(count for rank, count in clicks.items() if rank > shown):
        places.append(Place(shown + 1, later, later / total, later=True))
    return places
