"""Copies to and from a GPU during which neither side waits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

_TURN = 1e-4  # seconds


def send(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy an array to a device; a GPU takes it from pinned memory while the host goes on."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return (
        tensor.pin_memory().to(device, non_blocking=True)
        if device.type == "cuda"
        else tensor.to(device)
    )


class Fetched:
    """A tensor on its way to the host. ``numpy`` waits for it, and only for work begun before
    it.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if tensor.is_cuda:
            self._tensor = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            self._tensor.copy_(tensor, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()
        else:
            self._tensor = tensor

    def numpy(self) -> np.ndarray:
        """Return the tensor's values."""
        if self._event is not None:
            self._event.synchronize()
        return self._tensor.numpy()


@contextmanager
def short_turns() -> Iterator[None]:
    """Let Python's threads change turns fast within the block.

    Each of torch's calls gives its turn away. Beside a thread that tokenizes it would get it back
    after 5 ms, a hundred times a batch.
    """
    turn = sys.getswitchinterval()
    sys.setswitchinterval(min(turn, _TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(turn)
