"""Losses over training groups: functions of the scores of each group's passages, of which the first is the positive.

Scores are ``(groups, passages)``, losses ``(groups,)``; a step's loss is the mean over its groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from positionbias.training.config import TrainConfig

__all__ = ["FUNCTIONS", "group_losses", "log_one_minus_exp", "pairwise_hinge", "pointwise"]


def pairwise_hinge(scores: Tensor, margin: float = 1.0) -> Tensor:
    """mean over negatives of max(0, margin − positive + negative) (position-bias paper, §3, whose groups are pairs).

    >>> pairwise_hinge(torch.tensor([[2.0, 0.5], [0.5, 0.0]])).tolist()
    [0.0, 0.5]
    """
    return torch.clamp(margin - scores[:, :1] + scores[:, 1:], min=0).mean(dim=1)


def pointwise(scores: Tensor) -> Tensor:
    """Cross-entropy of each passage for itself: mean over passages of −log p of the positive, −log(1 − p) of a negative.

    Scores are log p, p the probability of "relevant" (monoBERT, Nogueira et al. 2019; monoT5, Nogueira et al. 2020).

    >>> pointwise(torch.tensor([[0.5, 0.25]]).log()).item()  # (log 2 + log 4/3) / 2
    0.4904...
    """
    return -torch.cat([scores[:, :1], log_one_minus_exp(scores[:, 1:])], dim=1).mean(dim=1)


def log_one_minus_exp(scores: Tensor) -> Tensor:
    """log(1 − exp(s)) for s ≤ 0, exact to rounding on both sides of −log 2; of s = 0 the least that the number type has, −87."""
    near = scores > -math.log(2)  # two forms, each exact where the other cancels; neither sees what it cannot take
    small = torch.where(near, scores, -1.0).clamp(max=-torch.finfo(scores.dtype).tiny)
    large = torch.where(near, -1.0, scores)
    return torch.where(near, torch.log(-torch.expm1(small)), torch.log1p(-torch.exp(large)))


# by the names of ``config.LOSSES``
FUNCTIONS: Mapping[str, Callable[[Tensor, TrainConfig], Tensor]] = {
    "hinge": lambda scores, config: pairwise_hinge(scores, config.margin),
    "pointwise": lambda scores, config: pointwise(scores),
}


def group_losses(scores: Tensor, config: TrainConfig) -> Tensor:
    """Losses ``(groups,)`` of scores ``(groups, passages)`` by the loss that the settings name."""
    assert config.loss is not None
    return FUNCTIONS[config.loss](scores, config)
