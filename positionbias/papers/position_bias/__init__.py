"""The studies of position: effects of a collection's bias on re-rankers, other models, remedies,
training on another collection.

"Mitigating the Position Bias of Transformer Models in Passage Re-Ranking" (ECIR 2021), Figures 1
and 2 and Tables 1 to 5. All are one grid of trainings and tests, and write the same rows; the names
that these use stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from positionbias.models.shapes import Positions

PAPER = "Mitigating the Position Bias of Transformer Models in Passage Re-Ranking (ECIR 2021)"
# roles of systems
FIRST, POSITION, RERANKER = "first stage", "position", "re-ranker"
# families of comparisons begin with these: one system on rotated and on original test passages; two
# trainings on the same passages; a model and a baseline; rotated data and a model with other
# positions; a remedy and none
TEST_SETS, TRAININGS, BASELINES = "test passages", "trainings", "baselines"
INSTEAD, REMEDIES = "rotated data or another model", "remedies"
# subsets of test queries
WHOLE, CUT = "answer left whole", "answer cut"
VARIANTS: Mapping[Positions, str] = {  # a model's positions in results
    "sinusoid": "sinusoid positions",
    "none": "no positions",
    "relative": "relative positions",
}
MOVED = "moved sentence, end − front"  # the measure of bias, as a share of the evidence's worth
NO_REMEDY = "no remedy"
TAUGHT = "taught by rotations"
# remedies in data, loss and model, with their price beside a training without one
IN_TRAINING: Mapping[str, str] = {
    "rotated once": "none",
    "rotated at reading": "none",
    "shuffled at reading": "none",
    "consistent under rotation": "reads twice in training",
    TAUGHT: "trains twice; the teacher reads 4 times",
    "random offsets": "none",
    VARIANTS["none"]: "none",
    VARIANTS["relative"]: "none",
}
OF_TK = frozenset({VARIANTS["none"], VARIANTS["relative"]})
AT_INFERENCE = " at inference"  # ends the name of such a remedy in results


class Shift(StrEnum):
    """The answer to what rotating the test passages does to a system's effectiveness."""

    FALLS = "falls"
    RISES = "rises"
    NONE = "no change beyond the margin"
    UNKNOWN = "cannot tell"
    UNFINISHED = "training not finished"
    IDLE = "re-ranks nothing"
