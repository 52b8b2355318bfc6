"""Detect changes of an input file by its content, which is read once."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from positionbias.core.errors import bad_input, near_file
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject

_SETTLED = 100_000_000  # nanoseconds
_KNOWN: dict[tuple[Path, int, int], str] = {}


def _look(path: Path) -> os.stat_result:
    with _readable(path):
        status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise bad_input(path, wanted="a readable file", found=what, do="give a file")
    return status


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise bad_input(
            path,
            wanted="a readable file",
            found=error.strerror or str(error),
            do=near_file(path, "check the path"),
        ) from error


def content_digest(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, cached by its change time, which no tool can set.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    status = _look(path)
    key = (path.absolute(), status.st_size, status.st_ctime_ns)
    if key in _KNOWN:
        return _KNOWN[key]
    began = time.time_ns()
    with _readable(path):
        digest = sha256_file(path)
    # otherwise another write may fall within the same tick of the file system's clock
    if began - status.st_ctime_ns > _SETTLED:
        _KNOWN[key] = digest
    return digest


def file_state(path: Path | str) -> JsonObject:
    """An input file's name, size and SHA-256, for the record of a job.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    return {"name": path.name, "bytes": _look(path).st_size, "sha256": content_digest(path)}


def file_mark(path: Path | str) -> JsonObject:
    """An input file's name, size and time of change: for parts of a job whose record holds the
    ``file_state``.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    status = _look(path)
    return {"name": path.name, "bytes": status.st_size, "changed": status.st_mtime_ns}


@contextmanager
def unchanged(paths: Iterable[Path | str]) -> Iterator[None]:
    """Refuse the block's result if a file changed while it was read.

    Raises:
        InputError: one has changed, or cannot be read.
    """
    before = {path: content_digest(path) for path in map(Path, paths)}
    yield
    for path, digest in before.items():
        if content_digest(path) != digest:
            raise bad_input(
                path,
                wanted="a file that stays as it is",
                found="one that changed while it was read",
                do="run again",
            )
