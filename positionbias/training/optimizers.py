"""Optimisers (one for sparse gradients, one for the rest), warm-up and clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from positionbias.models.protocols import Ranker, Role
from positionbias.training.config import TrainConfig
from positionbias.training.row_adam import RowAdam


def make_optimizers(model: Ranker, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Return SparseAdam for an embedding (Adam would update every word; ``RowAdam`` on a GPU), and
    Adam for the rest, with the kernels' own rate.
    """
    roles = model.parameter_roles()
    assert config.learning_rate is not None
    rates: dict[Role, float] = {
        "body": config.learning_rate,
        "kernels": config.kernel_learning_rate,
    }
    groups = [
        {"params": roles[role], "lr": rate, "base": rate}
        for role, rate in rates.items()
        if roles[role]
    ]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Adam(groups, fused=model.device.type in ("cpu", "cuda"))
    ]
    if embedding := roles["embedding"]:
        rate = config.learning_rate
        kind = RowAdam if model.device.type == "cuda" else torch.optim.SparseAdam
        optimizers.insert(0, kind([{"params": embedding, "lr": rate, "base": rate}], lr=rate))
    return optimizers


def set_learning_rates(
    optimizers: Sequence[torch.optim.Optimizer], step: int, steps: int, config: TrainConfig
) -> float:
    """Set the learning rates of step ``step`` (from 0) of ``steps``; return the body's.

    base · min(1, (step + 1) / warm-up); with the linear schedule after it base · (steps − step) /
    (steps − warm-up).
    """
    warmup = config.warmup_steps or round(config.warmup_share * steps)
    share = 1.0
    if step < warmup:
        share = (step + 1) / warmup
    elif config.schedule == "linear":
        share = max(0.0, (steps - step) / (steps - warmup)) if steps > warmup else 0.0
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["base"] * share
    return optimizers[-1].param_groups[0]["lr"]


def clip_gradients(parameters: Iterable[Tensor], most: float) -> Tensor:
    """Scale gradients, also sparse (coalesced) ones, to a joint norm of at most ``most``; return
    the norm before.
    """
    held = [p.grad for p in parameters if p.grad is not None]
    values = [gradient._values() if gradient.is_sparse else gradient for gradient in held]
    norms = (
        torch.stack([torch.linalg.vector_norm(value) for value in values])
        if values
        else torch.zeros(1)
    )
    norm = torch.linalg.vector_norm(norms)
    share = torch.clamp(most / (norm + math.ulp(1.0)), max=1.0)
    for value in values:
        value.mul_(share)
    return norm
