"""What a step with a model computed on its device, for its manifest."""

from __future__ import annotations

import platform

import torch

from positionbias.core.computed import Computed, Spent
from positionbias.core.system import processor_names
from positionbias.ranking.config import Spread

__all__ = ["computed_on", "hardware_of", "shared_by"]


def hardware_of(device: torch.device) -> str:
    """Return the name of a GPU, or of this machine's processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return next(processor_names(), platform.processor() or platform.machine())


def shared_by(spread: Spread | None, blocks: int) -> int | None:
    """Return how many processes shared a machine for so many blocks, None if unknown; one block alone stays in the command's own process."""
    if spread is None or blocks < 2:
        return 1
    return spread.workers and min(spread.workers, blocks)


def computed_on(
    device: torch.device,
    spent: Spent,
    *,
    workers: int | None = 1,
    passages: int = 0,
    pairs: int = 0,
    products: int = 0,
) -> Computed:
    """Return what was computed on devices like this one, by workers that spent so much in all."""
    return Computed(
        spent=Spent(round(spent.seconds, 3), round(spent.processor, 3), spent.memory),
        device=device.type,
        hardware=hardware_of(device),
        threads=torch.get_num_threads(),
        workers=workers,
        passages=passages,
        pairs=pairs,
        products=products,
    )
