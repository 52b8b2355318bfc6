"""The studies of position: effects of a collection's bias on re-rankers, levels of bias, other models, training on another collection.

"Mitigating the Position Bias of Transformer Models in Passage Re-Ranking" (ECIR 2021), Figure 1 and Tables 1 to 5. Results have
the general payloads.
"""

from __future__ import annotations

from collections.abc import Mapping

from positionbias.models.shapes import Positions

__all__ = ["ARCHITECTURES", "DOSES", "PAPER", "VARIANTS"]

PAPER = "Mitigating the Position Bias of Transformer Models in Passage Re-Ranking (ECIR 2021)"
DOSES = "doses"  # the axis of comparisons of one level's change with another's
ARCHITECTURES = "data or model"  # the axis of comparisons of rotated data with a changed model
VARIANTS: Mapping[Positions, str] = {  # a model's positions in results
    "sinusoid": "sinusoid positions",
    "none": "no positions",
    "relative": "relative positions",
}
