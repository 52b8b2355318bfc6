"""Arrays in ``.npy`` files, whose head numpy reads as Python's: what it lets through of that is an error like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tokenize import TokenError

__all__ = ["damaged_heads"]


@contextmanager
def damaged_heads() -> Iterator[None]:
    """Turn what Python's own parser says of a damaged head into the ValueError that numpy raises for all other damage."""
    try:
        yield
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"a head that cannot be read ({error})") from error
