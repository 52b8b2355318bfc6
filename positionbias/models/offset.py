"""Read passages from another position than the first, in training, so that a model cannot learn
what stands where.

One offset for all texts of a batch [decision]: batches differ in it, and a batch stays one
computation. TK's queries stay where they are; an encoder reads all of its input from the offset on,
at most as far as it has positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from positionbias.core.errors import SettingError

_OFFSET: ContextVar[int] = ContextVar("position offset", default=0)


@contextmanager
def read_from(offset: int) -> Iterator[None]:
    """Let models read texts from this position on meanwhile, in this thread."""
    before = _OFFSET.set(offset)
    try:
        yield
    finally:
        _OFFSET.reset(before)


def position_offset() -> int:
    """Return the present offset, in positions."""
    return _OFFSET.get()


def check_offsets(model: Any) -> None:
    """Check that a model has absolute positions.

    Raises:
        SettingError: it has none; an offset would change nothing.
    """
    encoder = getattr(model, "encoder", None)
    if getattr(model, "positions", None) is None and not getattr(encoder, "absolute", False):
        raise SettingError(
            f"--offset-positions: wanted a model with absolute positions; found {model.kind} with "
            "relative ones or none, which an offset does not change; leave it out"
        )
