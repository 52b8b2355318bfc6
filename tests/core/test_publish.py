"""Artefacts are whole or absent, whatever ends their making, and replace only what is ours; a full
disk is one clear line.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from positionbias.core import publish
from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, StorageError
from positionbias.core.publish import (
    atomic_file,
    atomic_folder,
    only_one,
    recover,
    refuse_existing,
    resumable_folder,
)
from positionbias.core.steps import make_shards
from tests.forked import forked

MANIFEST = json.dumps(
    {"kind": "results", "command": "a test", "format_version": 1, "files": {"a": {}, "text": {}}}
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_its_block_has_ended(tmp_path: Path) -> None:
    final = tmp_path / "deep" / "file"
    with atomic_file(final) as partial:
        partial.write_text("whole")
        assert not final.exists()
        assert partial.is_relative_to(final.parent)  # a rename within one file system
        assert partial.name == final.name  # an ending tells writers the form
    assert names(final.parent) == ["file"]
    assert final.read_text() == "whole"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
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
        (partial / "manifest.json").write_text(MANIFEST)
    with atomic_folder(tmp_path / "folder", overwrite=True) as partial:
        (partial / "b").write_text("2")
    assert names(tmp_path / "folder") == ["b"]
    assert names(tmp_path) == ["file", "folder", "link"]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EACCES, "check the permissions"),
        (errno.EIO, "check the path and the disk"),
    ],
)
def test_what_the_system_says_comes_with_advice(tmp_path: Path, code: int, advice: str) -> None:
    message = rf"file: wanted to write here; found: {os.strerror(code)}; {advice}"
    with pytest.raises(StorageError, match=message), atomic_file(tmp_path / "file"):
        raise OSError(code, os.strerror(code))
    assert names(tmp_path) == []


# Each writes more than the limit that its process is given; the system refuses as on a full disk
# (with EFBIG for ENOSPC).
WRITERS = {
    "collection": """
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
with create_collection(place) as writer:
    writer.add_passages(Passage(f"p{n}", "word " * 50) for n in range(20_000))
    writer.finish(Manifest("collection", "x", "x"))
""",
    "run": """
from positionbias.core.run import Run
rankings = ((f"q{n}", [f"passage-{m}" for m in range(100)], list(range(100))) for n in range(200))
Run("r", rankings).save(place)
""",
    "rows": """
from positionbias.core.manifest import Manifest
from positionbias.core.rows import Collected, save
import random
made = Collected()
made.add("m", "mean", 0.5, items={f"q{n}": random.random() for n in range(50_000)})
save(place, made.rows, Manifest(kind="results", name="x", command="x"), made.values)
""",
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_disk_that_takes_no_more_is_one_line_and_nothing_half_written(
    tmp_path: Path, what: str
) -> None:
    code = f"""
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
place = Path({str(tmp_path / "out")!r})
from positionbias.core.errors import StorageError
import positionbias.core.collection_writer, positionbias.core.rows, positionbias.core.run
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
{"".join(f"    {line}{chr(10)}" for line in WRITERS[what].splitlines())}
except StorageError as error:
    print(error)
    sys.exit(error.exit_code)
"""
    done = forked([], tmp_path, os.environ, code)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(str(tmp_path / "out"))  # not the temporary name beside it
    assert ": wanted to write here; found: " in done.stdout
    assert names(tmp_path) == []


def write_folder(final: Path, text: str, **more: bool) -> None:
    with atomic_folder(final, **more) as partial:
        (partial / "manifest.json").write_text(MANIFEST)
        (partial / "text").write_text(text)


def write_pair(final: Path, text: str, *, manifest: bool = True, **more: bool) -> None:
    with atomic_file(final, **more) as partial:
        partial.write_text(text)
        if manifest:
            partial.with_name(f"{final.name}.manifest.json").write_text(f"of {text}")


def write_shards(final: Path, text: str, **more: bool) -> None:
    def make(item: str, path: Path) -> None:
        path.write_text(item)

    with resumable_folder(final, {"command": text}, **more) as folder:
        items = {"text": text, "manifest.json": MANIFEST}
        list(make_shards(type(None), make, items.values(), lambda at: folder / list(items)[at]))


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_file_and_its_manifest_are_one(tmp_path: Path) -> None:
    final = tmp_path / "run"
    write_pair(final, "old")
    assert contents(tmp_path) == {"run": "old", "run.manifest.json": "of old"}
    write_pair(final, "new", overwrite=True)
    assert contents(tmp_path) == {"run": "new", "run.manifest.json": "of new"}
    # the manifest of another file would be a lie
    write_pair(final, "plain", overwrite=True, manifest=False)
    assert contents(tmp_path) == {"run": "plain"}
    assert names(tmp_path) == ["run"]


class Killed(BaseException):
    """The process ends here: nothing after this runs."""


CALLS = ("rename", "replace", "fsync", "unlink", "rmdir", "mkdir")


@contextmanager
def killed_after(steps: int) -> Iterator[None]:
    """Let ``steps`` changes of the disk happen and no further one, not even in clean-ups."""
    with pytest.MonkeyPatch.context() as patch:
        left = steps

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def step(*given: object, **more: object) -> object:
                nonlocal left
                if left <= 0:
                    raise Killed
                left -= 1
                return call(*given, **more)

            return step

        for name in CALLS:
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
        yield


@pytest.mark.parametrize("write", [write_folder, write_pair, write_shards])
@pytest.mark.parametrize("first", ["old", None])
def test_a_kill_anywhere_leaves_the_old_or_the_new(
    tmp_path: Path, write: Callable[..., None], first: str | None
) -> None:
    states = set()
    for steps in range(100):
        final = tmp_path / f"{steps}" / "out"
        final.parent.mkdir()
        if first:
            write(final, first)
        whole = True
        try:
            with killed_after(steps):
                write(final, "new", overwrite=True)
        except Killed:
            whole = False
        recover(final)  # the next open
        found = {
            name: text for name, text in contents(final.parent).items() if not name.startswith(".")
        }
        text = found.get("out/text") or found.get("out")
        if text:
            assert set(found.values()) == {text, MANIFEST if "out/text" in found else f"of {text}"}
        assert text in (first, "new")
        states.add(text)
        write(final, "last", overwrite=True)  # sweeps what the killed one left
        assert [name for name in names(final.parent) if name.startswith(".")] == []
        if whole:
            break
    assert whole
    assert states == {first, "new"}


def test_a_signal_anywhere_leaves_no_partial(tmp_path: Path) -> None:
    """Raised in place of the n-th call; clean-ups run."""
    for write in (write_folder, write_pair):
        for number in range(100):
            final = tmp_path / f"{write.__name__}{number}" / "out"
            final.parent.mkdir()
            write(final, "old")
            with pytest.MonkeyPatch.context() as patch:
                left = number

                def counted(call: Callable[..., object]) -> Callable[..., object]:
                    def step(*given: object, **more: object) -> object:
                        nonlocal left
                        left -= 1
                        if left == -1:
                            raise KeyboardInterrupt
                        return call(*given, **more)

                    return step

                for name in ("rename", "replace", "fsync", "open", "close"):
                    patch.setattr(os, name, counted(getattr(os, name)))
                with suppress(KeyboardInterrupt):
                    write(final, "new", overwrite=True)
            assert [name for name in names(final.parent) if name.startswith(".")] == []
            assert (
                len(
                    {text.removeprefix("of ") for text in contents(final.parent).values()}
                    - {MANIFEST}
                )
                == 1
            )
            if left >= 0:
                break
        assert left >= 0


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for place in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null")):
        with pytest.raises(
            OutputExistsError,
            match="wanted a file or a folder to write; found a device, a pipe or a socket",
        ):
            refuse_existing(place, overwrite=True, folder=False)


def test_an_artefact_into_which_somebody_put_a_file_is_not_replaced(
    small_collection: Collection,
) -> None:
    final = small_collection.path
    refuse_existing(final, overwrite=True, folder=True)
    (final / "queries" / "notes.txt").write_text("mine")
    with pytest.raises(
        OutputExistsError,
        match="found queries/notes.txt, which is not part of it; give another --out, or remove it",
    ):
        refuse_existing(final, overwrite=True, folder=True)
    assert (final / "queries" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "content", [{"notes.txt": "mine"}, {"manifest.json": "{}"}, {"manifest.json": "{"}]
)
def test_a_folder_that_is_not_ours_is_not_replaced(tmp_path: Path, content: dict[str, str]) -> None:
    final = tmp_path / "out"
    final.mkdir()
    for name, text in content.items():
        (final / name).write_text(text)
    message = (
        "out: wanted an artefact of posbias to replace; found a folder without its manifest.json; "
        "give another --out"
    )
    with pytest.raises(OutputExistsError, match=message), atomic_folder(final, overwrite=True):
        pytest.fail("the block must not run")
    assert contents(final) == content
    with atomic_folder(final, overwrite=True, owned=True):
        pass
    assert contents(final) == {}
    write_folder(final, "over an empty one", overwrite=True)


# Holds the work of sys.argv[1] and sys.argv[2] until it is killed.
WRITER = """
import sys
from positionbias.core.publish import atomic_file, atomic_folder
with atomic_folder(sys.argv[1], overwrite=True) as a, atomic_file(sys.argv[2], overwrite=True) as b:
    b.write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_one_process_at_a_time_and_the_next_one_clears_away_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "PATIENCE", 0.1)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "folder"), str(tmp_path / "file")]
    (tmp_path / ".folderly.work").mkdir()  # of another name
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"writing\n"
        for write, name in ((write_folder, "folder"), (write_pair, "file")):
            with pytest.raises(StorageError, match="found another run at work; wait for it"):
                write(tmp_path / name, "ours")
        assert (tmp_path / ".file.work" / "content" / "file").read_text() == "half"
        runner.send_signal(signal.SIGKILL)
    write_folder(tmp_path / "folder", "ours", overwrite=True)
    write_pair(tmp_path / "file", "ours", overwrite=True)
    assert names(tmp_path) == [".folderly.work", "file", "file.manifest.json", "folder"]


def test_overwriting_side_by_side_is_never_refused_nor_mixed(tmp_path: Path) -> None:
    def overwrite(number: int) -> None:
        for turn in range(10):
            write_folder(tmp_path / "out", f"{number} {turn}", overwrite=True)
            write_pair(tmp_path / "file", f"{number} {turn}", overwrite=True)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(overwrite, range(4)))
    assert names(tmp_path) == ["file", "file.manifest.json", "out"]
    found = contents(tmp_path)
    assert found["file.manifest.json"] == f"of {found['file']}"
    assert found["out/text"].endswith(" 9")


def test_a_file_system_without_locks_has_a_marker_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr(publish, "PATIENCE", 0.1)
    with atomic_folder(tmp_path / "out") as partial, ThreadPoolExecutor(1) as pool:
        (partial / "a").write_text("ours")
        with pytest.raises(StorageError, match="found another run at work"):
            pool.submit(write_folder, tmp_path / "out", "theirs").result()
    assert contents(tmp_path) == {"out/a": "ours"}
    assert names(tmp_path) == ["out"]


def test_whoever_holds_a_place_may_publish_there(tmp_path: Path) -> None:
    with only_one(tmp_path / "out"):
        write_folder(tmp_path / "out", "new")
    assert names(tmp_path) == ["out"]
