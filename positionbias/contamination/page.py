"""The part of a page on models that may have seen a test."""

from __future__ import annotations

from positionbias.contamination.cards import add_suspicions
from positionbias.contamination.tiles import suspicion_tiles
from positionbias.report.parts import Part

__all__ = ["PART"]

PART = Part(tiles=suspicion_tiles, found=add_suspicions)
