"""What to leave out of a collection or training set, and the ledger that says why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

LEFT_OUT = "left_out"  # the folder of ledgers, and what a manifest's content calls their counts
What = Literal["queries", "passages"]
REMOVABLE: tuple[What, ...] = get_args(What)
NAMED_BY = {"queries": "query_id", "passages": "passage_id"}


@dataclass(frozen=True)
class LeftOut:
    """The ids of queries or passages to leave out, each with its reasons (JSON records); ``why`` is
    a sentence for the notes.

    Queries are those of ``split``; a passage goes with its judgements and answers in all splits.
    ``command``, ``settings`` and ``inputs`` go into the manifest: the basis of the removal besides
    the collection itself.
    """

    split: str
    reasons: Mapping[str, Sequence[JsonObject]]
    why: str
    command: str
    settings: JsonObject
    inputs: Sequence[InputRef] = ()
    what: What = "queries"

    @property
    def ledger(self) -> str:
        """The name of the ledger: passages belong to no split."""
        return f"{'passages' if self.what == 'passages' else self.split}.jsonl"

    def line(self, gone: JsonObject) -> JsonObject:
        """Return the ledger's line of a removed record, with its reasons."""
        return {**gone, "reasons": [*self.reasons[str(gone[NAMED_BY[self.what]])]]}

    def stays(self, table: pa.Table, split: str) -> np.ndarray:
        """Return which queries, judgements or answers of a split stay, ``(rows,)``."""
        import numpy as np

        name = NAMED_BY[self.what]
        elsewhere = split != self.split and self.what != "passages"
        if elsewhere or name not in table.column_names:
            return np.ones(len(table), bool)
        ids = table[name].to_pylist()
        return np.fromiter((item not in self.reasons for item in ids), bool, len(table))


def write_ledger(folder: Path, name: str, lines: Iterable[JsonObject]) -> str:
    """Write ``left_out/NAME`` in an unfinished folder, a JSON object a line; return its SHA-256."""
    place = folder / LEFT_OUT / name
    place.parent.mkdir(exist_ok=True)
    with open(place, "w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    return sha256_file(place)
