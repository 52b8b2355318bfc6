"""Rows read together say what they say one by one, whatever stands in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core import collection_writer
from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.shards import read_shard
from positionbias.formats.table_values import RowCounts, read_rows

TEXT = st.sampled_from(
    ["The lamp burns oil.", "oil", "Ö oil ö", "", " ", "a b", "half \ud800", "7", "1.0", "dev"]
)
NESTED = [
    ["oil", "lamp"],
    [],
    [0, 3],
    [5, 900],
    {"text": ["oil"], "answer_start": [15]},
    {"text": []},
    {"start": 4, "end": 8},
]
OTHER = st.sampled_from([None, None, 0, 1, -1, 2.0, 2.5, True, float("nan"), 10**12, *NESTED])
ROW = st.fixed_dictionaries(
    {"passage": st.one_of(st.just("The lamp burns oil."), TEXT, OTHER)},
    optional={
        name: st.one_of(TEXT, OTHER)
        for name in ("query", "answer", "answer_start", "passage_id", "query_id", "split", "deep")
    }
    | {"label": st.one_of(st.sampled_from(["", " ", "7", "1.0", " 2"]), OTHER)},
)


def read(rows: list[dict[str, Any]], size: int) -> tuple[list[Any], RowCounts]:
    counts, results = RowCounts(), []
    names = dict.fromkeys(["passage", *(name for row in rows for name in row)])
    names.pop("deep", None)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        values = {name: [row.get(name) for row in part] for name in names}
        frame = pd.DataFrame(values, range(start + 1, start + len(part) + 1), dtype=object)
        found = read_rows(frame, counts, place="rows", split="test")
        results += [
            (row[0], *row[1:-1], list(row[-1])) for row in found.itertuples(name=None, index=True)
        ]
    return results, counts


@given(st.lists(ROW, min_size=1, max_size=80))
def test_a_batch_says_what_its_rows_say(rows: list[dict[str, Any]]) -> None:
    assert read(rows, len(rows)) == read(rows, 1)


def test_few_rows_that_do_not_fit_leave_the_others_in_order() -> None:
    rows: list[dict[str, Any]] = [
        {"passage": f"Text {n}.", "query": f"q {n}", "answer": "Text"} for n in range(5_000)
    ]
    rows[70]["passage"], rows[71]["answer"], rows[4_000]["query"] = None, [3, 99], ["several"]
    found, counts = read(rows, 5_000)
    assert [row[0] - 1 for row in found] == [n for n in range(5_000) if n not in (70, 71, 4_000)]
    assert counts.first == {
        "no passage": "rows 71",
        "answer: offsets outside the passage": "rows 72",
        "query: not a text": "rows 4,001",
    }


def test_lists_within_lists_are_counted() -> None:
    deep: Any = "oil"
    for _ in range(100_000):
        deep = [deep]
    rows = [{"passage": "oil", "query": "q", "answer": deep}, {"passage": "oil", "query": "q"}]
    found, counts = read(rows, 2)
    assert (len(found), counts.left_out) == (1, {"lists within lists": 1})


def test_a_shard_ends_with_the_batch_that_fills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_writer, "SHARD_PASSAGES", 8)
    monkeypatch.setattr(collection_writer, "SHARD_BYTES", 40)
    writer = CollectionWriter(tmp_path, tmp_path)
    long = [b"o" * 41]
    sizes = [5, 5, 0, 3, 0]
    batches = [([b"id"] * size, [b"text"] * size) for size in sizes]
    writer.add_texts([*batches, ([b"id"], long), ([b"id"], long)])
    shards = sorted((tmp_path / "passages").iterdir())
    # 5 + 5 of 8 passages; 3 and a long one of 40 bytes; the last
    assert [len(read_shard(path)) for path in shards] == [10, 4, 1]
