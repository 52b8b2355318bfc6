"""Kernel pooling: a soft histogram of cosine similarities (position-bias paper, Eqs. 5–6; KNRM)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from positionbias.models.shapes import KernelLayout

__all__ = ["KernelPooling", "cosine_matrix", "kernel_means"]


def kernel_means(layout: KernelLayout = "reference", count: int = 11) -> list[float]:
    """Return the kernels' centres µ, from high to low.

    ``reference`` (the authors' published code): 1, .9, .7 … −.9. ``even`` (the paper's words, "−1 to +1"): evenly
    spaced from 1 to −1.
    """
    if layout == "reference":
        return [1.0, *(0.9 - 1.8 * k / (count - 2) for k in range(count - 1))]
    return [1.0 - 2.0 * k / (count - 1) for k in range(count)]


def cosine_matrix(query: Tensor, passage: Tensor) -> Tensor:
    """Compute the cosines of all term pairs: ``(batch, query_len, dim) × (batch, passage_len, dim) → (batch, query_len, passage_len)``."""
    query = query / (query.norm(dim=-1, keepdim=True) + 1e-13)
    passage = passage / (passage.norm(dim=-1, keepdim=True) + 1e-13)
    return query @ passage.transpose(-1, -2)


class KernelPooling(nn.Module):
    """Cosine matrix → one score: kernels, sum over the passage, log, sum over the query, weighted sum.

    s = W · Σ_i log max(c_k · Σ_j exp(−(M_ij − µ_k)² / 2σ_k²), 1e-10); c_k is learned and starts at 1, W has no bias and
    starts uniform on ±``spread`` (TK's reference: 0.014).
    """

    means: Tensor

    def __init__(
        self,
        layout: KernelLayout = "reference",
        count: int = 11,
        sigma: float | Sequence[float] = 0.1,
        *,
        scaled: bool = True,
        spread: float = 0.014,
    ) -> None:
        """``sigma``: for all kernels, or for each in the order of ``kernel_means``. ``scaled`` false: without c_k."""
        super().__init__()
        self.register_buffer("means", torch.tensor(kernel_means(layout, count)), persistent=False)
        self.sigmas = (sigma,) * count if isinstance(sigma, int | float) else tuple(sigma)
        if len(self.sigmas) != count:
            raise ValueError(f"wanted a width for each of {count} kernels; found {len(self.sigmas)}")
        self.scale = nn.Parameter(torch.ones(count)) if scaled else None
        self.weight = nn.Parameter(torch.empty(count).uniform_(-spread, spread))

    def forward(self, cosines: Tensor, query_mask: Tensor, passage_mask: Tensor) -> Tensor:
        """``cosines (batch, query_len, passage_len)``, boolean masks, True for terms → ``(batch,)``."""
        per_kernel = []
        # one kernel at a time: an eleventh of the memory of all at once, and no slower
        for mean, sigma in zip(self.means, self.sigmas, strict=True):
            activation = torch.exp((cosines - mean).square() * (-0.5 / sigma**2))  # (batch, query_len, passage_len)
            per_kernel.append(torch.bmm(activation, passage_mask.to(activation.dtype).unsqueeze(-1)).squeeze(-1))
        pooled = torch.stack(per_kernel, dim=-1)  # (batch, query_len, kernels)
        if self.scale is not None:
            pooled = pooled * self.scale
        logs = torch.log(torch.clamp(pooled, min=1e-10)) * query_mask.unsqueeze(-1)
        return logs.sum(dim=1) @ self.weight
