"""What a tile says of a training that is not finished: it decides nothing."""

from __future__ import annotations

from positionbias.results.payloads import Comparison
from positionbias.results.result import Result

__all__ = ["TRAIN_LONGER", "UNFINISHED", "not_finished"]

UNFINISHED = "Training not finished"
TRAIN_LONGER = "Train longer: validation still rose when the training ended, so nothing is decided."


def not_finished(result: Result) -> bool:
    """Return whether a comparison is of a training that was not finished, or with one."""
    payload = result.payload
    return result.facts.unfinished or (
        isinstance(payload, Comparison) and bool(payload.noted.baseline.get("unfinished"))
    )
