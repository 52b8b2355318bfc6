"""A head of which numpy says in Python's own words that it is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.dense.vector_blocks import stored_blocks


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
