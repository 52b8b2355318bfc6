"""Look-ups: any passage by its id, from an index that is the same however it was built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core import collection_index
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
from positionbias.core.seeds import keys64
from positionbias.core.steps import MapShards
from positionbias.engine.local import map_shards
from tests.sealing import reseal

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


def test_ids_with_one_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def colliding(seed: int, purpose: str, keys: Sequence[bytes]) -> np.ndarray:
        # real collisions cannot be had
        return np.where([key in (b"c1", b"c2") for key in keys], 7, keys64(seed, purpose, keys))

    monkeypatch.setattr(collection_index, "keys64", colliding)
    ids = ["a", "c1", "b", "c2", "d"]
    with pytest.raises(InputError, match="passage 2 and passage 4 share the hash of c1 and c2"):
        make_collection(tmp_path / "c", [Passage(item, f"text of {item}") for item in ids])


def test_the_index_is_the_same_wherever_it_is_built(tmp_path: Path) -> None:
    blocks = [[Passage(f"id{at + n}", "") for n in range(70)] for at in range(0, 700, 70)]

    def index(name: str, map_shards: MapShards) -> bytes:
        with create_collection(tmp_path / name) as writer:
            writer.add_blocks(list, blocks, map_shards)
            writer.finish(Manifest("collection", name, "a test"))
        return (tmp_path / name / "ids.arrow").read_bytes()

    assert index("a", map) == index("b", partial(map_shards, workers=2))


@pytest.mark.parametrize("vouched", [False, True])
def test_a_damaged_index_is_refused(small_collection: Collection, vouched: bool) -> None:
    path = small_collection.path / "ids.arrow"
    index = pa.ipc.open_file(path).read_all()
    index = index.set_column(1, "row", [pa.array([7] * 7)])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, index.schema) as writer:
        writer.write(index)
    if vouched:
        reseal(small_collection.path)
    wanted = "rows of the collection" if vouched else "the content that its manifest names"
    with pytest.raises(InputError, match=f"ids.arrow: wanted {wanted}"):
        Collection(small_collection.path).find(["p-word"])
