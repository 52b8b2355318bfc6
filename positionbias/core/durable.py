"""File-system operations for publishing: sync, atomic exchange of names, and locks that end with a process."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["exchange", "lock", "locked", "make_folders", "rename_new", "sync", "sync_tree"]

_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2  # linux/fs.h
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP)  # EPERM: a container that does not know the call
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # from folders, on some network file systems


def sync(path: Path) -> None:
    """Wait until a file's bytes or a folder's names are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
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
    try:
        found: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # another system, or an old libc
        return None
    return found


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


def lock(handle: int) -> bool | None:
    """Lock an open file or folder without waiting; False if another process holds it, None if this file system has no locks."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


@contextmanager
def locked(path: Path) -> Iterator[bool | None]:
    """Hold the lock of the file or folder at ``path``, even if renamed, until the block ends; yield the result of ``lock``.

    The result is also False if the path was gone before it was locked.
    """
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        got = lock(handle)
        yield got and _stands(path, handle)
        if got:
            # a worker forked meanwhile may also have the handle
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _stands(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False
