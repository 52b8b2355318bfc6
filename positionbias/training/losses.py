"""Losses over training groups. A group's first passage is its positive."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["pairwise_hinge"]


def pairwise_hinge(positive: Tensor, negative: Tensor, margin: float = 1.0) -> Tensor:
    """mean(max(0, margin − positive + negative)) over pairs ``(batch,)`` (position-bias paper, §3).

    >>> pairwise_hinge(torch.tensor([2.0, 0.5]), torch.tensor([0.5, 0.0])).item()
    0.25
    """
    return torch.clamp(margin - positive + negative, min=0).mean()
