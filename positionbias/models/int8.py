"""Linear layers in int8 for inference on a CPU: weights are rounded once, each row of the input when it is multiplied.

    W ≈ v · V        v of an output, V within ±127
    x ≈ a · u + l    l and a of a row: its least value, and a 255th of its range; u within 0 … 255
    x Wᵀ + b ≈ a · v · (u Vᵀ) + l · v · ΣV + b

oneDNN adds up u Vᵀ exactly, so a row's result depends on no other row, and on no number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Int8Product", "int8_product", "multiplies_int8"]

_TINY = 1e-30  # a row of equal values has some range


@dataclass(frozen=True, slots=True)
class Int8Product:
    """A linear layer: V in the order that oneDNN reads it, v, v · ΣV and b, ``(o,)`` each."""

    levels: Tensor
    scale: Tensor
    sums: Tensor
    bias: Tensor
    zeros: Tensor
    dtype: ClassVar[torch.dtype] = torch.float32  # of inputs and outputs

    def __call__(self, rows: Tensor) -> Tensor:
        """Compute ``(n, i)`` → ``(n, o)``, both float32."""
        if not len(rows):
            return rows.new_empty(0, len(self.bias))
        least = rows.amin(dim=1, keepdim=True)
        step = rows.amax(dim=1, keepdim=True).sub_(least).div_(255).clamp_min_(_TINY)
        whole = rows.sub(least).div_(step).round_().to(torch.uint8)
        product = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 0, self.levels, self.scale, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(self.bias, least, self.sums).addcmul_(product, step)

    def gelu(self, rows: Tensor) -> Tensor:
        """Compute GELU of the product, ``(n, i)`` → ``(n, o)``."""
        return F.gelu(self(rows))

    def plus(self, rows: Tensor, residual: Tensor) -> Tensor:
        """Compute the product plus ``residual (n, o)``."""
        return self(rows).add_(residual)


def int8_product(layers: Sequence[nn.Linear]) -> Int8Product:
    """Return one product of layers that read the same rows; its columns are theirs in turn."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    scale = weight.abs().amax(dim=1).div_(127).clamp_min_(_TINY)
    levels = (weight / scale.unsqueeze(1)).round_()
    bias = [torch.zeros(len(layer.weight)) if layer.bias is None else layer.bias.detach() for layer in layers]
    ordered = torch.ops.onednn.qlinear_prepack(levels.to(torch.int8), None)
    return Int8Product(ordered, scale, scale * levels.sum(dim=1), torch.cat(bias), torch.zeros(len(scale), dtype=torch.int64))


def multiplies_int8() -> bool:
    """Return True if oneDNN multiplies int8 exactly on this processor: without VNNI, sums of two products overflow 16 bits."""
    there = hasattr(torch.ops.onednn, "qlinear_pointwise") and torch.backends.mkldnn.is_available()
    known = getattr(torch.cpu, "get_capabilities", dict[str, bool])()
    return there and any(known.get(name, False) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))
