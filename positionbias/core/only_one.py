"""A lock by which only one process at a time makes something, on all machines of a file system that
has locks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from positionbias.core.durable import holding
from positionbias.core.errors import StorageError
from positionbias.core.files import remove
from positionbias.core.system import NO_BLOCK, NO_FOLLOW, OPENS_FOLDERS

__all__ = ["foreign", "only_one"]

_LOOK = 0.1  # seconds between two tries


@contextmanager
def only_one(place: Path, final: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file ``place`` while ``final`` is made; wait for it up to ``patience`` seconds.
    It is removed at the end.

    It must not lie in a folder that may be moved while another run waits for it.

    Raises:
        StorageError: another process holds it.
    """
    until = time.monotonic() + patience
    while True:
        if foreign(place):
            remove(place)
        with (
            open(place, "w", encoding="utf-8", opener=_unlinked, newline="\n") as file,
            holding(file.fileno()) as got,
        ):
            # None: no locks, as on some clusters; unique names must do
            if got is not False and _is_at(place, file.fileno()):
                try:
                    yield
                finally:
                    if not OPENS_FOLDERS:
                        file.close()  # Windows removes no open file; there the lock is elsewhere
                    place.unlink(missing_ok=True)
                return
        if got is not False:
            continue  # the earlier run removed its lock between our two steps
        if time.monotonic() >= until:
            raise StorageError(
                f"{final}: wanted to be the only one writing here; found another run at work; "
                "wait for it, or give another --out"
            )
        time.sleep(_LOOK)


def foreign(path: Path) -> bool:
    """Return True for a link, which could lead a write elsewhere, or a pipe, which could block."""
    return path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir())


def _is_at(place: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(place))
    return False


def _unlinked(path: str, flags: int) -> int:
    return os.open(path, flags | NO_FOLLOW | NO_BLOCK, 0o666)
