"""Payloads about collections whose evidence sentences were placed by a density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.results.curves import MovesFigures

__all__ = ["PlaceHistogram", "SentenceMoves"]


@dataclass(frozen=True, slots=True)
class PlaceHistogram:
    """The wanted and reached places of evidence sentences, or answers, in their passages: one entry a bin, ``edges`` one more.

    ``wanted`` are the shares of the density, ``reached`` counts; ``before`` counts the same sentences in the original (empty: not
    counted). ``chi_square`` on ``freedom`` degrees tests whether ``reached`` was drawn from the density, within each number of sentences;
    None where the density is deterministic, or without a test.
    """

    edges: Sequence[float]
    wanted: Sequence[float]
    reached: Sequence[int]
    before: Sequence[int] = ()
    chi_square: float | None = None
    freedom: int = 0
    p: float | None = None


@dataclass(frozen=True, slots=True)
class SentenceMoves:
    """Distances that evidence sentences moved: one entry a distance in sentences, from 0.

    ``counts`` are questions (one with several relevant passages counts in each); ``uniform`` is their mean number under uniform
    placing of the same sentences. ``weights`` are a question's at each distance (empty: distances were not matched); weighted
    counts equal those of uniform placing. ``figures`` sums them up.
    """

    counts: Sequence[int]
    uniform: Sequence[float]
    weights: Sequence[float]
    figures: MovesFigures
