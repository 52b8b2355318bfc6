"""Figures over buckets, made by hand."""

from __future__ import annotations

from typing import Any

from positionbias.evaluation.described import BucketFigures, Slope

__all__ = ["bucket_figures"]

NOTHING = {
    "queries": 0, "outside": 0, "without_position": 0, "minimum": 20, "left_out": 0,
    "too_small": [], "level": 0.95, "slope": Slope(),
    "slope_unit": "",
}  # fmt: skip


def bucket_figures(**figures: Any) -> BucketFigures:
    """Figures of no query, but for these."""
    return BucketFigures(**{**NOTHING, **figures})
