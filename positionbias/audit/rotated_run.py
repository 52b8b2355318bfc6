"""A user's run over a rotated collection."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.collection import Collection
from positionbias.core.run import Run

__all__ = ["RotatedRun"]


@dataclass(frozen=True, slots=True)
class RotatedRun:
    """A rotated collection, such as ``posbias debias`` writes, and the system's run over it."""

    collection: Collection
    run: Run
