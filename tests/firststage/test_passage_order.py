"""The stored order of passages: its checksum, places by id, ids of rows; all independent of
shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
from positionbias.core.shards import Shard, write_shard
from positionbias.firststage.passage_order import StoredIds, order_checksum, places_by_id


def write(ids: Sequence[str], path: Path) -> Shard:
    return write_shard(path, (Passage(passage_id, "text") for passage_id in ids))


def collection_of(path: Path, shards: Sequence[Sequence[str]]) -> Collection:
    with create_collection(path) as writer:
        for _ in writer.add_shards(Shard, write, shards):
            pass
        writer.finish(Manifest("collection", "order", "a test"))
    return Collection(path)


def test_places_are_those_of_the_ids_in_descending_order(tmp_path):
    # code points decide: "9" > "10" > "1" and "é" > "z" > "a"
    collection = collection_of(tmp_path / "c", [["1", "z", "10"], [], ["é", "9", "a"], ["😀"]])
    # descending: 😀 é z a 9 10 1
    assert places_by_id(collection).tolist() == [6, 2, 5, 1, 4, 3, 0]


def test_ids_of_rows(tmp_path):
    ids = [["a", "b"], [], ["c"], ["d", "e", "f"]]
    stored = StoredIds(collection_of(tmp_path / "c", ids))
    assert len(stored) == 6
    assert stored.of(np.array([5, 0, 2, 0, 3])) == ["f", "a", "c", "a", "d"]
    assert stored.of(np.empty(0, np.int64)) == []


def test_the_checksum_tells_the_order_and_where_an_id_ends(tmp_path):
    def checksum(name: str, *shards: list[str]) -> str:
        return order_checksum(collection_of(tmp_path / name, shards))

    expected = checksum("one", ["ab", "c", "d"])
    assert checksum("two", ["ab"], [], ["c", "d"]) == expected
    others = {
        checksum("a", ["c", "ab", "d"]),
        checksum("b", ["a", "bc", "d"]),
        checksum("c", ["ab", "c"]),
        checksum("d", ["abcd"]),
    }
    assert len(others | {expected}) == 5


@pytest.mark.parametrize("shards", [[], [[]]])
def test_no_passages(tmp_path, shards):
    collection = collection_of(tmp_path / "c", shards)
    assert places_by_id(collection).tolist() == []
    assert len(StoredIds(collection)) == 0
    assert len(order_checksum(collection)) == 32
