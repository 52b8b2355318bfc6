"""Passages encoded once, into a file that leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.models.protocols import pad_rows
from positionbias.models.tk import TK
from positionbias.probe.encode import encode_passages

from ..tiny import TINY, collection_of, tiny_tk

WORDS = [f"word{i}" for i in range(15)]
TEXTS = [
    "",
    " ".join(WORDS),
    "word3",
    "word1 unheard word2",
    "  ",
    *(" ".join(WORDS[i : 2 * i]) for i in range(1, 8)),
]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return collection_of(tmp_path / "c", TEXTS)


@pytest.fixture(scope="module")
def model() -> TK:
    return tiny_tk([" ".join(WORDS)] * 2)


@pytest.mark.parametrize("batch_words", [1, 20, 8192])
def test_each_passage_alone_and_in_any_batch(
    collection: Collection, model: TK, batch_words: int
) -> None:
    ids = [f"p{i}" for i in (3, 0, 1, 5, 4, 11)]
    with encode_passages(model, collection, ids, batch_words=batch_words) as encoded:
        assert encoded.passage_ids == ids
        assert encoded.offsets.tolist() == np.cumsum([0, 3, 0, 15, 1, 0, 7]).tolist()
        assert (encoded.terms.dtype, encoded.vectors.dtype) == (np.int32, np.float32)
        assert encoded.vectors.shape == (1, 26, TINY.dimension)
        for number, text in enumerate(collection.texts(ids)):
            rows = slice(encoded.offsets[number], encoded.offsets[number + 1])
            assert encoded.terms[rows].tolist() == model.read_passages([text])[0]
            with torch.no_grad():
                alone = model.passage_vectors(pad_rows([model.read_passages([text])[0]]))[
                    0, : rows.stop - rows.start
                ]
            np.testing.assert_allclose(encoded.vectors[0, rows], alone, atol=1e-5)


def test_passages_at_the_length_limit_are_counted(collection: Collection) -> None:
    short = tiny_tk([" ".join(WORDS)] * 2, config=replace(TINY, passage_length=3))
    with encode_passages(short, collection, collection.passage_ids()) as encoded:
        assert np.diff(encoded.offsets).max() == 3
        assert encoded.truncated == sum(len(text.split()) >= 3 for text in TEXTS)


def test_nothing_to_encode(collection: Collection, model: TK) -> None:
    for ids in ([], ["p0"], ["p0", "p4"]):
        with encode_passages(model, collection, ids) as encoded:
            assert (encoded.offsets.tolist(), encoded.vectors.shape) == (
                [0] * (len(ids) + 1),
                (1, 0, TINY.dimension),
            )


def test_an_unknown_passage(collection: Collection, model: TK) -> None:
    with pytest.raises(InputError, match="wanted passage 'p99' in the collection"):
        encode_passages(model, collection, ["p1", "p99"])


# -- the file --------------------------------------------------------------------------------------


def test_the_file_has_no_name_and_goes_with_the_vectors(
    collection: Collection, model: TK, tmp_path: Path
) -> None:
    place = tmp_path / "vectors"
    place.mkdir()
    with encode_passages(model, collection, collection.passage_ids(), folder=place) as encoded:
        assert isinstance(encoded.vectors, np.memmap)
        assert list(place.iterdir()) == []
        assert place.as_posix() in mapped()
    assert encoded.vectors.shape == (0, 0, 0)
    assert place.as_posix() not in mapped()


def mapped() -> str:
    """What this process has mapped into memory."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("no /proc here to look into")
    return maps.read_text()


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
    ],
)
def test_nothing_is_left_of_an_encoding_that_fails(
    collection: Collection,
    model: TK,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    def fail(numbers: torch.Tensor) -> torch.Tensor:
        raise error

    place = tmp_path / "vectors"
    place.mkdir()
    monkeypatch.setattr(model, "passage_vectors", fail)
    with pytest.raises(type(error)):
        encode_passages(model, collection, ["p1", "p2"], folder=place)
    assert list(place.iterdir()) == []


FULL_DISK = """
import resource, sys
from positionbias.core.collection import Collection
from positionbias.core.errors import StorageError
from positionbias.probe.encode import encode_passages
from tests.tiny import tiny_tk

collection = Collection(sys.argv[1])
collection.rows(["p1"])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # refused as on a full disk, with EFBIG \
for ENOSPC
try:
    encode_passages(tiny_tk([" ".join(f"word{i}" for i in range(15))] * 2), collection, [f"p{i}" \
for i in range(12)])
except StorageError as error:
    print(error)
"""


def test_a_full_disk_is_one_line(collection: Collection, tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    # in a new process: the place of temporary files is chosen once
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, collection.path],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{place}: wanted 1.")  # 49 words of 8 numbers of 4 bytes: 1.57e-06 GB
    assert "GB for the term vectors of " in line
    assert line.endswith(
        "; found: File too large; free some space, set $TMPDIR to a folder with more, or probe "
        "fewer passages (--probe-passages)"
    )
    assert list(place.iterdir()) == []
