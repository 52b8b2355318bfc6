"""What a change of passages does to each query: ids and figures of one system, and no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["BY_QUERY", "QueryEffects"]

BY_QUERY = "effects by query"
_MOVED = "moved: "  # begins the name of a column of ``moved``


@dataclass(frozen=True, slots=True)
class QueryEffects:
    """One entry a query in each column; saved as Parquet beside the JSON. None: does not apply, or
    was not measured.

    ``places`` is the answer's relative position in the passage as it is, in [0, 1], ``words`` the
    passage's length. ``before`` and ``after`` are values of ``quality`` and the ranks of the
    passage, with all passages as they are and rotated once. ``moved`` has each contrast of a
    manipulation, as shares of the evidence's mean worth (without answers: in mean deviations of a
    query's candidates' scores).
    """

    quality: str
    query_ids: Sequence[str] = ()
    passage_ids: Sequence[str] = ()
    places: Sequence[float | None] = ()
    words: Sequence[int] = ()
    before: Sequence[float | None] = ()
    after: Sequence[float | None] = ()
    ranks_before: Sequence[int | None] = ()
    ranks_after: Sequence[int | None] = ()
    moved: Mapping[str, Sequence[float | None]] = field(default_factory=dict)

    @property
    def changes(self) -> list[float | None]:
        """The change of the quality by rotation."""
        pairs = zip(self.before, self.after, strict=True)
        return [
            None if before is None or after is None else after - before for before, after in pairs
        ]

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return every column by its name in Parquet."""
        own = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("quality", "moved")
        }
        return {**own, **{f"{_MOVED}{name}": column for name, column in self.moved.items()}}

    @staticmethod
    def of_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the fields that ``columns`` wrote."""
        own = {name: column for name, column in columns.items() if not name.startswith(_MOVED)}
        moved = {
            name.removeprefix(_MOVED): column
            for name, column in columns.items()
            if name.startswith(_MOVED)
        }
        return {**own, "moved": moved}
