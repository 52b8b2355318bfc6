"""What operating systems do differently: signals of threads, syncing, facts of the machine.

No other module imports ``fcntl``, ``resource`` or ``msvcrt``, reads ``/proc`` or calls the C
library. Each function says what it does on a system that has none of it. Nothing heavy is imported
here, as stopping a command begins before all else.
"""

from __future__ import annotations

import ctypes
import os
import signal
from functools import cache

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None  # type: ignore[assignment]

TYPE_CHECKING = False  # as in the package's __init__
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import IO, Any

OPENS_FOLDERS = hasattr(
    os, "O_DIRECTORY"
)  # Windows opens none: there no folder can be synced, and names in it are used by path
RESERVE_BLOCK = 1 << 24
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for mallopt
# what glibc itself comes to once it has freed a block of 32 MiB
_MAPPED, _KEPT = 32 << 20, 64 << 20


def flush(handle: int) -> None:
    """Wait until an open file's bytes are on the disk; macOS would only hand them to the drive."""
    try:
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):  # a system, or a file system, without it
        os.fsync(handle)


def c_function(name: str) -> Callable[..., int] | None:
    """Return a function of this process's C library; None where there is none."""
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError, TypeError):  # another system, or an older library
        return None
    return found


def reserve(file: IO[bytes], size: int) -> None:
    """Reserve a new file's disk space at once, where the system cannot by writing zeros.

    Raises:
        OSError: there is too little.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, RESERVE_BLOCK):
        file.write(bytes(min(RESERVE_BLOCK, size - start)))
    file.flush()


def block_signals(numbers: Iterable[int]) -> Any:
    """Hold these signals back from this thread and what it starts; return what ``restore_signals``
    takes. Nothing on Windows.
    """
    return (
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        if hasattr(signal, "pthread_sigmask")
        else None
    )


def restore_signals(before: Any) -> None:
    """Undo ``block_signals``."""
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock_signals(numbers: Iterable[int]) -> None:
    """Let these signals through to this thread. Nothing on Windows."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def end_in(seconds: int) -> None:
    """Let the system end this process after so many seconds. Nothing on Windows, where SIGTERM ends
    it at once.
    """
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def address_space() -> int | None:
    """Return the bytes of addresses that this process may use (``ulimit -v``); None without a
    limit.
    """
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def signal_numbers() -> int | None:
    """Return a pipe into which the system writes a byte for every signal of this process, its
    number; None on Windows, which has none.
    """
    if not OPENS_FOLDERS:
        return None
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_quota(groups: str = "/sys/fs/cgroup") -> float | None:
    """Return the processors that this process's container may use, as Linux's control groups tell
    it (both versions); None without a quota.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        words: list[str] = []
        try:
            for name in names:
                with open(f"{groups}/{name}", encoding="ascii") as file:
                    words += file.read().split()
            quota, period = map(int, words)  # "max", and -1, mean none
        except (OSError, ValueError):
            continue
        return quota / period if quota > 0 and period > 0 else None
    return None


@cache
def keep_freed_memory() -> None:
    """Keep up to 64 MiB of freed memory in each arena for reuse, where glibc would return it to the
    system.

    Otherwise work that allocates and frees some megabytes per block has their pages mapped again
    for each block, which takes a third of the time of rotating TSV by white space. Does nothing
    without glibc.
    """
    mallopt = c_function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _MAPPED)
