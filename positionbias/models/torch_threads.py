"""The number of threads of torch and numpy in a block, as another number changes the last bits of a
product.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Compute on ``count`` threads within the block, also in threads that start there; 0 leaves
    their number as it is.
    """
    if not count:
        yield
        return
    before = torch.get_num_threads()
    with threadpool_limits(count, user_api="blas"):  # numpy's
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
