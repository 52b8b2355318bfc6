"""Files are whole or absent; a full disk is one clear line; text is read plain and compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from positionbias.core.errors import InputError
from positionbias.core.files import home, open_bytes, read_json, sha256_file
from positionbias.core.publish import write_json


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


COMPRESSORS: list[Callable[[bytes], bytes]] = [
    bytes,
    gzip.compress,
    zstandard.ZstdCompressor().compress,
]


@pytest.mark.parametrize("compress", COMPRESSORS, ids=["plain", "gz", "zst"])
def test_text_is_distinguished_by_its_first_bytes(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    text = "eins\r\nzwei – ☃\n" * 40_000  # more than one buffer; line ends stay as they are
    (tmp_path / "file.txt").write_bytes(compress(text.encode()))
    with open_bytes(tmp_path / "file.txt") as handle:
        assert handle.read().decode() == text
    with open_bytes(tmp_path / "file.txt") as handle:
        assert next(handle) == b"eins\r\n"


def test_joined_zstd_frames_are_read_to_the_end(tmp_path: Path) -> None:
    compressor = zstandard.ZstdCompressor()
    (tmp_path / "file.zst").write_bytes(
        compressor.compress(b"one\n") + compressor.compress(b"") + compressor.compress(b"two\n")
    )
    with open_bytes(tmp_path / "file.zst") as handle:
        assert handle.read() == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "wanted a list; found an empty file"),
        (b" \n", "wanted a list; found an empty file"),
        (
            b'{"a": 1,\n "b"',
            (
                r":2: wanted a list; found Expecting ':' delimiter at column 5; check that the "
                r"file is complete"
            ),
        ),
        (
            b'{"a":\n\n"caf\xe9"}',
            r":3: wanted a list in UTF-8; found the byte 0xe9, which is not; convert the file",
        ),
        (b"[" * 200_000, "wanted a list; found .*recursion"),
        (b"9" * 5_000, "wanted a list; found Exceeds the limit"),
        (
            gzip.compress(b"[1, 2]", mtime=0)[:-2],
            "wanted a list, whole; found Compressed file ended",
        ),
    ],
)
def test_bad_json_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(InputError, match=rf"bad.json.*{message}"):
        read_json(tmp_path / "bad.json", what="a list")


def test_json_goes_round_and_refuses_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"z": [1, None, "é"], "a": 0.1})
    assert read_json(tmp_path / "a.json") == {"z": [1, None, "é"], "a": 0.1}
    assert list(json.loads((tmp_path / "a.json").read_text())) == ["z", "a"]
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(tmp_path / "b.json", float("nan"))
    assert names(tmp_path) == ["a.json"]


def test_sha256_is_the_known_one(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert (
        sha256_file(tmp_path / "abc")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_home_is_the_variable_else_the_users_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("POSBIAS_HOME")
    assert home().name == "posbias"
