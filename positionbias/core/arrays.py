"""Read arrays from outside: ``.npy`` files that may be damaged, and objects returned by other
people's code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np


@contextmanager
def damaged_heads() -> Iterator[None]:
    """Turn errors of Python's parser, with which numpy reads headers, into the ValueError that it
    raises for other damage.
    """
    try:
        yield
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"a head that cannot be read ({error})") from error


def mapped_array(path: Path) -> np.ndarray:
    """Map the array of a file; a header that claims more than the file holds allocates nothing.

    Raises:
        ValueError, EOFError, OSError: no whole array.
    """
    with damaged_heads():
        return np.load(path, mmap_mode="r")


def as_array(given: Any) -> np.ndarray:
    """Convert a tensor, or a list of tensors or numbers, to an array; uneven rows give an array of
    objects.
    """
    if isinstance(given, list | tuple) and given and all(hasattr(one, "detach") for one in given):
        given = [as_array(one) for one in given]
    if hasattr(given, "detach"):  # a tensor, perhaps with gradients, on a GPU, or in bfloat16
        given = given.detach().cpu().float().numpy()
    try:
        return np.asarray(given)
    except ValueError:  # rows of uneven length
        return np.array([None])
