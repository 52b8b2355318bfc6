"""Packing by Unix ``compress``."""

from __future__ import annotations

import ncompress

from positionbias.formats.unix_compress import with_own_stack

__all__ = ["lzw"]


def lzw(data: bytes) -> bytes:
    """Pack, also beside a Java machine that another test has started in this process."""
    packed: bytes = with_own_stack(lambda: ncompress.compress(data))
    return packed
