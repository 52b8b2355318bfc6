"""What publishing asks of the file system: synced files and folders, names exchanged in one step, locks that end with a process."""

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
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP)  # EPERM: a container that knows the call not
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # of a folder, on some network file systems


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
    """Make a folder and those above it, so that they are on the disk."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def sync_tree(folder: Path) -> None:
    """``sync`` of every file and folder in ``folder``, then of itself; links are names only."""
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
    """Rename with a flag of Linux; False where the system or this file system cannot."""
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
    """Give two files or folders each other's name in one step; False where the system cannot."""
    return _flagged(one, other, _EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a name that nothing has.

    Raises:
        FileExistsError: something has it.
    """
    if _flagged(source, target, _NOREPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    os.rename(source, target)


def lock(handle: int) -> bool | None:
    """Lock an open file or folder without waiting; False: another process holds it; None: this file system has no locks."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


@contextmanager
def locked(path: Path) -> Iterator[bool | None]:
    """Hold the lock of what stands at ``path``, under whatever name, until the block ends; gives what ``lock`` said.

    Also False where it has gone before it was locked.
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
            # a worker that was forked meanwhile may have the handle, too
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _stands(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False
