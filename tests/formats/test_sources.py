"""The files of a release: by name, in folders and archives, each once, and one line for each
fault.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard

from positionbias.core.blocks import file_blocks, file_lines, numbered_lines, stream_blocks
from positionbias.core.errors import InputError
from positionbias.formats.sources import Release

from .msmarco_files import write_files, write_tar


def role_of(name: str) -> str | None:
    return name.removesuffix(".tsv") if name in {"a.tsv", "b.tsv", "big.tsv"} else None


def release(*places: Path, skip: str = "") -> Release:
    return Release(places, role_of, skip=lambda role: role == skip, known="a.tsv or b.tsv")


def read(found: Release, unpacked: Path | None = None) -> dict[str, list[tuple[int, str]]]:
    with TemporaryDirectory() as folder:
        found.unpack(unpacked or Path(folder))
        return {role: list(file_lines(path)) for role, path in found.files.items()}


LINES = {"a": [(1, "1\tone"), (2, "2\ttwo")], "b": [(1, "3\tthree")]}


def test_plain_packed_and_archived_files_hold_the_same(tmp_path: Path) -> None:
    plain = write_files(tmp_path / "plain", {"a.tsv": "1\tone\n2\ttwo\n", "b.tsv": "3\tthree"})
    small = write_files(tmp_path / "gz", {"a.tsv.gz": "1\tone\n2\ttwo\n"})
    (small / "b.tsv.zst").write_bytes(zstandard.compress(b"3\tthree\n"))
    members = {"x/a.tsv": "1\tone\n2\ttwo\n", "b.tsv.gz": "3\tthree\n"}
    for place in (
        plain,
        small,
        write_tar(tmp_path / "all.tar", members),
        write_tar(tmp_path / "all.tar.gz", members),
        write_tar(tmp_path / "in" / "all.tgz", members).parent,
    ):
        found = release(place)
        assert read(found) == LINES
        assert found.not_read == {}


def test_what_is_not_read_is_named_with_its_reason(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.tsv": "1\tone\n", "notes.txt": "x", ".hidden": "x", "big.tsv": "x\ty\n"}
    )
    write_tar(
        tmp_path / "all.tar", {"a.tsv": "other\ttext\n", "b.tsv": "3\tthree\n", "c.tsv": "x\n"}
    )
    write_tar(tmp_path / "a.tar.gz", {"a.tsv": "other\ttext\n"})
    (tmp_path / "more").mkdir()
    found = release(tmp_path, skip="big")
    assert read(found) == {"a": [(1, "1\tone")], "b": [(1, "3\tthree")]}
    assert found.not_read == {
        "big.tsv": "skipped, as asked",
        "more/": "a folder",
        "notes.txt": "not known",
        "a.tar.gz": "its unpacked content is beside it",
        "all.tar:a.tsv": "read from a.tsv",
        "all.tar:c.tsv": "not known",
    }
    assert [item.role for item in found.inputs(tmp_path / "out")] == ["a", "archive"]
    assert [item.path for item in found.inputs(tmp_path / "out")] == ["../a.tsv", "../all.tar"]


def test_an_archive_of_what_is_left_out_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "big.tar.gz").write_bytes(b"no archive at all")
    found = release(tmp_path, skip="big")
    assert (read(found), found.not_read) == ({}, {"big.tar.gz": "skipped, as asked"})


def test_links_folders_and_odd_names_in_an_archive_do_nothing(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in (
            ("a.tsv", tarfile.SYMTYPE, "/etc/hosts"),
            ("dev", tarfile.CHRTYPE, ""),
            ("d", tarfile.DIRTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
        member = tarfile.TarInfo("../../b.tsv")
        member.size = 8
        tar.addfile(member, io.BytesIO(b"3\tthree\n"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "odd.tar").write_bytes(buffer.getvalue())
    unpacked = tmp_path / "in" / "unpacked"
    assert read(release(tmp_path / "in" / "odd.tar"), unpacked) == {"b": LINES["b"]}
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        "in",
        "in/odd.tar",
        "in/unpacked",
        "in/unpacked/odd.tar",
        "in/unpacked/odd.tar/b.tsv",
    ]


@pytest.mark.parametrize("cut", [0, 100, 513, 700, 1024, 1100, 2048])
def test_an_archive_that_was_cut_is_one_line(tmp_path: Path, cut: int) -> None:
    whole = write_tar(
        tmp_path / "whole.tar", {"a.tsv": "1\tone\n", "b.tsv": "3\tthree\n"}
    ).read_bytes()
    path = tmp_path / "cut.tar"
    # headers at 0 and 1024, contents at 512 and 1536, zeros from 2048
    path.write_bytes(whole[:cut])
    with pytest.raises(
        InputError, match=r"cut.tar: wanted a complete tar archive; found .*; fetch the file again"
    ) as error:
        read(release(path))
    assert "\n" not in str(error.value)


def test_damage_in_an_archive_is_one_line(tmp_path: Path) -> None:
    whole = write_tar(
        tmp_path / "whole.tar.gz", {"a.tsv": "1\tone\n" * 500, "b.tsv": "3\tthree\n"}
    ).read_bytes()
    path = tmp_path / "bad.tar.gz"
    plain = bytearray(gzip.decompress(whole))
    # in the second header: a header of 512 bytes and 6 blocks of content stand before
    plain[512 + 3_072 + 150] ^= 1
    for data in (
        whole[:-4],
        whole[: len(whole) // 2],
        gzip.compress(bytes(plain)),
        b"",
        b"\x1f\x8bnonsense",
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match="wanted a (complete tar archive|tar archive, whole)"):
            read(release(path))


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "all.tar", {"a.tsv": b"1\tone\n2\t\xff\n"})
    with pytest.raises(
        InputError, match=r"all.tar/a.tsv:2: wanted text in UTF-8; found the byte 0xff"
    ):
        read(release(archive))


def test_faults_of_places(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="none: wanted a folder, a file or a tar archive; found nothing there"
    ):
        release(tmp_path / "none")
    write_files(tmp_path, {"c.tsv": ""})
    with pytest.raises(InputError, match=r"c.tsv: wanted a.tsv or b.tsv; found another name"):
        release(tmp_path / "c.tsv")


def test_lines_are_numbered_over_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(b"%d\n" % number for number in range(1, 1_001)))
    for blocks in (
        list(file_blocks(path, 64)),
        stream_blocks(io.BytesIO(path.read_bytes()), "a stream", 50),
    ):
        assert [(number, int(line)) for number, line in numbered_lines(blocks)] == [
            (n, n) for n in range(1, 1_001)
        ]
