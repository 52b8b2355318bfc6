"""The score of a model with two logits, not relevant and relevant: the log-probability of
relevant.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def log_relevance(logits: Tensor) -> Tensor:
    """Compute log softmax(logits)₁ = log σ(l₁ − l₀), ``(n, 2)`` → ``(n,)`` (Nogueira et al. 2019
    and 2020).

    In full precision, and exact to rounding also near 0: scores of almost certainly relevant
    passages remain distinguishable, and 1 − p is kept, up to a difference of logits of 87 in
    float32.
    """
    logits = logits.float()
    return F.logsigmoid(logits[:, 1] - logits[:, 0])
