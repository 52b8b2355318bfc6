"""What an ensemble of runs holds, as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.results.result import Result
from positionbias.results.runs import EnsembleFigures
from positionbias.results.select import of_type

__all__ = ["ensemble_text"]


def ensemble_text(results: Sequence[Result]) -> str:
    """Return how many runs an ensemble is made of, and what it holds."""
    ((_, figures),) = of_type(results, EnsembleFigures)
    return (
        f"{len(figures.missing)} runs as one: {figures.passages:,} passages of {figures.queries:,} "
        "queries"
    )
