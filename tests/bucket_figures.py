"""Figures over buckets, made by hand."""

from __future__ import annotations

from typing import Any

from positionbias.results.buckets import BucketFigures

__all__ = ["bucket_figures"]

NOTHING = {
    "queries": 0, "outside": 0, "without_position": 0, "minimum": 20, "left_out": 0,
    "too_small": [], "level": 0.95, "slope": None,
    "slope_unit": "",
}  # fmt: skip


def bucket_figures(**rows: Any) -> BucketFigures:
    """Figures of no query, but for these, by their names in JSON."""
    return BucketFigures.from_rows({**NOTHING, **rows})
