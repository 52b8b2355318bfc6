"""Answers of a TripClick study as tiles: do models beat BM25, and which training negatives are
better?
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.schema import converted
from positionbias.evaluation.significance import HOLM
from positionbias.experiments.tiles import compared_tile
from positionbias.papers.tripclick import (
    AGAINST_BM25,
    HEADLINE,
    NEGATIVES,
    compared_along,
    set_name,
    short,
)
from positionbias.report.tiles import Tile
from positionbias.results.result import Facts, Result

__all__ = ["tripclick_tiles"]

_WEAK = "Say nothing about models that do not beat BM25: train them longer, or on other negatives."
_NEGATIVES = "Train on the better negatives of the two."


def tripclick_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each system against BM25 on each test, then one for each pair of training
    sets.
    """
    tiles = [
        compared_tile(
            f"Does it beat BM25 on {result.split}?",
            result.system,
            result,
            payload,
            HOLM,
            good=True,
            advice=_WEAK,
        )
        for result, payload in compared_along(results, AGAINST_BM25)
        if result.measure == HEADLINE
    ]
    for result, payload in compared_along(results, NEGATIVES):
        if result.measure == HEADLINE:
            other = set_name(converted(Facts, payload.noted.baseline))
            question = f"Is training on {set_name(result.facts)} better than on {other}?"
            about = f"{short(result.facts)} on {result.split}"
            tiles.append(
                compared_tile(question, about, result, payload, HOLM, good=True, advice=_NEGATIVES)
            )
    return tiles
