"""Arrays from outside: ``.npy`` files that may be damaged, whose headers numpy reads with Python's own parser; what foreign code gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

__all__ = ["as_array", "damaged_heads", "mapped_array"]


@contextmanager
def damaged_heads() -> Iterator[None]:
    """Turn the parser errors of a damaged header into the ValueError that numpy raises for all other damage."""
    try:
        yield
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"a head that cannot be read ({error})") from error


def mapped_array(path: Path) -> np.ndarray:
    """Map the array of a file, so that a header which claims more than the file holds allocates nothing.

    Raises:
        ValueError, EOFError, OSError: no whole array.
    """
    with damaged_heads():
        return np.load(path, mmap_mode="r")


def as_array(given: Any) -> np.ndarray:
    """Return what foreign code gave as an array: a tensor, a list of tensors or numbers; of objects, if rows are uneven."""
    if isinstance(given, list | tuple) and given and all(hasattr(one, "detach") for one in given):
        given = [as_array(one) for one in given]
    if hasattr(given, "detach"):  # a tensor, perhaps with gradients, on a GPU, or in bfloat16
        given = given.detach().cpu().float().numpy()
    try:
        return np.asarray(given)
    except ValueError:  # rows of uneven length
        return np.array([None])
