"""The contamination study: "Training on the Test Model: Contamination in Ranking Distillation"
(2024), Tables 1 and 2.
"""

from __future__ import annotations

__all__ = ["HEADLINE", "TARGETS", "target_of"]

HEADLINE = "nDCG@10"
TARGETS = {
    "dl19": "Deep Learning 2019",
    "dl20": "Deep Learning 2020",
    "covid": "TREC COVID",
}  # a split's name → its name in Table 1


def target_of(split: str) -> str | None:
    """Return the paper's test collection that a split is named for (in a merged collection after a
    prefix), or None.

    >>> target_of("msm.dl19"), target_of("validation")
    ('Deep Learning 2019', None)
    """
    return TARGETS.get(split.rpartition(".")[2])
