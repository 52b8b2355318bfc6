"""Word vectors in GloVe's and word2vec's text forms: what is kept, what is refused, what is drawn."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.models.word_vectors import WordVectors, embedding_matrix, read_word_vectors
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

WANTED = {"lamp", "gate", "oil"}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, dimension: int = 2) -> dict[str, list[float]]:
    return {word: vector.tolist() for word, vector in read_word_vectors(path, WANTED, dimension).vectors.items()}


def test_glove_text(tmp_path: Path) -> None:
    found = read_word_vectors(written(tmp_path / "v.txt", "the 9 9\nlamp 1 -2.5\ngate 1e-1 3\n"), WANTED, 2)
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == {
        "lamp": [1, -2.5], "gate": [pytest.approx(0.1), 3],
    }  # fmt: skip
    assert (found.dimension, found.lines) == (2, 3)
    assert found.vectors["lamp"].dtype == np.float32


def test_word2vec_header_is_no_word(tmp_path: Path) -> None:
    assert read(written(tmp_path / "v.txt", "2 2\nlamp 1 2\ngate 3 4\n")) == {"lamp": [1, 2], "gate": [3, 4]}


def test_the_lower_cased_line_wins_else_the_first(tmp_path: Path) -> None:
    text = "Lamp 1 1\nlamp 2 2\nLAMP 3 3\nGate 4 4\nGATE 5 5\nlamp 6 6\n"
    assert read(written(tmp_path / "v.txt", text)) == {"lamp": [2, 2], "gate": [4, 4]}


@pytest.mark.parametrize("ending", ["\n", "\r\n", " \n"])
def test_line_endings(tmp_path: Path, ending: str) -> None:
    (tmp_path / "v.txt").write_bytes(f"lamp 1 2{ending}gate 3 4{ending}".encode())
    assert read(tmp_path / "v.txt") == {"lamp": [1, 2], "gate": [3, 4]}


def test_compressed(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "v.txt.gz", "wt") as handle:
        handle.write("lamp 1 2\n")
    assert read(tmp_path / "v.txt.gz") == {"lamp": [1, 2]}


def test_words_with_spaces_are_nobodys(tmp_path: Path) -> None:
    assert read(written(tmp_path / "v.txt", "lamp . . 8 8\nlamp 1 2\n")) == {"lamp": [1, 2]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "the 1 2 3\nlamp 1 2 3\n",
            "v.txt:2: wanted a word and 2 numbers; found 3 values; give a file of this width, or --dim",
        ),
        ("the 1 2\nlamp 1\n", "v.txt:2: wanted a word and 2 numbers; found 1 values"),
        ("lamp\n", "v.txt:1: wanted a word and 2 numbers; found 1 values"),
        ("lamp 1 x\n", "v.txt:1: wanted a word and 2 numbers; found a value that is no finite number"),
        ("gate 1 2\nlamp nan 1\n", "v.txt:2: .* no finite number"),
        ("lamp 1 inf\n", "v.txt:1: .* no finite number"),
        ("the 1 2\na 3 4\n", "v.txt: wanted vectors of the collection's words; found none in 2 lines"),
        ("", "found none in 0 lines"),
    ],
)
def test_one_clear_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as stop:
        read(written(tmp_path / "v.txt", text))
    assert "\n" not in str(stop.value)


def test_not_text_or_not_whole(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"lamp 1 2\ngate\xff 1 2\n")
    with pytest.raises(InputError, match="v.txt:2: wanted word vectors in UTF-8; found the byte 0xff"):
        read(tmp_path / "v.txt")
    packed = gzip.compress(b"lamp 1 2\n" + bytes(map(ord, "the 1 2\n")) * 1000)
    (tmp_path / "v.gz").write_bytes(packed[:-12])
    with pytest.raises(InputError, match="v.gz: wanted word vectors, whole"):
        read(tmp_path / "v.gz")
    with pytest.raises(InputError, match="none.txt: wanted a readable file"):
        read(tmp_path / "none.txt")


def test_the_matrix() -> None:
    vocabulary = Vocabulary.build(Counter({f"w{i}": 2 for i in range(3000)} | {"lamp": 9, "gate": 9}))
    lamp, gate = np.array([1.0, 2.0, 3.0], np.float32), np.array([3.0, 4.0, 5.0], np.float32)
    given = WordVectors({"lamp": lamp, "gate": gate, "stranger": lamp}, 3, 3)
    matrix = embedding_matrix(vocabulary, given, seed=1)
    assert matrix.shape == (len(vocabulary), 3)
    assert matrix.dtype == np.float32
    assert matrix[0].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(matrix[vocabulary.number("lamp")], lamp)
    np.testing.assert_array_equal(matrix[vocabulary.number("gate")], gate)
    # the rest has the mean and deviation of all that was loaded: 1, 2, 3, 3, 4, 5, 1, 2, 3
    values = np.array([1, 2, 3, 3, 4, 5, 1, 2, 3])
    drawn = matrix[4:]
    assert drawn.mean() == pytest.approx(values.mean(), abs=0.05)
    assert drawn.std() == pytest.approx(values.std(), abs=0.05)
    assert matrix[UNKNOWN].tolist() != lamp.tolist()  # a word that nobody knows does not lend its vector to the unknown row
    np.testing.assert_array_equal(matrix, embedding_matrix(vocabulary, given, seed=1))
    assert not np.array_equal(matrix, embedding_matrix(vocabulary, given, seed=2))
