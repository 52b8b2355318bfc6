"""Linear layers with oneDNN on a CPU, in full precision, forward and backward.

PyTorch multiplies float32 matrices with MKL, which takes slower paths on processors that are not Intel's. oneDNN, in the same
build, generates kernels for the actual processor. On an AMD EPYC with AVX-512 it is more than twice as fast, with errors of the
same order (a few units in the last place). The choice depends on the build alone, never on a measurement, so the same machine
gives the same bits. Elsewhere (a GPU, half precision, autocast, other processors) nothing changes.
"""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["FastLinear", "linear", "use_fast_linears"]


@cache
def _available() -> bool:
    operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return operator is not None and torch.backends.mkldnn.is_available() and platform.machine().lower() in {"x86_64", "amd64"}


def _multiply(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute ``rows (n, i) · weight (o, i)ᵀ + bias``."""
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        ctx.biased = bias is not None
        return _multiply(rows, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        to_rows, to_weight, to_bias = ctx.needs_input_grad
        gradient = gradient.contiguous()
        return (
            _multiply(gradient, weight.t()) if to_rows else None,
            _multiply(gradient.t(), rows.t()) if to_weight else None,
            gradient.sum(dim=0) if to_bias and ctx.biased else None,
        )


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Replace ``torch.nn.functional.linear``: ``(…, i)``, ``(o, i)``, ``(o,)`` → ``(…, o)``."""
    full = rows.dtype == weight.dtype == torch.float32 and rows.device.type == weight.device.type == "cpu"
    if not full or not _available() or torch.is_autocast_enabled("cpu") or rows.numel() == 0:
        return F.linear(rows, weight, bias)
    flat = rows.reshape(-1, rows.shape[-1])
    if torch.is_grad_enabled() and (rows.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)):
        out = _Linear.apply(flat, weight, bias)
    else:
        out = _multiply(flat, weight, bias)
    return out.view(*rows.shape[:-1], weight.shape[0])


class FastLinear(nn.Linear):
    """``torch.nn.Linear`` with ``linear`` for the product."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def use_fast_linears(module: nn.Module) -> None:
    """Turn every plain linear layer of a module into a ``FastLinear``; weights, names and saved files stay the same."""
    for part in module.modules():
        if type(part) is nn.Linear:
            part.__class__ = FastLinear
