"""Captions of figures: one or two sentences with the main numbers, also the text for readers who
cannot see them.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import decimal
from positionbias.results.payloads import AtsCurve
from positionbias.results.result import Result
from positionbias.results.select import distinct, labels, of_kind

__all__ = ["ats_caption"]

MOST_NAMED = 8  # models whose numbers a caption repeats


def ats_caption(results: Sequence[Result]) -> str:
    """Give MATS of each model, explain the band, and say where curves end for lack of terms."""
    found = of_kind(results, "ats")
    curves = [result.payload for result in found if isinstance(result.payload, AtsCurve)]
    values = "; ".join(
        f"{label} {decimal(result.value)}"
        for result, label in zip(found, labels(found), strict=True)
    )
    bands = distinct(curve.figures.std_pairs_is for curve in curves if curve.figures.std_pairs_is)
    ends = distinct(
        curve.figures.minimum_terms for curve in curves if curve.figures.cut_at is not None
    )
    sentences = [
        "A model without position dependence would show a level line.",
        f"MATS as printed: {values}.",
    ]
    if bands:
        sentences.append(f"Bands: {'; '.join(bands)}.")
    if ends:
        sentences.append(
            f"An upright bar: fewer than {' or '.join(map(str, ends))} terms at the next Δ, where "
            "the curve ends."
        )
    return " ".join(sentences)
