"""File-system operations for publishing: sync, atomic exchange of names, and locks that end with a
process.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from positionbias.core.system import OPENS_FOLDERS, c_function, flush, let_go, open_place, take_lock

__all__ = ["exchange", "holding", "locked", "make_folders", "rename_new", "sync", "sync_tree"]

_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2  # linux/fs.h
# EPERM: a container that does not know the call
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP)
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


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    return c_function("renameat2")


def _flagged(source: Path, target: Path, flag: int) -> bool:
    """Rename with a Linux flag; False where the system or this file system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


def exchange(one: Path, other: Path) -> bool:
    """Swap the names of two files or folders atomically; False where the system cannot."""
    return _flagged(one, other, _EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a free name.

    Raises:
        FileExistsError: the name is taken.
    """
    if _flagged(source, target, _NOREPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    os.rename(source, target)


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
