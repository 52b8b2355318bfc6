"""The tables of a collection's splits and the manifest's facts about a split, for its readers and
writers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from positionbias.core.schema import Count, Name

__all__ = ["ANSWERS", "KIND", "QRELS", "QUERIES", "SplitFacts"]

KIND = "collection"
QUERIES = pa.schema(
    [
        ("query_id", pa.string()),
        ("text", pa.string()),
        ("fields", pa.map_(pa.string(), pa.string())),
    ]
)
QRELS = pa.schema([("query_id", pa.string()), ("passage_id", pa.string()), ("grade", pa.int32())])
ANSWERS = pa.schema(
    [
        ("query_id", pa.string()),
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """The manifest's facts about a split."""

    queries: Count
    qrels: Count
    answers: Count
    checksum: str
    qrels_sets: Mapping[Name, Count] = field(default_factory=dict)
