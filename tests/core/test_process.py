"""Operating systems: what only some have stands in one module."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import positionbias
from positionbias.core import process
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Query

PACKAGE = Path(positionbias.__file__).parent
ONLY_HERE = PACKAGE / "core/process.py"
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


def test_what_the_machine_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert process.c_function("no_such_function_anywhere") is None
    monkeypatch.delattr(process.signal, "pthread_sigmask")
    assert process.block_signals([]) is None
    process.restore_signals(None)
    process.unblock_signals([])


@pytest.mark.parametrize("splits", [("test", "Test"), ("STRASSE", "straße")])
def test_splits_that_would_share_a_file_on_some_systems_are_refused(
    splits: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="once; found .* twice"):
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
