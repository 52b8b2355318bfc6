"""What torch's oneDNN can do on this processor, and threads for it."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import torch

_SHAPES = "128"  # products that are kept prepared: several times those of a training step
# of oneDNN, and of torch's layer above it
_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


@cache
def has_onednn() -> bool:
    """Return True if torch has oneDNN's linear layer on this processor."""
    _keep_few_products()
    there = hasattr(torch.ops.mkldnn, "_linear_pointwise") and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )
    return (
        there
        and torch.backends.mkldnn.is_available()
        and platform.machine().lower() in {"x86_64", "amd64"}
    )


def _keep_few_products() -> None:
    """Bound the memory of prepared products, unless the user did; read when the first one is made.

    oneDNN generates code for each shape of a product, and torch keeps it a second time: 0.6 MiB a
    shape in all. By default both keep 1,024, which grow by hundreds of MiB where batches differ in
    length, and keep freed memory around them from going back to the system.
    """
    for name in _CACHES:
        os.environ.setdefault(name, _SHAPES)


def multiplies_bfloat16() -> bool:
    """Return True if this processor has instructions for products in bfloat16."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def thread_pool(count: int, name: str, *, each: int = 1) -> ThreadPoolExecutor:
    """Return a pool of ``count`` threads, in each of which torch computes on ``each``."""
    before, ready = torch.get_num_threads(), Barrier(count)

    def begin() -> None:
        torch.get_num_threads()  # torch sets a thread's number at its first call
        torch.set_num_threads(each)
        ready.wait()

    pool = ThreadPoolExecutor(count, name)
    for started in [pool.submit(begin) for _ in range(count)]:
        started.result()
    torch.set_num_threads(before)  # for threads that start later
    return pool
