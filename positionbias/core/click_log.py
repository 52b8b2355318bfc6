"""What a collection's manifest holds of the click log behind its judgements."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import field

__all__ = ["ClickLog", "Source"]


class ClickLog(msgspec.Struct, frozen=True):
    """The manifest's facts about a click log; ``clicked_ranks`` counts clicks by rank."""

    records: int
    clicks: int
    without_list: int = field(name="clicks without a list")
    outside: int = field(name="clicks outside of their list")
    clicked_ranks: Mapping[str, int]


class Source(msgspec.Struct, frozen=True):
    """The origin of a collection's clicks."""

    log: ClickLog | None = None
