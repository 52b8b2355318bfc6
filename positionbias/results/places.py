"""What Results hold about collections whose evidence sentences were put at places of a density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.results.curves import MovesFigures

__all__ = ["PlaceHistogram", "SentenceMoves"]


@dataclass(frozen=True, slots=True)
class PlaceHistogram:
    """Where evidence sentences, or answers, were to stand in their passages, and where they stand: one entry a bin, ``edges`` one more.

    ``wanted`` are the shares that the density asks for, ``reached`` counts; ``before`` counts the same sentences in the original (empty: not
    counted). ``chi_square`` on ``freedom`` degrees tests whether ``reached`` was drawn from the density, within each number of sentences;
    None where the density leaves nothing to chance, or nothing is tested.
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
    """How far evidence sentences were moved: one entry a distance in sentences, from 0.

    ``counts`` are questions (one that is relevant to several passages counts in each); ``uniform`` is how many would have moved so far by uniform
    placing of the same sentences, on average over draws. ``weights`` are a question's at each distance (empty: distances were not matched); with
    them as many moved so far as by uniform placing. ``figures`` sums them up.
    """

    counts: Sequence[int]
    uniform: Sequence[float]
    weights: Sequence[float]
    figures: MovesFigures
