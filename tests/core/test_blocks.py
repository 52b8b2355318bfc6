"""Blocks: whole lines, cut alike however the text is packed; what is not text is named by its line
and byte.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.blocks import Block, file_blocks, file_lines, stream_blocks
from positionbias.core.errors import InputError

PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": zstandard.ZstdCompressor().compress,
}
packings = pytest.mark.parametrize("packing", PACK)


def packed(folder: Path, data: bytes, packing: str) -> Path:
    path = folder / f"file.{packing}"
    path.write_bytes(PACK[packing](data))
    return path


def lines_of(blocks: list[Block]) -> list[tuple[int, str]]:
    """Every line with its number in the source, from 1."""
    return [(block.line_number(number), line) for block in blocks for number, line in block.lines()]


@packings
def test_blocks_end_with_the_line_that_fills_them(tmp_path: Path, packing: str) -> None:
    # bytes: "one\n" is 0..4, "three\n" 4..10, "\n" 10..11, "vier" 11..15
    path = packed(tmp_path, b"one\nthree\n\nvier", packing)
    for size, ends in (
        (1, [4, 10, 11, 15]),
        (4, [4, 10, 15]),
        (5, [10, 15]),
        (7, [10, 15]),
        (11, [11, 15]),
        (99, [15]),
    ):
        blocks = list(file_blocks(path, size))
        assert [block.end for block in blocks] == ends
        assert [block.start for block in blocks] == [0, *ends[:-1]]
        assert [block.index for block in blocks] == list(range(len(ends)))
        assert b"".join(block.read() for block in blocks) == b"one\nthree\n\nvier"
        assert lines_of(blocks) == [(1, "one"), (2, "three"), (3, ""), (4, "vier")]


class Dribble(io.RawIOBase):
    """A stream that gives fewer bytes than it is asked for, as a socket does."""

    def __init__(self, data: bytes, counts: list[int]) -> None:
        self.rest, self.counts = data, counts

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        count = min(size, self.counts.pop() if self.counts else 3)
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


@given(
    text=st.text(st.sampled_from("ab\n\r\0\t\x85\u2028é漢\ufeff"), max_size=60),
    size=st.integers(1, 70),
    counts=st.lists(st.integers(1, 9), max_size=60),
)
def test_file_compressed_file_and_stream_are_cut_alike(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, counts: list[int]
) -> None:
    data, folder = text.encode(), tmp_path_factory.mktemp("alike")
    wanted = [
        (block.index, block.start, block.end, block.read())
        for block in file_blocks(packed(folder, data, "plain"), size)
    ]
    others = [list(file_blocks(packed(folder, data, packing), size)) for packing in ("gz", "zst")]
    others.append(list(stream_blocks(Dribble(data, counts), "standard input", size)))
    for blocks in others:
        assert [(block.index, block.start, block.end, block.read()) for block in blocks] == wanted
    assert b"".join(part for *_, part in wanted) == data
    assert all(part.endswith(b"\n") and len(part) >= size for *_, part in wanted[:-1])
    for *_, part in wanted[:-1]:
        assert part[:-1].find(b"\n", size - 1) < 0  # cut at the first chance
    # the same lines as Python's own splitting at \r\n and \n, and only there
    expected = re.split("\r?\n", text.removeprefix("\ufeff"))
    lines = lines_of(others[0])
    assert [line for _, line in lines] == (expected[:-1] if expected[-1] == "" else expected)
    assert [number for number, _ in lines] == list(range(1, len(lines) + 1))


@packings
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_the_line_budget_is_exact_whatever_the_block_size(
    tmp_path: Path, packing: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path, b"a\n123456\n12345678\nb", packing)
    monkeypatch.setenv("POSBIAS_MAX_LINE", "8")
    assert [line for _, line in file_lines(path)] == ["a", "123456", "12345678", "b"]
    monkeypatch.setenv("POSBIAS_MAX_LINE", "7")
    with pytest.raises(InputError, match=r":3: wanted at most 7 bytes a line"):
        list(file_lines(path))


@packings
@pytest.mark.parametrize("size", [1, 9, 10, 1_000])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
def test_what_is_not_utf8_is_named_by_its_line_and_byte(
    tmp_path: Path, packing: str, size: int, mark: bytes
) -> None:
    path = packed(tmp_path, mark + b"one\n\ntwo\nna\xefve caf\xe9\nend\n", packing)
    with pytest.raises(InputError) as caught:
        lines_of(list(file_blocks(path, size)))
    assert (
        str(caught.value)
        == f"{path}:4: wanted text in UTF-8; found the byte 0xef, which is not; convert the file"
    )


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_compressed_file_that_was_cut_is_one_clear_line(
    tmp_path: Path, packing: str, size: int
) -> None:
    path = packed(tmp_path, b"".join(b"%d\n" % number for number in range(50_000)), packing)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(
        InputError, match=r"wanted a compressed file, whole; found .*; fetch the file again"
    ):
        list(file_blocks(path, size))


def test_no_such_file_and_a_folder_are_one_clear_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match="wanted a readable file; found"):
            list(file_blocks(path))


def test_a_file_that_goes_or_shrinks_under_the_reader_is_one_clear_line(tmp_path: Path) -> None:
    path = packed(tmp_path, b"a\nb\n", "plain")
    block = list(file_blocks(path, 1))[1]
    path.write_bytes(b"a\n")
    with pytest.raises(
        InputError,
        match="wanted a file that stays as it is; found one that became shorter; run again",
    ):
        block.read()
    path.unlink()
    with pytest.raises(
        InputError, match=r"file\.plain: wanted a readable file; found No such file or directory"
    ):
        block.read()


@packings
def test_a_block_is_told_by_its_place_and_content(tmp_path: Path, packing: str) -> None:
    path = packed(tmp_path, b"a\nb\na\n", packing)
    before = [block.fingerprint() for block in file_blocks(path, 1)]
    assert len(set(before)) == 3
    assert [block.fingerprint() for block in file_blocks(path, 1)] == before
    packed(tmp_path, b"a\nB\nccc\n", packing)
    after = [block.fingerprint() for block in file_blocks(path, 1)]
    assert after[1] != before[1]
    assert after[2] != before[2]


def test_the_block_size_bounds_what_is_held() -> None:
    """Of an endless stream only the block asked for is read, and at most one read more."""

    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return (b"12345678\n" * (size // 9 + 1))[:size]

    stream = Endless()
    blocks = stream_blocks(stream, "standard input", 9_000)
    for _ in range(5):
        block = next(blocks)
        assert block.data is not None
        assert 9_000 <= len(block.data) <= 9_009
        assert stream.given - block.end <= 1 << 16
