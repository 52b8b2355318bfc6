"""Thresholds for a study's result against its paper."""

from __future__ import annotations

__all__ = ["APART", "LOOK", "MARGIN"]

MARGIN = 0.03  # a change whose whole interval lies within ±3 % counts as none [decision]
APART = 0.005  # printed means that differ by less count as equal [decision]
LOOK = "look for the reason before calling it a finding"
