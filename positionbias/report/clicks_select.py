"""What the results about a set of training triples are called, and the ranks of clicks as they are shown: later ones together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from positionbias.core.formatting import count
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

__all__ = ["CLICKED", "CLICK_MEASURES", "LENGTHS", "TRIPLES", "Place", "log_sentence", "measured", "shown_ranks"]

TRIPLES, LENGTHS, CLICKED = "training triples", "words of sampled triples", "clicked ranks"
CLICK_MEASURES = (TRIPLES, LENGTHS, CLICKED)
SHOWN = 20  # ranks one by one: a page of TripClick's results; later ranks are put together


class Place(NamedTuple):
    """A rank, or all from it on (``later``), with the clicks there and their share."""

    rank: int
    clicks: int
    share: float
    later: bool = False

    @property
    def name(self) -> str:
        """The rank as a figure marks it."""
        return f"{self.rank}+" if self.later else str(self.rank)


def measured(results: Iterable[Result], measure: str) -> list[tuple[Result, Mapping[str, Any]]]:
    """The results of this measure, each with its rows."""
    return [(r, r.payload.rows) for r in results if r.measure == measure and isinstance(r.payload, Statistics)]


def log_sentence(rows: Mapping[str, Any]) -> str:
    """What the click log holds, and how many of its clicks have no rank."""
    missing = {
        "whose list of results is not in the log": "clicks without a list",
        "on what is not in their list": "clicks outside of their list",
    }
    left_out = " and ".join(f"{count(rows[name])} {words}" for words, name in missing.items() if rows[name])
    held = f"The log has {count(rows['records'])} entries with {count(rows['clicks'])} clicks"
    return f"{held}; without a rank are {left_out}." if left_out else f"{held}."


def shown_ranks(rows: Mapping[str, Any], shown: int = SHOWN) -> list[Place]:
    """Every rank from 1 to the last that was clicked, also those between that nobody clicked; those after ``shown`` as one."""
    clicks = {item["rank"]: item["clicks"] for item in rows["ranks"]}
    total = sum(clicks.values())
    places = [Place(r, clicks.get(r, 0), clicks.get(r, 0) / total) for r in range(1, min(shown, max(clicks)) + 1)]
    if later := sum(count for rank, count in clicks.items() if rank > shown):
        places.append(Place(shown + 1, later, later / total, later=True))
    return places
