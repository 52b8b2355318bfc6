"""Find the batch size that would fit, for a batch that exceeds the GPU's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from positionbias.core.errors import SettingError


def fitting_size(attempt: Callable[[int], None], size: int) -> int:
    """Return the largest of size/2, size/4 … 1 at which ``attempt`` does not run out of memory; 0
    if none fits.
    """
    while size := size // 2:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        try:
            attempt(size)
        except torch.OutOfMemoryError:
            continue
        return size
    return 0


def room_for_moments(optimizers: Sequence[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """Return two tensors for each parameter without moments: an attempt must leave room for those
    of a first step.
    """
    parameters = [
        parameter
        for optimizer in optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter not in optimizer.state
    ]
    return [torch.empty_like(parameter) for parameter in parameters for _ in range(2)]


def out_of_memory(
    size: int, fits: int, *, accumulate: int, where: str, folder: object
) -> SettingError:
    """Return the one-line error for a batch of ``size`` groups that did not fit, when ``fits``
    would.
    """
    found = (
        f"--batch-size: wanted room for {size} groups in the GPU's memory; found too little of it, "
        f"{where}; "
    )
    if not fits:
        return SettingError(
            f"{found}not even one group fits: cut the texts shorter, lower --group-size, or give "
            "--precision bfloat16"
        )
    parts = accumulate * -(-size // fits)
    same = "the same number a step" if size % fits == 0 else f"{fits * parts} a step"
    return SettingError(
        f"{found}{fits} fit: give --batch-size {fits} --accumulate {parts} ({same}), and start "
        f"over (remove {folder})"
    )
