"""Figures that the papers print, to stand beside ours."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MATS_PUBLISHED"]

# position-bias paper, Table 2, the MS MARCO columns: training -> (MATS, standard deviation)
MATS_PUBLISHED: Mapping[str, tuple[float, float]] = {"tk-original": (0.176, 0.046), "tk-rotated": (0.021, 0.006)}
