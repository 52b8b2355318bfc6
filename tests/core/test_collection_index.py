"""Look-ups: any passage by its id, from an index that is the same however it was built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core import collection_index
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage
from positionbias.core.seeds import keys64
from positionbias.core.steps import MapShards
from positionbias.engine.local import map_shards

from .making import make_collection


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


def test_an_unknown_id_is_named_and_counted(small_collection: Collection) -> None:
    assert small_collection.find(["p-word", "nobody", ""]).tolist() == [6, -1, -1]
    with pytest.raises(InputError, match=r"wanted passage 'nobody'.*2 of 3 ids are unknown"):
        small_collection.rows(["p-word", "nobody", "nothing"])


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


def test_ids_with_one_hash_are_hashed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def colliding(seed: int, purpose: str, keys: Sequence[bytes]) -> np.ndarray:
        hashes = keys64(seed, purpose, keys).copy()
        if seed == 0:  # real collisions cannot be had
            hashes[[key.startswith(b"c") for key in keys]] = np.iinfo(np.uint64).max
        return hashes

    monkeypatch.setattr(collection_index, "keys64", colliding)
    ids = ["a", "c1", "b", "c2", "c3", "d"]
    made = make_collection(tmp_path / "c", [Passage(item, f"text of {item}") for item in ids])
    assert made.find(["c3", "a", "c4", "c2", "e"]).tolist() == [4, 0, -1, 3, -1]
    assert read_manifest(made.cache / "passages").content["seed"] == 1


def test_the_index_is_the_same_wherever_it_is_built(tmp_path: Path) -> None:
    blocks = [[Passage(f"id{at + n}", "") for n in range(70)] for at in range(0, 700, 70)]

    def index(name: str, map_shards: MapShards) -> list[bytes]:
        with create_collection(tmp_path / name) as writer:
            writer.add_blocks(list, blocks, map_shards)
            writer.finish(Manifest("collection", name, "a test"))
        folder = tmp_path / name / "cache" / "passages"
        return [(folder / file).read_bytes() for file in ("hashes.npy", "rows.npy")]

    assert index("a", map) == index("b", partial(map_shards, workers=2))


@pytest.mark.parametrize("file", ["hashes.npy", "rows.npy", "manifest.json"])
def test_a_damaged_index_is_built_again(small_collection: Collection, file: str) -> None:
    wanted = small_collection.find(["p-word", "p-lamp", "none"]).tolist()
    path = small_collection.cache / "passages" / file
    path.write_bytes(path.read_bytes()[:-8])
    assert Collection(small_collection.path).find(["p-word", "p-lamp", "none"]).tolist() == wanted
    path.unlink()
    assert Collection(small_collection.path).find(["p-word", "p-lamp", "none"]).tolist() == wanted
