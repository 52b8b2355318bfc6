"""Shards: how much goes into one, what their checksums are of, and what a broken one says."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.shards import CHECKSUM_MODULUS, rows_checksum, write_shard
from tests.sealing import reseal

from .making import make_collection


def test_a_shard_of_long_passages_ends_early(tmp_path: Path) -> None:
    long = "x" * (6 << 20)  # three of them exceed 16 Mi characters
    made = make_collection(tmp_path / "c", [Passage(f"p{number}", long) for number in range(4)])
    assert [sum(1 for _ in made.shard(index)) for index in range(2)] == [3, 1]


def test_half_a_surrogate_pair_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"passage 'p': wanted text in Unicode; found '\\ud800', half of a surrogate pair",
    ):
        make_collection(tmp_path / "c", [Passage("p", "a\ud800b")])
    with pytest.raises(InputError, match="queries of 'test': wanted text in Unicode"):
        make_collection(tmp_path / "c", [], {"test": ([Query("q", "a\ud800b")], [])})


def test_the_checksum_is_of_the_content_alone(tmp_path: Path) -> None:
    passages = [Passage(f"p{n}", f"text {n}") for n in range(10)]
    queries, qrels = (
        [Query("q1", "a"), Query("q2", "b")],
        [Qrel("q1", "p1", 1), Qrel("q2", "p2", 1)],
    )
    first = make_collection(tmp_path / "a", passages, {"train": (queries, qrels)})
    shuffled = make_collection(
        tmp_path / "b", passages[::-1], {"train": (queries[::-1], qrels[::-1])}
    )
    assert first.checksum == shuffled.checksum
    resharded = tmp_path / "s"
    with create_collection(resharded) as writer:
        writer.add_blocks(list, [passages[:5], passages[5:]])
        writer.add_split("train", queries, qrels)
        writer.finish(
            Manifest(
                "collection",
                "other name",
                "other command",
                settings={"other": 1},
                seed=7,
                provenance={"workers": 4},
            )
        )
    assert Collection(resharded).checksum == first.checksum
    moved = make_collection(
        tmp_path / "c",
        passages,
        {"train": (queries[:1], qrels[:1]), "test": (queries[1:], qrels[1:])},
    )
    assert moved.checksum != first.checksum
    assert (
        moved.manifest.content["passages_checksum"] == first.manifest.content["passages_checksum"]
    )
    edited = make_collection(
        tmp_path / "d", [*passages[:-1], Passage("p9", "text 9.")], {"train": (queries, qrels)}
    )
    assert edited.checksum != first.checksum


def test_the_checksum_is_the_published_sum_of_hashes(tmp_path: Path) -> None:
    def record(*items: bytes) -> int:
        framed = b"".join(len(item).to_bytes(8, "little") + item for item in items)
        return int.from_bytes(blake2b(framed, digest_size=16).digest(), "little")

    passages = [Passage("a", "é"), Passage("b", ""), Passage("c", "x\x00y")]
    wanted = (record(b"a", "é".encode()) + record(b"b", b"") + record(b"c", b"x\x00y")) % (1 << 128)
    assert rows_checksum(passages) == wanted
    assert write_shard(tmp_path / "shard", passages).checksum == wanted
    assert rows_checksum([("q", 3, None)]) == record(b"q", b"3", b"None")


def test_a_missing_or_cut_shard_is_one_line(small_collection: Collection) -> None:
    shard = small_collection.shard_paths[0]
    shard.write_bytes(shard.read_bytes()[:-40])
    reseal(small_collection.path)
    with pytest.raises(
        InputError,
        match=r"00000.arrow: wanted a whole Arrow file; found .*; restore it from a copy, or make",
    ):
        list(Collection(small_collection.path).passages())
    shard.unlink()
    reseal(small_collection.path)
    with pytest.raises(InputError, match="wanted 1 shards, as its manifest says; found 0"):
        list(Collection(small_collection.path).passages())


def test_a_checksum_of_rows_is_that_of_each_row_alone() -> None:
    alike: list[tuple[Any, ...]] = [("a", "ü", 3), ("b", None, -1), ("", [("x", "y")], 10**12)]
    uneven: list[tuple[Any, ...]] = [("a",), ("a", "b"), ("a", "b", "c")]
    for rows in (alike, uneven, [], alike * 3_000):
        assert (
            rows_checksum(iter(rows))
            == sum(rows_checksum([row]) for row in rows) % CHECKSUM_MODULUS
        )
    assert rows_checksum([("ab", "c")]) != rows_checksum([("a", "bc")])
