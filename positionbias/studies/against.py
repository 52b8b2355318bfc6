"""When a study's result goes against its paper."""

from __future__ import annotations

__all__ = ["APART", "LOOK", "MARGIN"]

MARGIN = 0.03  # a change whose whole interval lies within ±3 % is called none [decision]
APART = 0.005  # two printed means that differ by less are called alike [decision]
LOOK = "look for the reason before calling it a finding"
