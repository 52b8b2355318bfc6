"""Memory allocation of this process."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for mallopt
_BYTES = 1 << 28


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Keep up to 256 MiB of freed memory for reuse, where glibc would return it to the system.

    Otherwise work that allocates and frees some megabytes per block has their pages mapped again for each block, which takes a
    third of the time of rotating TSV by white space. Does nothing without glibc.
    """
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_TRIM_THRESHOLD, _BYTES)
    mallopt(_MMAP_THRESHOLD, _BYTES)
