"""The studies of position: effects of a collection's bias on re-rankers, levels of bias, other
models, remedies, training on another collection.

"Mitigating the Position Bias of Transformer Models in Passage Re-Ranking" (ECIR 2021), Figure 1 and
Tables 1 to 5. All are one grid of trainings and tests, and write the same rows; the names that
these use stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from positionbias.models.remedies import Remedy, read_remedy
from positionbias.models.shapes import Positions

__all__ = [
    "AT_INFERENCE",
    "BASELINES",
    "CALIBRATE",
    "CHANGE",
    "CONSISTENCY",
    "CONSISTENT",
    "CUT",
    "DOMINANCE",
    "FIRST",
    "INSTEAD",
    "IN_TRAINING",
    "LEVELS",
    "MOVED",
    "NO_REMEDY",
    "OF_TK",
    "PAPER",
    "POSITION",
    "REMEDIES",
    "RERANKER",
    "TAUGHT",
    "TEACHER",
    "TEST_SETS",
    "TRAININGS",
    "VARIANTS",
    "WHOLE",
    "Shift",
    "price_of",
]

PAPER = "Mitigating the Position Bias of Transformer Models in Passage Re-Ranking (ECIR 2021)"
# roles of systems
FIRST, POSITION, RERANKER = "first stage", "position", "re-ranker"
# families of comparisons begin with these: one system on rotated and on original test passages; two
# trainings on the same passages; a model and a baseline; the change by rotation at two levels of
# front-loading; rotated data and a model with other positions; a remedy and none; any two remedies
TEST_SETS, TRAININGS, BASELINES, LEVELS = "test passages", "trainings", "baselines", "levels"
INSTEAD, REMEDIES, DOMINANCE = "rotated data or another model", "remedies", "dominance"
# subsets of test queries
WHOLE, CUT = "answer left whole", "answer cut"
CHANGE = "change by rotation"
VARIANTS: Mapping[Positions, str] = {  # a model's positions in results
    "sinusoid": "sinusoid positions",
    "none": "no positions",
    "relative": "relative positions",
}
MOVED = "moved sentence, end − front"  # the measure of bias, as a share of the evidence's worth
NO_REMEDY = "no remedy"
CONSISTENT = "consistent under rotation"
TAUGHT = "taught by rotations"
CONSISTENCY = (0.1, 0.3, 1.0)  # the weights of consistency, of which validation chooses [decision]
TEACHER = Remedy("rotate", 4)  # with which the scores of the model without a remedy teach
IN_TRAINING = (  # remedies in data, loss and model
    "rotated once",
    "rotated at reading",
    "shuffled at reading",
    CONSISTENT,
    TAUGHT,
    "random offsets",
    "no positions",
    "relative positions",
)
CALIBRATE = "calibrate"  # the remedy at inference whose settings validation chooses
AT_INFERENCE = " at inference"  # ends the name of such a remedy in results
OF_TK = frozenset({"no positions", "relative positions"})
_PRICES = {
    CONSISTENT: f"trains {len(CONSISTENCY)} times, reading twice",
    TAUGHT: f"trains twice; the teacher reads {TEACHER.times} times",
}


class Shift(StrEnum):
    """The answer to what rotating the test passages does to a system's effectiveness."""

    FALLS = "falls"
    RISES = "rises"
    NONE = "no change beyond the margin"
    UNKNOWN = "cannot tell"
    UNFINISHED = "training not finished"
    IDLE = "re-ranks nothing"


def price_of(variant: str) -> str:
    """Return what a remedy costs beside a training, and readings, without it.

    >>> (
    ...     price_of("rotated once"),
    ...     price_of("rotate:4 at inference"),
    ...     price_of("segments-max:3 at inference"),
    ... )
    ('none', 'reads 4 times', 'reads once, in parts')
    """
    name = variant.removesuffix(AT_INFERENCE)
    if name == variant:
        return _PRICES.get(variant, "none")
    if name == CALIBRATE:
        return "reads once, slower"
    times = read_remedy(name).times
    return f"reads {times} times" if times > 1 else "reads once, in parts"
