"""Streams: threads that each compute whole parts of a batch, instead of sharing each operation.

Threads that share an operation wait for each other at its end, some hundred times a batch, which on
a busy machine takes longer than their work. Streams meet once a batch. Each computes on one thread
where torch has up to seven, so that their number does not change a part's numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import torch

from positionbias.models.onednn import thread_pool

T = TypeVar("T")
R = TypeVar("R")
_MOST = 4  # as many as a batch on a CPU has parts; more threads are divided among them


def in_streams(work: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """Return ``work`` of each part, in order, computed on as many threads as torch has on a CPU."""
    threads = torch.get_num_threads()
    if threads == 1:
        return [work(part) for part in parts]
    return list(_pool(os.getpid(), threads).map(work, parts))


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the streams of a process; a fork has none of its parent's threads."""
    count = min(threads, _MOST)
    return thread_pool(count, "streams", each=threads // count)
