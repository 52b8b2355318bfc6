"""How many threads to compute with."""

from __future__ import annotations

import os

__all__ = ["cores"]


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
