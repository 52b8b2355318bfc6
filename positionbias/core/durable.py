"""File-system operations for publishing: sync, and locks that end with a process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from positionbias.core.system import OPENS_FOLDERS, flush, let_go, open_place, take_lock

__all__ = ["holding", "locked", "make_folders", "sync", "sync_tree"]

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # from folders, on some network file systems


def sync(path: Path) -> None:
    """Wait until a file's bytes or a folder's names are on the disk."""
    if not OPENS_FOLDERS and path.is_dir():
        return
    # Windows syncs only what may be written
    handle = os.open(path, os.O_RDONLY if OPENS_FOLDERS else os.O_RDWR)
    try:
        flush(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(handle)


def make_folders(folder: Path) -> None:
    """Make a folder and its parents, and sync them."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def sync_tree(folder: Path) -> None:
    """``sync`` every file and folder in ``folder``, then itself; links are not followed."""
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            path = Path(place, name)
            if not path.is_symlink():
                sync(path)
        sync(Path(place))


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[bool | None]:
    """Hold the lock of the file or folder at ``path``, even if renamed, until the block ends;
    ``shared``: as others may at once.

    Yields True; False if another process holds it or the path was gone before it was locked; None
    if this file system has no locks.
    """
    try:
        place = open_place(path)
    except OSError:
        yield False
        return
    try:
        with holding(place, shared=shared) as got:
            yield got and _stands(path, place)
    finally:
        let_go(place)


@contextmanager
def holding(place: int | Path, *, shared: bool = False) -> Iterator[bool | None]:
    """Hold the lock of an open file or folder as ``locked`` does. It is given back, as a worker
    forked meanwhile may also have the handle.
    """
    try:
        unlock = take_lock(place, shared=shared)
    except FileNotFoundError:
        unlock = False
    if callable(unlock):
        try:
            yield True
        finally:
            unlock()
    else:
        yield unlock


def _stands(path: Path, place: int | Path) -> bool:
    try:
        return os.path.samestat(os.stat(place), os.lstat(path))
    except FileNotFoundError:
        return False
