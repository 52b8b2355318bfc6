"""``posbias vectors``: as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.manifest import read_manifest
from positionbias.models.word_vectors import read_word_vectors
from tests.commands import posbias
from tests.tiny import collection_of, tiny_encoder

TEXTS = [
    "the green lamp burns oil in the hall",
    "the iron gate of stone is green",
    "water and oil and the lamp",
    "gate hall iron",
]


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    one, two = (
        collection_of(tmp_path / "one", TEXTS),
        collection_of(tmp_path / "two", ["the stone is green", "the water is green"]),
    )
    return [str(one.path), str(two.path), "--encoder", str(tiny_encoder(tmp_path / "encoder"))]


def test_distil(places: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "v.safetensors"
    code, out, err = posbias(
        capsys, "model", "vectors", *places, "--dimension", 4, "--set", "threads=1", "--out", place
    )
    assert code == 0, err
    # twice or more: the green lamp oil hall iron gate stone is water and
    # too rare: burns in of
    assert out == "one+two: 11 words, 4 numbers a word, 3 words too rare\n"
    assert f"--word-vectors {place}" in err
    assert len(read_word_vectors(place, ["stone", "lamp", "burns"], 4).vectors) == 2
    assert [item.role for item in read_manifest(place).inputs] == [
        "encoder",
        "collection",
        "collection",
    ]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ((), "--dimension: wanted at most 16, the width of "),
        (("--dimension", 11), "--dimension: wanted fewer than the 11 words"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_line_and_exit_code_2(
    places: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[object, ...],
    complaint: str,
) -> None:
    code, out, err = posbias(
        capsys, "model", "vectors", *places, *more, "--out", tmp_path / "v.safetensors"
    )
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert complaint in err
    assert not (tmp_path / "v.safetensors").exists()
