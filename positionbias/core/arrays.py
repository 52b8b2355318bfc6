"""Read ``.npy`` files that may be damaged; numpy reads their headers with Python's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError

import numpy as np

__all__ = ["damaged_heads", "mapped_array"]


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
