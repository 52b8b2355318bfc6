"""How many threads compute, and how they wait for each other.

The number follows what the process may use (affinity, a container's quota), never what others leave
free at the moment: another number of threads changes the last bits of a product, and the same input
must give the same output. What does follow the load is how threads wait. By default they spin at
the end of each parallel step, which on a busy machine takes time from the thread waited for; they
sleep instead.

Nothing heavy is imported here, as torch reads these variables when it is loaded.
"""

from __future__ import annotations

import math
import os

from positionbias.core.system import processor_quota, processors

TYPE_CHECKING = False  # as in the package's __init__
if TYPE_CHECKING:
    from collections.abc import MutableMapping

_worker: int | None = None  # the number of this process among the workers of its command
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


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
