"""Files are whole or absent; a full disk is one clear line; text is read plain and compressed."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from positionbias.core.errors import InputError, OutputExistsError, StorageError
from positionbias.core.files import atomic_file, atomic_folder, home, open_bytes, read_json, sha256_file, write_json


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_its_block_has_ended(tmp_path: Path) -> None:
    final = tmp_path / "deep" / "file"
    with atomic_file(final) as partial:
        partial.write_text("whole")
        assert not final.exists()
        assert partial.parent == final.parent  # a rename within one file system
    assert names(final.parent) == ["file"]
    assert final.read_text() == "whole"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_a_block_that_fails(tmp_path: Path, error: type[BaseException]) -> None:
    def fail_in_file() -> None:
        with atomic_file(tmp_path / "file") as partial:
            partial.write_text("half")
            raise error

    def fail_in_folder() -> None:
        with atomic_folder(tmp_path / "folder") as partial:
            (partial / "inner").mkdir()
            (partial / "inner" / "file").write_text("half")
            raise error

    for fail in (fail_in_file, fail_in_folder):
        with pytest.raises(error):
            fail()
    assert names(tmp_path) == []


def test_a_failed_replacement_leaves_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("old")
    for maker, name in ((atomic_file, "file"), (atomic_folder, "folder")):
        with pytest.raises(ValueError, match="stop"), maker(tmp_path / name, overwrite=True):
            raise ValueError("stop")
    assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "a").read_text() == "old"
    assert names(tmp_path) == ["file", "folder"]


def test_what_stands_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("old")
    for name in ("file", "link"):
        with (
            pytest.raises(OutputExistsError, match=rf"{name}: wanted a new path .* or --overwrite"),
            atomic_file(tmp_path / name),
        ):
            pytest.fail("the block must not run")
        with pytest.raises(OutputExistsError), atomic_folder(tmp_path / name):
            pytest.fail("the block must not run")
    with atomic_folder(tmp_path / "folder") as partial:
        (partial / "a").write_text("1")
    with atomic_folder(tmp_path / "folder", overwrite=True) as partial:
        (partial / "b").write_text("2")
    assert names(tmp_path / "folder") == ["b"]
    assert names(tmp_path) == ["file", "folder", "link"]


def test_a_file_in_the_way_of_a_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with (
        pytest.raises(StorageError, match="wanted to write here; found: File exists; check the path"),
        atomic_file(tmp_path / "file" / "x"),
    ):
        pytest.fail("the block must not run")


@pytest.mark.parametrize(
    ("code", "advice"),
    [(errno.ENOSPC, "free some space"), (errno.EACCES, "check the permissions"), (errno.EIO, "check the path and the disk")],
)
def test_what_the_system_says_comes_with_advice(tmp_path: Path, code: int, advice: str) -> None:
    message = rf"file: wanted to write here; found: {os.strerror(code)}; {advice}"
    with pytest.raises(StorageError, match=message), atomic_file(tmp_path / "file"):
        raise OSError(code, os.strerror(code))
    assert names(tmp_path) == []


# Each writes more than the limit that its process is given; the system refuses as on a full disk (with EFBIG for ENOSPC).
WRITERS = {
    "collection": """
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Passage
with create_collection(place) as writer:
    writer.add_passages(Passage(f"p{n}", "word " * 50) for n in range(20_000))
    writer.finish(name="x", command="x", settings={})
""",
    "index of a collection": """
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Passage
with create_collection(place) as writer:
    writer.add_blocks(list, [[Passage(f"p{n}", "") for n in range(start, start + 1_000)] for start in range(0, 30_000, 1_000)])
    writer.finish(name="x", command="x", settings={})
""",
    "queries": """
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Query
import hashlib
with create_collection(place) as writer:
    writer.add_split("train", [Query(f"q{n}", hashlib.sha256(str(n).encode()).hexdigest() * 3) for n in range(20_000)], [])
    writer.finish(name="x", command="x", settings={})
""",
    "run": """
from positionbias.core.run import Run, write_run
write_run(place, Run("r", ((f"q{n}", [f"passage-{m}" for m in range(100)], list(range(100))) for n in range(200))))
""",
    "json": """
from positionbias.core.files import write_json
write_json(place, list(range(200_000)))
""",
    "results": """
from positionbias.core.manifest import Manifest
from positionbias.core.payloads import PerQuery
from positionbias.core.result import Result, save_results
import random
payload = PerQuery([f"q{n}" for n in range(50_000)], [random.random() for _ in range(50_000)])
save_results(place, [Result("m", "c", "s", "x", 1, 0.5, None, 1, payload)], Manifest(kind="results", name="x", command="x"))
""",
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_disk_that_takes_no_more_is_one_line_and_nothing_half_written(tmp_path: Path, what: str) -> None:
    code = f"""
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
place = Path({str(tmp_path / "out")!r})
from positionbias.core.errors import StorageError
import positionbias.core.collection_writer, positionbias.core.result, positionbias.core.run
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
{"".join(f"    {line}{chr(10)}" for line in WRITERS[what].splitlines())}
except StorageError as error:
    print(error)
    sys.exit(error.exit_code)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(str(tmp_path / "out"))  # not the temporary name beside it
    assert ": wanted to write here; found: " in done.stdout
    assert names(tmp_path) == []


COMPRESSORS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.ZstdCompressor().compress]


@pytest.mark.parametrize("compress", COMPRESSORS, ids=["plain", "gz", "zst"])
def test_text_is_told_apart_by_its_first_bytes(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
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
        (b'{"a": 1,\n "b"', r":2: wanted a list; found Expecting ':' delimiter at column 5; check that the file is complete"),
        (b'{"a":\n\n"caf\xe9"}', r":3: wanted a list in UTF-8; found the byte 0xe9, which is not; convert the file"),
        (b"[" * 200_000, "wanted a list; found .*recursion"),
        (b"9" * 5_000, "wanted a list; found Exceeds the limit"),
        (gzip.compress(b"[1, 2]", mtime=0)[:-2], "wanted a list, whole; found Compressed file ended"),
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
    assert sha256_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_home_is_the_variable_else_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("POSBIAS_HOME")
    assert home().name == "posbias"
