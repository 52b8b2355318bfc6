"""The studies of position: effects of a collection's bias on re-rankers, levels of bias, other
models, training on another collection.

"Mitigating the Position Bias of Transformer Models in Passage Re-Ranking" (ECIR 2021), Figure 1 and
Tables 1 to 5. Results have the general payloads.
"""

from __future__ import annotations

from collections.abc import Mapping

from positionbias.models.remedies import Remedy
from positionbias.models.shapes import Positions

__all__ = [
    "ARCHITECTURES",
    "AT_INFERENCE",
    "CALIBRATE",
    "CONSISTENCY",
    "CONSISTENT",
    "DOSES",
    "IN_TRAINING",
    "MOVED",
    "NO_REMEDY",
    "OF_TK",
    "PAPER",
    "REMEDIES",
    "TAUGHT",
    "TEACHER",
    "VARIANTS",
    "place_of",
]

PAPER = "Mitigating the Position Bias of Transformer Models in Passage Re-Ranking (ECIR 2021)"
DOSES = "doses"  # the axis of comparisons of one level's change with another's
ARCHITECTURES = "data or model"  # the axis of comparisons of rotated data with a changed model
VARIANTS: Mapping[Positions, str] = {  # a model's positions in results
    "sinusoid": "sinusoid positions",
    "none": "no positions",
    "relative": "relative positions",
}
REMEDIES = "remedies"  # the axis of comparisons of a remedy with none
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


def place_of(variant: str) -> int:
    """Return a remedy's place in tables: none first, then those in training, then all at
    inference.
    """
    order = (NO_REMEDY, *IN_TRAINING)
    return order.index(variant) if variant in order else len(order)
