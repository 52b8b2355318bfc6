"""What a row's values say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.core import collection_writer
from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.shards import read_shard
from positionbias.formats.table_values import MisfitError, RowCounts, read_row


def test_lists_within_lists_do_not_fit() -> None:
    deep: Any = "oil"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(MisfitError, match="lists within lists"):
        read_row({"passage": "oil", "query": "q", "answer": deep}, RowCounts(), "test", {})


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
