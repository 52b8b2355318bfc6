"""This process on its system: the signals that stop it, how many threads compute and how they wait,
and what operating systems do differently.

Ctrl-C (SIGINT) and SIGTERM, which schedulers send, both raise ``KeyboardInterrupt``, so the same
code cleans up after either; the exit code tells which.

The number of threads follows what the process may use (affinity, a container's quota), never what
others leave free at the moment: another number of threads changes the last bits of a product, and
the same input must give the same output. What does follow the load is how threads wait. By default
they spin at the end of each parallel step, which on a busy machine takes time from the thread
waited for; they sleep instead.

No other module imports ``fcntl``, ``resource`` or ``msvcrt``, reads ``/proc`` or calls the C
library. Each function says what it does on a system that has none of it. Nothing heavy is imported
here, as this runs before all else, and torch reads variables of threads when it is loaded.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
import time
from functools import cache

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None  # type: ignore[assignment]

TYPE_CHECKING = False  # as in the package's __init__
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping
    from types import FrameType
    from typing import IO, Any, TypeVar

    Item = TypeVar("Item")
    Out = TypeVar("Out")

OPENS_FOLDERS = hasattr(
    os, "O_DIRECTORY"
)  # Windows opens none: there no folder can be synced, and names in it are used by path
RESERVE_BLOCK = 1 << 24
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for mallopt
# what glibc itself comes to once it has freed a block of 32 MiB
_MAPPED, _KEPT = 32 << 20, 64 << 20
_worker: int | None = None  # the number of this process among the workers of its command
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# seconds: ``timeout`` and some schedulers signal a process and then its group, as one request
_SAME = 2.0
_DEAF = 10.0  # seconds for Python to hear a signal
_END = 2  # seconds after SIGTERM for a worker process to end by itself
_received = 0
_when = float("-inf")
_late = 0  # a signal that came while it was held back
_held = False


# -- signals that stop it -------------------------------------------------------------------------


def leave_at_once() -> None:
    """Let a signal end the process with one line from now on, as there is nothing to clean up
    yet.
    """
    for number in _SIGNALS:
        # as in the background of a script, or under nohup
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)


def raise_when_stopped() -> None:
    """Let a signal raise from now on, as there is something to clean up. Does nothing unless
    ``leave_at_once`` was called before.

    Python hears a signal only between two of its own steps; a process that a library keeps from
    them is ended.
    """
    if _replace(_leave, _raise) and (pipe := signal_numbers()) is not None:
        try:  # noqa: SIM105 - contextlib is not loaded this early
            threading.Thread(target=_end_the_deaf, args=(pipe,), daemon=True).start()
        except RuntimeError:  # no thread to be had
            pass


def _end_the_deaf(pipe: int) -> None:
    while number := os.read(pipe, 1):
        if number[0] in _SIGNALS:
            time.sleep(_DEAF)
            if not _received and not _late:
                os.write(
                    2,
                    b"posbias: stopped, while a library was waiting; run the same command again to "
                    b"go on\n",
                )
                os._exit(128 + number[0])


def system_default() -> None:
    """Let a signal end the process silently from now on, as all work is done."""
    _replace(_raise, signal.SIG_DFL)


def raise_in_worker() -> None:
    """Raise signals in this worker process only within ``interruptibly``: half a message would
    leave the parent waiting.

    The system ends a worker that gets no more work.
    """
    global _held
    _held = True
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop_worker)
    unblock_signals(_SIGNALS)


def interruptibly(function: Callable[[Item], Out], item: Item) -> Out:
    """Apply ``function`` to the item; a signal to this worker process interrupts it, even one that
    came before.
    """
    global _held
    try:
        _held = False
        if _late or _received:
            raise KeyboardInterrupt
        return function(item)
    finally:
        _held = True


class held_back:
    """A short block that raises signals only at its end. Processes started within it receive none
    before ``raise_in_worker``.
    """

    def __enter__(self) -> None:
        global _held
        self._before, _held = _held, True  # other threads of this process receive them in any case
        self._blocked = block_signals(_SIGNALS)  # which is inherited

    def __exit__(self, *raised: object) -> None:
        global _held, _late
        restore_signals(self._blocked)
        _held = self._before
        if _late and not _held:
            number, _late = _late, 0
            _raise(number, None)


def stopped() -> bool:
    """Return True if a signal has asked this process to stop."""
    return _received != 0


def exit_code() -> int:
    """Return 128 + the signal's number, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (_received or signal.SIGINT)


def _replace(ours: object, new: object) -> bool:
    """Replace a handler, and return True if it was there."""
    replaced = [number for number in _SIGNALS if signal.getsignal(number) is ours]
    for number in replaced:
        signal.signal(number, new)  # type: ignore[arg-type]
    return bool(replaced)


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"posbias: stopped before it began\n")
    finally:
        os._exit(128 + number)


def _raise(number: int, frame: FrameType | None) -> None:
    global _received, _when, _late
    if _held:
        _late = number
        return
    before, _when = _when, time.monotonic()
    if number == signal.SIGTERM == _received and _when - before < _SAME:
        return
    _received = number
    try:
        end_workers()
    finally:
        raise KeyboardInterrupt


def _stop_worker(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGTERM:
        end_in(_END)
    _raise(number, frame)


def end_workers() -> None:
    """Stop worker processes: Ctrl-C reaches every process of a terminal, but other signals may
    reach this one alone.
    """
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.terminate()


# -- threads --------------------------------------------------------------------------------------


def cores() -> int:
    """Return the number of processors that this process may use, a part of one counted whole."""
    quota = processor_quota()
    return processors() if quota is None else max(1, min(processors(), math.ceil(quota)))


def let_threads_sleep(environment: MutableMapping[str, str]) -> None:
    """Let the threads of numerical libraries that are loaded later sleep while they wait; a user's
    own variables stay.

    ``import positionbias`` calls it, for notebooks; their number of threads, which changes the last
    bits of products, is left alone.
    """
    if not any(name in environment for name in _WAITING):
        environment["OMP_WAIT_POLICY"] = "passive"


def share_the_machine(environment: MutableMapping[str, str]) -> None:
    """Let the threads of numerical libraries sleep while they wait, and be no more than a
    container's quota; a user's own variables stay.

    It has an effect on libraries that are loaded later, and on processes started later.
    """
    let_threads_sleep(environment)
    if cores() < processors():
        environment.setdefault("OMP_NUM_THREADS", str(cores()))


def share_devices(worker: int, workers: int) -> None:
    """Make this process one of several on this machine: its threads are its share of the
    processors, its GPU is its own while there are enough.

    It has an effect on libraries that are loaded later. A user's own number of threads stays.
    """
    global _worker
    _worker = worker
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // workers)))


def own_gpu(gpus: int) -> str:
    """Return the name of this process's GPU among ``gpus``: the first, or in a worker its own."""
    return "cuda" if _worker is None else f"cuda:{_worker % gpus}"


# -- what systems do differently ------------------------------------------------------------------


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
