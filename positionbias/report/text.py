"""Results as text for a terminal: each kind of measurement has one function that writes it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from positionbias.results.result import Result

__all__ = ["TEXTS", "text_of"]

# the first result's payload -> the module in this part, and the function there, that writes all of them
TEXTS = {
    "EnsembleFigures": ("evaluation_text", "ensemble_text"),
    "PassageFigures": ("collection_text", "collection_text"),
    "PerQuery": ("evaluation_text", "evaluation_text"),
    "PlacementFigures": ("collection_text", "placement_text"),
    "PositionHistogram": ("position_text", "positions_text"),
    "RotationFigures": ("collection_text", "rotation_text"),
    "SelectionFigures": ("collection_text", "selection_text"),
}


def text_of(results: Sequence[Result]) -> str:
    """Return the results in words and tables."""
    module, name = TEXTS[type(results[0].payload).__name__]
    text: str = getattr(import_module(f"positionbias.report.{module}"), name)(results)
    return text
