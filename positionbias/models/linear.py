"""Linear layers with oneDNN on a CPU, in full precision, forward and backward.

PyTorch multiplies float32 matrices with MKL, which takes slower paths on processors that are not
Intel's. oneDNN, in the same build, generates kernels for the actual processor. On an AMD EPYC with
AVX-512 it is more than twice as fast, with errors of the same order (a few units in the last
place). The choice depends on the build alone, never on a measurement, so the same machine gives the
same bits. Elsewhere (a GPU, half precision, autocast, other processors) nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.models.onednn import has_onednn


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
    full = (
        rows.dtype == weight.dtype == torch.float32
        and rows.device.type == weight.device.type == "cpu"
    )
    if not full or not has_onednn() or torch.is_autocast_enabled("cpu"):
        return F.linear(rows, weight, bias)
    if torch.jit.is_tracing() or not rows.numel():  # type: ignore[attr-defined]
        return F.linear(rows, weight, bias)
    flat = rows.reshape(-1, rows.shape[-1])
    if torch.is_grad_enabled() and (
        rows.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    ):
        out = _Linear.apply(flat, weight, bias)
    else:
        out = _multiply(flat, weight, bias)
    return out.view(*rows.shape[:-1], weight.shape[0])


class FastLinear(nn.Linear):
    """``torch.nn.Linear`` with ``linear`` for the product."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def use_fast_linears(module: nn.Module) -> None:
    """Turn every plain linear layer of a module into a ``FastLinear``; weights, names and saved
    files stay the same.
    """
    for part in module.modules():
        if type(part) is nn.Linear:
            part.__class__ = FastLinear


@dataclass(frozen=True, slots=True)
class Product:
    """A linear layer for inference: a copy of its weights in ``dtype``, on a CPU in the order that
    oneDNN reads them.

    What follows it there is computed with it: GELU, or the sum with a residual.
    """

    weight: Tensor
    bias: Tensor | None
    dtype: torch.dtype
    ordered: bool

    def __call__(self, rows: Tensor) -> Tensor:
        """Compute ``(n, i)`` → ``(n, o)``, both in ``dtype``."""
        if not len(rows):
            return rows.new_empty(0, len(self.weight))
        return (_multiply if self.ordered else F.linear)(rows, self.weight, self.bias)

    def gelu(self, rows: Tensor) -> Tensor:
        """Compute GELU of the product, ``(n, i)`` → ``(n, o)``."""
        if self.ordered and len(rows):
            return torch.ops.mkldnn._linear_pointwise(
                rows, self.weight, self.bias, "gelu", [], "none"
            )
        return F.gelu(self(rows))

    def plus(self, rows: Tensor, residual: Tensor) -> Tensor:
        """Compute the product ``(n, i)`` → ``(n, o)`` plus ``residual (n, o)``, in the residual's
        precision.
        """
        if self.ordered and len(rows) and residual.dtype == self.dtype:
            return torch.ops.mkldnn._linear_pointwise.binary(
                rows, residual, self.weight, self.bias, "add"
            )
        return self(rows) + residual


def product(layers: Sequence[nn.Linear], dtype: torch.dtype) -> Product:
    """Return one product of layers that read the same rows; its columns are theirs in turn."""
    weights = [layer.weight.detach() for layer in layers]
    weight = (torch.cat(weights) if len(weights) > 1 else weights[0]).to(dtype)
    biases = [layer.bias for layer in layers if layer.bias is not None]
    bias = torch.cat([one.detach() for one in biases]).to(dtype) if biases else None
    ordered = weight.device.type == "cpu" and has_onednn() and _multiplies(dtype)
    return Product(
        torch.ops.mkldnn._reorder_linear_weight(weight) if ordered else weight, bias, dtype, ordered
    )


@cache
def _multiplies(dtype: torch.dtype) -> bool:
    """Return True if oneDNN multiplies in this precision on this processor."""
    return dtype == torch.float32 or (
        dtype == torch.bfloat16 and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )
