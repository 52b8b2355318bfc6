"""Operating systems: what only some have stands in one module, and locks exclude without it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import positionbias
from positionbias.core import system
from positionbias.core.collection_writer import create_collection
from positionbias.core.durable import locked
from positionbias.core.errors import InputError
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Query

PACKAGE = Path(positionbias.__file__).parent
ONLY_HERE = PACKAGE / "core/system.py"
MODULES = {"fcntl", "resource", "msvcrt", "pwd", "grp", "termios", "winreg", "posix", "nt"}
NAMES = {  # of os and signal, where not every system has them
    *(
        "uname",
        "fork",
        "sysconf",
        "getuid",
        "killpg",
        "getpgid",
        "sched_getaffinity",
        "posix_fallocate",
        "mkfifo",
        "statvfs",
    ),
    *(
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "pthread_sigmask",
        "alarm",
        "setitimer",
        "SIGALRM",
        "SIGKILL",
        "SIGHUP",
        "SIGPIPE",
    ),
    *("fsync",),
}


def uses(path: Path) -> list[str]:
    """What a module takes from one operating system: modules, names, /proc, the C library."""
    found: list[str] = []
    text = path.read_text(encoding="utf-8")
    if not re.search(rf"\b({'|'.join(MODULES | NAMES)}|CDLL)\b|/proc|/sys/", text):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [item.name for item in node.names if item.name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if node.module and node.module in MODULES else []
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("os", "signal")
        ):
            found += [node.attr] if node.attr in NAMES else []
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(("/proc", "/sys/"))
        ):
            found.append(node.value)
        elif (
            isinstance(node, ast.Call)
            and "CDLL" in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
            and ast.dump(node.args[0]) == "Constant(value=None)"
        ):
            found.append("the C library")
    return [f"{path.relative_to(PACKAGE)}: {name}" for name in found]


def test_one_module_alone_knows_the_operating_system() -> None:
    assert uses(ONLY_HERE)
    assert [use for path in PACKAGE.rglob("*.py") if path != ONLY_HERE for use in uses(path)] == []


# Locks sys.argv[2], says so and waits; without fcntl
HOLDER = """
import sys
sys.modules["fcntl"] = None
from pathlib import Path
from positionbias.core.durable import locked
with locked(Path(sys.argv[1])) as got:
    print(got, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_locks_exclude_without_fcntl(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("filelock") is None:
        pytest.skip("the package filelock is not installed")
    for name in [name for name in sys.modules if name.partition(".")[0] == "filelock"]:
        monkeypatch.delitem(sys.modules, name)
    place = tmp_path / "place"
    place.mkdir() if kind == "folder" else place.touch()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    command = [sys.executable, "-c", HOLDER, str(place)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with locked(place) as got:
            assert got is False
        place.rename(tmp_path / "moved")  # the lock goes with what it locks, not with its name
        with locked(tmp_path / "moved") as got:
            assert got is False
        other.communicate("")
    with locked(tmp_path / "moved") as got:
        assert got is True
        with locked(tmp_path / "moved") as again:
            assert again is False


def test_a_system_that_opens_no_folders_publishes_by_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.open_place(tmp_path, folder=True) == tmp_path
    for wrong in (tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(OSError, match=wrong.name):
            system.open_place(wrong, folder=True)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="link"):
        system.open_place(tmp_path / "link")


def test_what_the_machine_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = system.memory_bytes()
    assert memory is not None
    assert memory > 1 << 28
    monkeypatch.setattr(sys, "platform", "win32")
    assert list(system.processor_names()) == []
    monkeypatch.delattr(system.os, "sysconf")
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert system.memory_bytes() is None
    assert system.c_function("no_such_function_anywhere") is None
    monkeypatch.delattr(system.signal, "pthread_sigmask")
    assert system.block_signals([]) is None
    system.restore_signals(None)
    system.unblock_signals([])


@pytest.mark.parametrize("name", ["con", "NUL", "aux.old", "COM1"])
def test_a_split_has_no_name_that_windows_keeps(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=f"^split '{name}': .* every system; found one that Windows keeps; rename it",
    ):
        made(tmp_path, name)


@pytest.mark.parametrize("splits", [("test", "Test"), ("STRASSE", "straße")])
def test_splits_that_would_share_a_file_on_some_systems_are_refused(
    splits: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="once; found them twice"):
        made(tmp_path, *splits)


def made(folder: Path, *splits: str) -> None:
    with create_collection(folder / "made") as writer:
        for split in splits:
            writer.add_split(split, [Query(split, "x")], [])


def test_a_manifest_names_no_file_outside_in_any_systems_words(tmp_path: Path) -> None:
    for name in ("../x", "/x", "..\\x", "C:x", "\\x", "a/../../x"):
        record = {
            "kind": "run",
            "format_version": 1,
            "name": "n",
            "command": "",
            "files": {name: {"bytes": 0, "digest": ""}},
        }
        (tmp_path / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(InputError):
            read_manifest(tmp_path)
