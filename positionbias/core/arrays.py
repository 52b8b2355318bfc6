"""Errors of damaged ``.npy`` headers, which numpy reads with Python's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tokenize import TokenError

__all__ = ["damaged_heads"]


@contextmanager
def damaged_heads() -> Iterator[None]:
    """Turn the parser errors of a damaged header into the ValueError that numpy raises for all other damage."""
    try:
        yield
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"a head that cannot be read ({error})") from error
