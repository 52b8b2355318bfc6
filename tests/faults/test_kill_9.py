"""kill -9 at any moment of a debias: the same command again ends with what an
uninterrupted run gives, and makes nothing twice.

A sample; ``benchmarks/fuzz/kills.py`` kills thousands of commands.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import generator

from ..engine.session import processes_of_session

pytestmark = pytest.mark.slow

PASSAGES, SHARDS = 30_000, 20
POSBIAS = """
from positionbias.cli.main import main
main()
"""
# of raw files the command cuts blocks of 16 MB: a test wants more blocks than that
DEBIAS_FILE = f"""
import sys
from pathlib import Path
from positionbias.engine.choose import open_engine
from positionbias.positions.raw_files import debias_file
from positionbias.positions.rotate import Rotation

if __name__ == "__main__":
    with open_engine("local", 2) as map_shards:
        rotation = Rotation(words="whitespace")
        debias_file(Path(sys.argv[1]), Path(sys.argv[2]), rotation, "tsv", \
map_shards=map_shards, block_bytes={5 << 15})
"""


def text_of(number: int) -> str:
    """Words in sentences of three, four to ten of them."""
    return " ".join(
        f"W{number * 7 % 501}x{word}{'.' if word % 3 == 2 else ''}"
        for word in range(10 + number % 20)
    )


class Work(NamedTuple):
    """A command that is to be killed, how many of its shards are finished in a folder, and what
    comes of it uninterrupted.
    """

    command: list[str]
    finished: Callable[[Path], int]
    wanted: Path


def run(work: Work, folder: Path) -> subprocess.Popen[bytes]:
    """The command with two workers, at the head of a session of its own."""
    # readline gives processes a COLUMNS that os.environ does not have
    return subprocess.Popen(
        work.command,
        cwd=folder,
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run_whole(work: Work, folder: Path) -> None:
    with run(work, folder) as process:
        assert process.communicate()[1].count(b"\n") <= 1
    assert process.returncode == 0


def run_and_kill(work: Work, folder: Path, after: int, wait: float, *, group: bool) -> None:
    """Kill -9 ``wait`` seconds after shard number ``after``: the command alone, or with its
    workers.
    """
    with run(work, folder) as process:
        while work.finished(folder) < after and process.poll() is None:
            time.sleep(0.001)
        time.sleep(wait)
        if process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
        error = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), error
    end = time.monotonic() + 20
    while processes_of_session(process.pid):  # workers end by themselves
        assert time.monotonic() < end
        time.sleep(0.01)


def files_of(place: Path) -> dict[str, bytes]:
    """The bytes of a file, or of every file of a collection but its manifest, which names the
    time.
    """
    if place.is_file():
        return {"": place.read_bytes()}
    paths = (path for path in place.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """30,000 passages in 20 shards, some with an answer, and what an uninterrupted run makes of
    them.
    """
    folder = tmp_path_factory.mktemp("kill")
    with create_collection(folder / "original") as writer:
        for start in range(0, PASSAGES, PASSAGES // SHARDS):
            numbers = range(start, start + PASSAGES // SHARDS)
            writer.add_passages(Passage(f"p{number}", text_of(number)) for number in numbers)
        asked = range(0, PASSAGES, 1_000)
        writer.add_split(
            "test",
            [Query(f"q{number}", "what") for number in asked],
            [Qrel(f"q{number}", f"p{number}", 1) for number in asked],
            [Answer(f"q{number}", f"p{number}", text_of(number)[:2], 0, 2) for number in asked],
        )
        writer.finish(Manifest("collection", "original", "a test"))
    options = ["--words", "whitespace", "--workers", "2"]
    arguments = ["debias", str(folder / "original"), "--out", "./rotated", *options]
    command = [sys.executable, "-c", POSBIAS, *arguments]
    work = Work(command, lambda place: len(receipt_names(place)), folder / "rotated")
    run_whole(work, folder)
    assert len(Collection(work.wanted).shard_paths) == SHARDS
    return work


def receipt_names(folder: Path) -> list[str]:
    return [path.name for path in (folder / ".rotated.work" / "receipts").glob("passages*.json")]


def receipts(folder: Path) -> dict[str, int]:
    """The shards whose receipts are there, and their inodes: a shard that is made again has
    another.
    """
    names = (name.removesuffix(".json").rpartition(",")[2] for name in receipt_names(folder))
    return {
        name: (folder / ".rotated.work" / "content" / "passages" / name).stat().st_ino
        for name in names
    }


def test_a_killed_rewriting_of_a_collection_goes_on(collection: Work, tmp_path: Path) -> None:
    draws = generator(1, "kill -9", 0)
    after, wait, group = (
        int(draws.integers(1, SHARDS)),
        float(draws.uniform(0, 0.03)),
        bool(draws.integers(2)),
    )
    run_and_kill(collection, tmp_path, after, wait, group=group)
    if not (tmp_path / "rotated").exists():  # else it came through before it was killed
        before = receipts(tmp_path)
        assert len(before) >= after
        run_whole(collection, tmp_path)
        made = {
            path.name: path.stat().st_ino for path in (tmp_path / "rotated" / "passages").iterdir()
        }
        assert before.items() <= made.items()  # finished shards were not made again
        assert [path.name for path in tmp_path.iterdir()] == ["rotated"]
    rotated = Collection(tmp_path / "rotated")
    assert rotated.checksum == Collection(collection.wanted).checksum
    assert files_of(rotated.path) == files_of(collection.wanted)
    assert read_manifest(rotated.path).content == read_manifest(collection.wanted).content


@pytest.fixture(scope="module")
def raw_file(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """The same passages as one TSV file of about 4 MB, in some 28 blocks."""
    folder = tmp_path_factory.mktemp("kill-file")
    with open(folder / "collection.tsv", "w") as file:
        file.writelines(f"p{number}\t{text_of(number)}\n" for number in range(PASSAGES))
    (folder / "debias.py").write_text(DEBIAS_FILE)
    command = [
        sys.executable,
        str(folder / "debias.py"),
        str(folder / "collection.tsv"),
        "rotated.tsv",
    ]
    work = Work(command, lambda place: len(pieces(place)), folder / "rotated.tsv")
    run_whole(work, folder)
    return work


def pieces(folder: Path) -> list[int]:
    """The lengths of the blocks that have been written, in order, as the log beside the file
    tells.
    """
    log = folder / ".rotated.tsv.work" / "content" / ".pieces"
    lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return [json.loads(line)["bytes"] for line in lines]


def test_a_debias_of_a_file_that_is_killed_twice_goes_on(raw_file: Work, tmp_path: Path) -> None:
    draws = generator(1, "kill -9 of a file", 0)
    first, second = sorted(int(after) for after in draws.choice(range(1, 25), 2, replace=False))
    before: list[int] = []
    for after in (first, second):
        run_and_kill(
            raw_file, tmp_path, after, float(draws.uniform(0, 0.01)), group=bool(draws.integers(2))
        )
        if (tmp_path / "rotated.tsv").exists():
            break
        assert pieces(tmp_path)[: len(before)] == before  # what the first run wrote stands
        before = pieces(tmp_path)
        assert len(before) >= after
    else:
        run_whole(raw_file, tmp_path)
    assert files_of(tmp_path / "rotated.tsv") == files_of(raw_file.wanted)
    assert not list(tmp_path.glob(".*"))
