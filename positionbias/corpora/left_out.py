"""What to leave out of a collection or training set, and the ledger that says why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["LEFT_OUT", "REMOVABLE", "LeftOut", "Removed", "What", "write_ledger"]

LEFT_OUT = "left_out"  # the folder of ledgers, and what a manifest's content calls their counts
What = Literal["queries", "passages", "judgements"]
REMOVABLE: tuple[What, ...] = get_args(What)


class Removed(NamedTuple):
    """A query, a passage, or, with both ids, the judgement of a passage for a query."""

    query_id: str = ""
    passage_id: str = ""


@dataclass(frozen=True)
class LeftOut:
    """Queries, passages or judgements to leave out, each with its reasons (JSON records); ``why``
    is a sentence for the notes.

    Queries and judgements are those of ``split``; a passage goes with its judgements and answers in
    all splits. ``command``, ``settings`` and ``inputs`` go into the manifest: the basis of the
    removal besides the collection itself.
    """

    split: str
    reasons: Mapping[Removed, Sequence[JsonObject]]
    why: str
    command: str
    settings: JsonObject
    inputs: Sequence[InputRef] = field(default=())
    what: What = "queries"

    @property
    def ledger(self) -> str:
        """The name of the ledger: passages belong to no split."""
        return f"{'passages' if self.what == 'passages' else self.split}.jsonl"

    def queries_stay(self, query_ids: pa.ChunkedArray | pa.Array) -> np.ndarray:
        """Return which of the split's queries stay, ``(queries,)``."""
        return ~_among(query_ids, self._queries)

    def passages_stay(self, passage_ids: pa.ChunkedArray | pa.Array) -> np.ndarray:
        """Return which passages stay, ``(passages,)``."""
        return ~_among(passage_ids, self._passages)

    def judged_stay(self, query_ids: pa.ChunkedArray | pa.Array) -> np.ndarray:
        """Return which queries lose no judgement of those named, ``(queries,)``."""
        return ~_among(query_ids, self._of_judgements)

    def records_stay(self, records: pa.Table | pa.RecordBatch, split: str) -> np.ndarray:
        """Return which judgements or answers of a split stay, ``(records,)``; they have columns
        query_id and passage_id.
        """
        import numpy as np

        query_ids, passage_ids = records.column("query_id"), records.column("passage_id")
        stay = self.passages_stay(passage_ids)
        if split == self.split:
            stay &= self.queries_stay(query_ids)
            if self.what == "judgements":
                rows = np.flatnonzero(~self.judged_stay(query_ids))
                pairs = zip(
                    query_ids.take(rows).to_pylist(),
                    passage_ids.take(rows).to_pylist(),
                    strict=True,
                )
                stay[rows] &= np.array([pair not in self.reasons for pair in pairs], bool)
        return stay

    @cached_property
    def _queries(self) -> pa.Array:
        return self._ids(item.query_id for item in self.reasons if self.what == "queries")

    @cached_property
    def _passages(self) -> pa.Array:
        return self._ids(item.passage_id for item in self.reasons if self.what == "passages")

    @cached_property
    def _of_judgements(self) -> pa.Array:
        return self._ids({item.query_id for item in self.reasons if self.what == "judgements"})

    @staticmethod
    def _ids(ids: Iterable[str]) -> pa.Array:
        import pyarrow as pa

        return pa.array(list(ids), pa.string())


def _among(ids: pa.ChunkedArray | pa.Array, wanted: pa.Array) -> np.ndarray:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_in(ids, value_set=wanted)
    return np.asarray(
        found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy(),
        bool,
    )


def write_ledger(folder: Path, name: str, lines: Iterable[JsonObject]) -> str:
    """Write ``left_out/NAME`` in an unfinished folder, a JSON object a line; return its SHA-256."""
    place = folder / LEFT_OUT / name
    place.parent.mkdir(exist_ok=True)
    with open(place, "w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    return sha256_file(place)
