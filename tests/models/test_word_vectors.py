"""Word vectors in GloVe's and word2vec's forms and our own: what is kept, what is refused, what is
drawn.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from safetensors.numpy import save_file

from positionbias.core.errors import InputError
from positionbias.models.vector_file import save_vectors
from positionbias.models.wanted_vectors import WordVectors
from positionbias.models.word_vectors import embedding_matrix, read_word_vectors
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

WANTED = {"lamp", "gate", "oil"}
VECTORS = {"the": [9.0, 9.0], "lamp": [1.0, -2.5], "gate": [0.125, 3.0]}
FOUND = {"lamp": [1.0, -2.5], "gate": [0.125, 3.0]}


def glove(vectors: dict[str, list[float]] = VECTORS) -> bytes:
    return "".join(
        f"{word} {' '.join(map(str, values))}\n" for word, values in vectors.items()
    ).encode()


def word2vec(
    vectors: dict[str, list[float]] = VECTORS, *, ending: bytes = b"", count: int | None = None
) -> bytes:
    dimension = len(next(iter(vectors.values())))
    records = [
        word.encode() + b" " + np.array(values, "<f4").tobytes() + ending
        for word, values in vectors.items()
    ]
    return f"{len(vectors) if count is None else count} {dimension}\n".encode() + b"".join(records)


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def read(path: Path, content: bytes | str, dimension: int = 2) -> dict[str, list[float]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return {
        word: vector.tolist()
        for word, vector in read_word_vectors(path, WANTED, dimension).vectors.items()
    }


BINARY = word2vec(ending=b"\n")
FORMS: dict[str, Callable[[], bytes]] = {
    "glove": glove,
    "glove.gz": lambda: gzip.compress(glove()),
    "glove.zst": lambda: zstandard.compress(glove()),
    "glove.zip": lambda: zipped(v_txt=glove()),
    "word2vec": lambda: b"3 2\n" + glove(),
    "word2vec.gz": lambda: gzip.compress(b"3 2\n" + glove()),
    "binary": lambda: BINARY,
    "binary without newlines": word2vec,
    "binary.gz": lambda: gzip.compress(BINARY),
    "binary.zip": lambda: zipped(v_bin=word2vec()),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_content_says_what_a_file_is(tmp_path: Path, form: str) -> None:
    (tmp_path / "v").write_bytes(FORMS[form]())
    found = read_word_vectors(tmp_path / "v", WANTED, 2)
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == FOUND
    assert (found.dimension, found.lines) == (2, 3)
    assert {vector.dtype for vector in found.vectors.values()} == {np.dtype(np.float32)}


def test_our_own_file(tmp_path: Path) -> None:
    save_vectors(tmp_path / "v", list(VECTORS), np.array(list(VECTORS.values())))
    found = read_word_vectors(tmp_path / "v", WANTED, 2)
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == FOUND
    assert found.lines == 3
    save_vectors(tmp_path / "again", list(VECTORS), np.array(list(VECTORS.values())))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "v").read_bytes()
    (tmp_path / "plain").touch()
    assert (tmp_path / "v").stat().st_mode == (
        tmp_path / "plain"
    ).stat().st_mode  # whoever may read other files may read this one
    with pytest.raises(ValueError, match="as many words as vectors"):
        save_vectors(tmp_path / "v", ["one"], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="none with a line break"):
        save_vectors(tmp_path / "v", ["one\ntwo"], np.zeros((1, 2)))


# -- case, spaces, line ends -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "binary", "ours"])
def test_the_lower_cased_entry_wins_else_the_first_with_capitals(tmp_path: Path, form: str) -> None:
    entries = [
        ("Lamp", 1),
        ("lamp", 2),
        ("LAMP", 3),
        ("Gate", 4),
        ("GATE", 5),
        ("lamp", 6),
        ("The", 7),
    ]
    if form == "ours":
        save_vectors(
            tmp_path / "v",
            [word for word, _ in entries],
            np.array([[value, 0] for _, value in entries]),
        )
    elif form == "text":
        (tmp_path / "v").write_text("".join(f"{word} {value} 0\n" for word, value in entries))
    else:
        records = [
            word.encode() + b" " + np.array([value, 0], "<f4").tobytes() for word, value in entries
        ]
        (tmp_path / "v").write_bytes(b"7 2\n" + b"".join(records))
    found = read_word_vectors(tmp_path / "v", WANTED, 2)
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == {
        "lamp": [2, 0],
        "gate": [4, 0],
    }
    assert (found.both, found.cased, found.unreadable, found.lines) == (1, 1, 0, 7)  # lamp; gate
    assert str(found) == (
        "2 words found among 7; 1 also occur with capitals (skipped); 1 occur only with capitals"
    )


def test_a_words_spaces_belong_to_it(tmp_path: Path) -> None:
    text = "lamp . . 8 8\nlamp 1 2\n. . . 5 5\nat name@domain.com 4 4\n"
    assert read(tmp_path / "v.txt", text) == {"lamp": [1, 2]}
    found = read_word_vectors(
        tmp_path / "v.txt", {"lamp . .", "at name@domain.com", "lamp"}, 2
    ).vectors
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "lamp . .": [8, 8], "lamp": [1, 2], "at name@domain.com": [4, 4],
    }  # fmt: skip


def test_words_that_are_not_utf8_are_nobodys_and_counted(tmp_path: Path) -> None:
    assert read(tmp_path / "v", b"lamp 1 2\ngate\xff 1 2\n") == {"lamp": [1, 2]}
    found = read_word_vectors(tmp_path / "v", WANTED, 2)
    assert (found.lines, found.unreadable) == (2, 1)
    assert (
        str(found) == "1 words found among 2; 1 of the file's words are not UTF-8 and were skipped"
    )
    record = np.array([1, 2], "<f4").tobytes()
    (tmp_path / "v").write_bytes(b"2 2\ngate\xff " + record + b"lamp " + record)
    found = read_word_vectors(tmp_path / "v", WANTED, 2)
    assert (list(found.vectors), found.lines, found.unreadable) == (["lamp"], 2, 1)


# -- zips ------------------------------------------------------------------------------------------


def test_the_file_that_a_zip_is_about(tmp_path: Path) -> None:
    wide = b"lamp 1 2 3\n"
    assert read(tmp_path / "v", zipped(README_md=b"hello", v_txt=glove())) == FOUND
    assert read(tmp_path / "v", zipped(a_50d_txt=wide, a_2d_txt=glove())) == FOUND
    assert read(tmp_path / "v", zipped(**{"v_txt": glove(), "__MACOSX/v": b"x"})) == FOUND
    with pytest.raises(
        InputError,
        match=(
            r"v: wanted a zip of one file of word vectors; found a.txt, b.txt; unpack it, and give"
        ),
    ):
        read(tmp_path / "v", zipped(a_txt=glove(), b_txt=glove()))
    with pytest.raises(InputError, match=r"found no file in it"):
        read(tmp_path / "v", zipped())


# -- what cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            b"the 1 2 3\nlamp 1 2 3\n",
            (
                "v:1: wanted a word and 2 numbers; found 3 numbers; give --dimension 3, or a file "
                "of this width"
            ),
        ),
        (
            b"the 1 2\noil 3 4\nlamp 1\n",
            "v:3: wanted a word and 2 numbers; found 1 numbers; fix or drop the line",
        ),
        (
            b"the 1 2\na 3 4\n",
            "v: wanted vectors of the collection's words; found none among 2 words",
        ),
        (
            b"3 2\nlamp 1 2\n",
            "v: wanted 3 words, as its first line says; found the end of the file after 1; fetch",
        ),
        (
            word2vec({"lamp": [1, 2, 3]}),
            "v:1: wanted a word and 2 numbers; found 3 numbers; give --dimension 3",
        ),
        (word2vec(count=2), "found at record 2 more after it"),
        (
            b"3 4\nlamp 1 2 3 4\n",
            "v:1: wanted a word and 2 numbers; found 4 numbers; give --dimension 4",
        ),
        (b"1 2\n" + bytes(20_000), "found at record 1 a word of over 16,384 bytes"),
        (
            b"the 1 2\nlamp x 1\n",
            "v:2: wanted a word and 2 numbers; found a value that is not finite",
        ),
        (
            word2vec({"the": [1, 1], "lamp": [1, np.inf]}),
            "v: .* found a value that is not finite in record 2",
        ),
        (
            gzip.compress(glove())[:-8] + bytes(8),
            "v: wanted word vectors, whole; found",
        ),
        (
            zipped(v_txt=glove())[:-30],
            "v: wanted word vectors, whole; found File is not a zip file; fetch the file again",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_clear_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as stop:
        read(tmp_path / "v", content)
    assert "\n" not in str(stop.value)


def test_a_damaged_zip(tmp_path: Path) -> None:
    content = bytearray(zipped(v_txt=glove() * 5000))
    content[200] ^= 0xFF
    with pytest.raises(InputError, match="v: wanted word vectors, whole; found") as stop:
        read(tmp_path / "v", bytes(content))
    assert "\n" not in str(stop.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.txt: wanted a readable file"):
        read_word_vectors(tmp_path / "none.txt", WANTED, 2)
    with pytest.raises(InputError, match=r"wanted a readable file; found Is a directory"):
        read_word_vectors(tmp_path, WANTED, 2)


def listed(words: str) -> np.ndarray:
    return np.frombuffer(words.encode(), np.uint8)


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        (
            {"weight": np.zeros(3)},
            r"wanted word vectors \(the tensors vectors and words\); found weight; check the path",
        ),
        (
            {"vectors": np.zeros((1, 3), np.float32), "words": listed("lamp")},
            "found 3 numbers; give --dimension 3",
        ),
        (
            {"vectors": np.zeros((1, 2)), "words": listed("lamp")},
            r"found vectors \(1, 2\) F64, words \(4,\) U8",
        ),
        (
            {"vectors": np.zeros((1, 2), np.float32), "words": np.array([255], np.uint8)},
            "wanted words in UTF-8",
        ),
        (
            {"vectors": np.zeros((2, 2), np.float32), "words": listed("lamp")},
            "wanted 2 words for as many vectors; found 1",
        ),
        (
            {"vectors": np.full((1, 2), np.nan, np.float32), "words": listed("lamp")},
            "not finite in record 1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_clear_line_about_our_own_file(
    tmp_path: Path, tensors: dict[str, np.ndarray], complaint: str
) -> None:
    save_file(tensors, tmp_path / "v")
    with pytest.raises(InputError, match=complaint) as stop:
        read_word_vectors(tmp_path / "v", WANTED, 2)
    assert "\n" not in str(stop.value)


# -- any content -----------------------------------------------------------------------------------


def test_the_matrix() -> None:
    vocabulary = Vocabulary.build(
        Counter({f"w{i}": 2 for i in range(3000)} | {"lamp": 9, "gate": 9})
    )
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
    # a word that nobody knows does not lend its vector to the unknown row
    assert matrix[UNKNOWN].tolist() != lamp.tolist()
    np.testing.assert_array_equal(matrix, embedding_matrix(vocabulary, given, seed=1))
    assert not np.array_equal(matrix, embedding_matrix(vocabulary, given, seed=2))
