"""Payloads of collections whose evidence sentences were placed by a density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.results.curves import MovesFigures

__all__ = ["PlaceHistogram", "SentenceMoves"]


@dataclass(frozen=True, slots=True)
class PlaceHistogram:
    """The wanted and reached places of evidence sentences, or answers, in their passages: one entry
    per bin; ``edges`` has one more.

    ``wanted`` are the shares of the density, ``reached`` are counts; ``before`` counts the same
    sentences in the original (empty: not counted). ``chi_square`` with ``freedom`` degrees tests
    whether ``reached`` was drawn from the density, within each number of sentences; None if the
    density is deterministic, or without a test.
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
    """The distances over which evidence sentences moved: one entry per distance in sentences,
    from 0.

    ``counts`` are questions (a question counts once per relevant passage); ``uniform`` is their
    mean number under uniform placing of the same sentences. ``weights`` are a question's at each
    distance (empty: distances were not matched); weighted counts equal those of uniform placing.
    ``figures`` summarises them.
    """

    counts: Sequence[int]
    uniform: Sequence[float]
    weights: Sequence[float]
    figures: MovesFigures
