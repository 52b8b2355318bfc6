"""The margin of a study's changes."""

from __future__ import annotations

__all__ = ["MARGIN"]

MARGIN = 0.03  # a change whose whole interval lies within ±3 % counts as none [decision]
