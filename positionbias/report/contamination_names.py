"""How tables and figures of a contamination study name its systems."""

from __future__ import annotations

from positionbias.results.result import Facts
from positionbias.results.select import model_name

__all__ = ["loss_name", "short_label", "system_label"]

LOSSES = {
    "lce": "LCE",
    "margin_mse": "MarginMSE",
    "kl": "KL\u00a0div.",
    "ranknet": "RankNet",
    "hinge": "hinge",
    "pointwise": "pointwise",
}


def loss_name(facts: Facts) -> str:
    """A loss as the paper writes it."""
    return LOSSES.get(facts.loss, facts.loss)


def system_label(facts: Facts) -> str:
    """A system without its contamination, as a row or a panel names it."""
    return f"{facts.role} {short_label(facts)}"


def short_label(facts: Facts) -> str:
    """As ``system_label``, without the role: a teacher's loss is never a student's."""
    return f"{model_name(facts)}, {loss_name(facts)}"
