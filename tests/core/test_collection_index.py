"""Look-ups: any passage by its id, from an index that is the same however it was built."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core import collection_index
from positionbias.core.collection import Collection
from positionbias.core.collection_index import id_hashes
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage
from positionbias.core.shards import read_shard
from positionbias.core.steps import MapShards
from positionbias.engine.local import map_shards

from .making import make_collection


def test_texts_come_in_the_order_asked_for_and_may_repeat(small_collection: Collection) -> None:
    assert small_collection.texts(["p-word", "p-empty", "p-word"]) == ["Mirren", "", "Mirren"]
    assert small_collection.texts([]) == []


def test_texts_are_found_across_batches_and_in_long_ones(tmp_path: Path) -> None:
    # 4,096 passages end a batch, and so do 4 MiB of text: here after passage 10
    texts = [f"é{number}" for number in range(9_000)]
    texts[10] = "long " * (1 << 20)
    made = make_collection(
        tmp_path / "c", [Passage(f"p{number}", text) for number, text in enumerate(texts)]
    )
    assert [len(batch) for batch in read_shard(made.shard_paths[0]).to_batches()] == [
        11,
        4_096,
        4_096,
        797,
    ]
    numbers = [0, 10, 11, 4_106, 4_107, 8_202, 8_203, 8_999, 10]
    assert made.texts([f"p{number}" for number in numbers]) == [texts[number] for number in numbers]
    assert [passage.text for passage in made.passages()] == texts


def test_an_id_that_is_not_unicode_is_unknown(small_collection: Collection) -> None:
    assert small_collection.find(["\ud800", "p-word"]).tolist() == [-1, 6]


@settings(max_examples=8)
@given(
    st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=40),
    st.sets(st.text(), max_size=10),
)
def test_any_ids_are_found_and_others_are_not(
    tmp_path_factory: pytest.TempPathFactory, ids: set[str], others: set[str]
) -> None:
    ordered = sorted(ids)
    made = make_collection(
        tmp_path_factory.mktemp("ids") / "c", [Passage(item, f"of {item}") for item in ordered]
    )
    assert made.find(ordered).tolist() == list(range(len(ordered)))
    assert made.texts(ordered[::-1]) == [f"of {item}" for item in ordered[::-1]]
    assert made.absent(sorted(others)) == sorted(others - ids)


def test_the_index_is_the_same_however_it_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [Passage(f"id{number}", "") for number in range(5_000)]

    def index(name: str, merged: int, map_shards: MapShards) -> list[bytes]:
        monkeypatch.setattr(collection_index, "MERGED_RECORDS", merged)
        with create_collection(tmp_path / name) as writer:
            writer.add_blocks(
                list, [passages[at : at + 700] for at in range(0, 5_000, 700)], map_shards
            )
            writer.finish(Manifest("collection", name, "a test"))
        folder = tmp_path / name / "cache" / "passages"
        assert sorted(path.name for path in folder.iterdir()) == [
            "buckets.npy",
            "manifest.json",
            "records.npy",
        ]
        return [(folder / name).read_bytes() for name in ("buckets.npy", "records.npy")]

    at_once = index("a", 1 << 20, map)
    assert index("b", 100, map) == at_once
    assert index("c", 1, partial(map_shards, workers=2)) == at_once
    monkeypatch.setattr(collection_index, "MERGED_RECORDS", 100)
    with pytest.raises(InputError, match="passage 3 and passage 4,002 share the id 'id2'"):
        make_collection(tmp_path / "d", [*passages[:4_001], passages[2]])


def test_a_collection_that_was_read_can_go_to_another_process(small_collection: Collection) -> None:
    small_collection.texts(["p-word"])
    assert list(
        map_shards(partial(Collection.texts, small_collection), [["p-word"]], workers=2)
    ) == [["Mirren"]]


def test_an_unknown_id_is_named_and_counted(small_collection: Collection) -> None:
    assert small_collection.find(["p-word", "nobody", ""]).tolist() == [6, -1, -1]
    with pytest.raises(InputError, match=r"wanted passage 'nobody'.*2 of 3 ids are unknown"):
        small_collection.rows(["p-word", "nobody", "nothing"])


def test_70_000_passages_stand_in_two_shards_and_are_found_by_id(tmp_path: Path) -> None:
    count = 70_000
    made = make_collection(
        tmp_path / "big", [Passage(f"id{number}", f"text {number}") for number in range(count)]
    )
    assert [path.name for path in made.shard_paths] == ["00000.arrow", "00001.arrow"]
    assert sum(1 for _ in made.shard(0)) == 65_536
    assert sum(1 for _ in made.shard(1)) == 4_464  # 70,000 − 65,536
    assert len(made) == count
    numbers = [*random.Random(1).sample(range(count), 500), 0, 65_535, 65_536, count - 1]
    assert made.rows([f"id{number}" for number in numbers]).tolist() == numbers
    assert made.texts([f"id{number}" for number in numbers]) == [
        f"text {number}" for number in numbers
    ]
    assert made.find([f"id{count}", "id-1"]).tolist() == [-1, -1]


def test_ids_with_one_first_half_of_their_hash_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Real 64-bit collisions cannot be had, so every id starting with "c" is given the same first
    # half: the highest there is, so that the look at the next neighbour also meets the end of the
    # index.
    def colliding(ids: Sequence[bytes]) -> np.ndarray:
        hashes = id_hashes(ids).copy()
        hashes[[item.startswith(b"c") for item in ids], 0] = np.iinfo(np.uint64).max
        return hashes

    monkeypatch.setattr(collection_index, "id_hashes", colliding)
    ids = ["a", "c1", "b", "c2", "c3", "d"]
    made = make_collection(tmp_path / "c", [Passage(item, f"text of {item}") for item in ids])
    assert made.texts(["c3", "a", "c1", "c2", "d"]) == [
        f"text of {item}" for item in ("c3", "a", "c1", "c2", "d")
    ]
    assert made.find(["c4", "c2", "e"]).tolist() == [-1, 3, -1]


@pytest.mark.parametrize("between", [0, 3, 70_000])
def test_an_id_twice_is_refused_within_and_across_shards(tmp_path: Path, between: int) -> None:
    passages = [
        Passage("twin", "a"),
        *(Passage(f"p{n}", "x") for n in range(between)),
        Passage("twin", "b"),
    ]
    with pytest.raises(
        InputError, match=rf"passage 1 and passage {between + 2:,} share the id 'twin'"
    ):
        make_collection(tmp_path / "twice", passages)
    assert list(tmp_path.iterdir()) == []


def test_the_index_is_rebuilt_when_it_is_gone(small_collection: Collection) -> None:
    import shutil

    shutil.rmtree(small_collection.cache)
    assert Collection(small_collection.path).texts(["p-word"]) == ["Mirren"]
    records = small_collection.cache / "passages" / "records.npy"
    records.write_bytes(records.read_bytes()[:-8])
    assert Collection(small_collection.path).texts(["p-word"]) == ["Mirren"]


def test_an_index_that_nothing_vouches_for_is_rebuilt(small_collection: Collection) -> None:
    wanted = small_collection.texts(small_collection.passage_ids())
    folder = small_collection.path / "cache" / "passages"
    (folder / "manifest.json").unlink()
    records = np.load(folder / "records.npy")
    np.save(folder / "records.npy", np.column_stack([records[:, :2], np.roll(records[:, 2], 1)]))
    assert Collection(small_collection.path).texts(small_collection.passage_ids()) == wanted


def test_an_index_is_named_for_its_place(small_collection: Collection) -> None:
    small_collection.find(["p"])
    assert read_manifest(small_collection.path / "cache" / "passages").name == "passages"
