"""A head of which numpy says in Python's own words that it is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.dense.vector_blocks import stored_blocks

from ..sealing import reseal


def break_head(path: Path) -> None:
    data = path.read_bytes()
    assert data.count(b"}") >= 1
    path.write_bytes(data.replace(b"}", b" ", 1))  # its bracket is never closed


def test_vectors_whose_head_is_not_closed_are_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2), np.float32))
    break_head(tmp_path / "v.npy")
    with pytest.raises(
        InputError, match="wanted vectors as .npy; found a head that cannot be read"
    ):
        list(stored_blocks([tmp_path / "v.npy"]))


@pytest.mark.parametrize("name", ["rows.npy", "hashes.npy"])
def test_an_index_whose_head_is_not_closed_is_built_anew(
    small_collection: Collection, name: str
) -> None:
    folder = small_collection.path / "cache" / "passages"
    ids = small_collection.passage_ids()
    whole = (folder / name).read_bytes()
    break_head(folder / name)
    reseal(folder)
    assert Collection(small_collection.path).rows(ids).tolist() == list(range(len(ids)))
    assert (folder / name).read_bytes() == whole
