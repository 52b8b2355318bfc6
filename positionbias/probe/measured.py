"""Term similarity by distance, as rows: MATS, the curve behind it, and what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from positionbias.core.rows import Collected
from positionbias.probe.ats import mats_of

if TYPE_CHECKING:
    from positionbias.probe.term_vectors import Probed

MATS, SIMILARITY = "MATS", "ATS"


def similarity_rows(made: Collected, probed: Probed, **cells: Any) -> None:
    """Add MATS of a probed model with its plain form and deviation, what was read, and its curve: a
    row a distance Δ, whose bounds are one deviation over pairs away.
    """
    curve, mats = probed.curve, mats_of(probed.curve.ats)
    made.add(
        MATS,
        "mean",
        mats.printed,
        reason=mats.undefined,
        count=probed.passages,
        counted="passages",
        **cells,
    )
    numbers = {
        "plain mean": mats.plain,
        "deviation": mats.deviation,
        "largest Δ": len(curve.ats) - 1 if curve.ats else None,
        "fewest terms": min(curve.terms, default=None),
        "pairs": sum(curve.pairs),
        "words": probed.words,
        "unknown words": probed.unknown,
        "passages at the length limit": probed.at_limit,
        "terms at the next Δ": curve.terms_after,
        "later Δ left out": curve.later,
    }
    for name, number in numbers.items():
        made.add(MATS, name, number, **cells)
    for delta, value in enumerate(curve.ats):
        place: dict[str, Any] = {**cells, "axis": "Δ", "at": float(delta), "label": str(delta)}
        spread = curve.over_pairs[delta]
        bounds: dict[str, Any] = {"count": curve.terms[delta], "counted": "terms"}
        if spread is not None:
            bounds |= {"low": value - spread, "high": value + spread, "interval": "pairs"}
        made.add(SIMILARITY, "mean", value, **place, **bounds)
        made.add(SIMILARITY, "pairs", curve.pairs[delta], **place)
        made.add(SIMILARITY, "over terms", curve.over_terms[delta], **place)
        made.add(SIMILARITY, "over pairs", spread, **place)
