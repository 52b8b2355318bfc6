"""Adam for an embedding's rows on a GPU, as ``torch.optim.SparseAdam`` but without waiting for the
device.

SparseAdam first asks the device how many distinct rows a gradient has. Here rows stay as often as
they occur, each time with the sum of all their gradients, and are written more than once with the
same values.
"""

from __future__ import annotations

import torch
from torch import Tensor


class RowAdam(torch.optim.SparseAdam):
    """``SparseAdam`` with the same state and, up to rounding, the same updates."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update the rows that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group["lr"], group["betas"], group["eps"])

    def _update(
        self, weights: Tensor, rate: float, betas: tuple[float, float], epsilon: float
    ) -> None:
        beta1, beta2 = betas
        state = self.state[weights]
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = (
                torch.zeros_like(weights),
                torch.zeros_like(weights),
            )
        state["step"] += 1
        rows, gradient = _summed(weights.grad)
        mean = state["exp_avg"][rows].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"][rows].lerp_(gradient.square(), 1 - beta2)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        size = rate * (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
        weights[rows] = weights[rows] - size * mean / (square.sqrt() + epsilon)


def _summed(gradient: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return a sparse gradient's rows ``(n,)``, sorted, with repetitions, and for each the sum over
    its repetitions ``(n, dim)``.
    """
    assert gradient is not None
    rows, order = gradient._indices()[0].sort(stable=True)
    values = gradient._values()[order]
    place = (rows[1:] != rows[:-1]).cumsum(0)  # of each row among the distinct ones
    place = torch.cat([place.new_zeros(min(1, len(rows))), place])
    return rows, torch.zeros_like(values).index_add_(0, place, values)[place]
