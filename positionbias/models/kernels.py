"""Kernel pooling: a soft histogram of cosine similarities (position-bias paper, Eqs. 5–6; KNRM)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from positionbias.models.shapes import KernelLayout


def kernel_means(layout: KernelLayout = "reference", count: int = 11) -> list[float]:
    """Return the kernels' centres µ, from high to low.

    ``reference`` (the authors' published code): 1, .9, .7 … −.9. ``even`` (the paper's words, "−1
    to +1"): evenly spaced from 1 to −1.
    """
    if layout == "reference":
        return [1.0, *(0.9 - 1.8 * k / (count - 2) for k in range(count - 1))]
    return [1.0 - 2.0 * k / (count - 1) for k in range(count)]


def cosine_matrix(query: Tensor, passage: Tensor) -> Tensor:
    """Compute the cosines of all term pairs:
    ``(batch, query_len, dim) × (batch, passage_len, dim) → (batch, query_len, passage_len)``.
    """
    query = query / (query.norm(dim=-1, keepdim=True) + 1e-13)
    passage = passage / (passage.norm(dim=-1, keepdim=True) + 1e-13)
    return query @ passage.transpose(-1, -2)


class KernelPooling(nn.Module):
    """Cosine matrix → one score: kernels, sum over the passage, log, sum over the query, weighted
    sum.

    s = W · Σ_i log max(c_k · Σ_j exp(−(M_ij − µ_k)² / 2σ_k²), 1e-10); c_k is learned and starts at
    1, W has no bias and starts uniform on ±``spread`` (TK's reference: 0.014).
    """

    def __init__(
        self,
        layout: KernelLayout = "reference",
        count: int = 11,
        sigma: float | Sequence[float] = 0.1,
        *,
        scaled: bool = True,
        spread: float = 0.014,
    ) -> None:
        """``sigma``: for all kernels, or for each in the order of ``kernel_means``. ``scaled``
        false: without c_k.
        """
        super().__init__()
        self.means = kernel_means(layout, count)
        self.sigmas = (sigma,) * count if isinstance(sigma, int | float) else tuple(sigma)
        if len(self.sigmas) != count:
            raise ValueError(
                f"wanted a width for each of {count} kernels; found {len(self.sigmas)}"
            )
        self.scale = nn.Parameter(torch.ones(count)) if scaled else None
        self.weight = nn.Parameter(torch.empty(count).uniform_(-spread, spread))

    def forward(self, cosines: Tensor, query_mask: Tensor, passage_mask: Tensor) -> Tensor:
        """``cosines (batch, query_len, passage_len)``, boolean masks, True for terms →
        ``(batch,)``.
        """
        # (batch, query_len, kernels)
        pooled: Tensor = _SoftCounts.apply(cosines, passage_mask, self.means, self.sigmas)
        if self.scale is not None:
            pooled = pooled * self.scale
        logs = torch.log(torch.clamp(pooled, min=1e-10)) * query_mask.unsqueeze(-1)
        return logs.sum(dim=1) @ self.weight


class _SoftCounts(torch.autograd.Function):
    """Σ_j exp(−(M_ij − µ_k)² / 2σ_k²) over a passage's terms; its backward pass computes the
    exponentials again, which takes less than keeping them."""

    @staticmethod
    def forward(
        ctx: Any, cosines: Tensor, mask: Tensor, means: list[float], sigmas: Sequence[float]
    ) -> Tensor:
        ctx.save_for_backward(cosines, mask)
        ctx.kernels = means, sigmas
        terms = mask.to(cosines.dtype).unsqueeze(-1)  # (batch, passage_len, 1)
        # one kernel at a time: an eleventh of the memory of all at once, and no slower
        return torch.cat(
            [
                torch.bmm(activation, terms)
                for activation, _ in _activations(cosines, means, sigmas)
            ],
            dim=-1,
        )

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        cosines, mask = ctx.saved_tensors
        out = torch.zeros_like(cosines)
        parts = zip(
            _activations(cosines, *ctx.kernels), gradient.unbind(-1), ctx.kernels[1], strict=True
        )
        for (activation, distance), part, sigma in parts:
            out += activation.mul_(distance).mul_(part.unsqueeze(-1) * -(sigma**-2))
        return out.mul_(mask.unsqueeze(1)), None, None, None


def _activations(
    cosines: Tensor, means: Sequence[float], sigmas: Sequence[float]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each kernel's activations of all cosines, and M − µ."""
    for mean, sigma in zip(means, sigmas, strict=True):
        distance = cosines - mean
        yield distance.square().mul_(-0.5 / sigma**2).exp_(), distance
