"""Kernel pooling: a soft histogram of cosine similarities (position-bias paper, Eqs. 5–6; KNRM)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

# the papers' and the authors' code: eleven kernels, all as wide; in KNRM's the first is so narrow
# that only the same word matches
KERNEL_MEANS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9)
KERNEL_SIGMA = 0.1
EXACT_SIGMAS = (1e-3, *[KERNEL_SIGMA] * (len(KERNEL_MEANS) - 1))


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
        means: Sequence[float] = KERNEL_MEANS,
        sigmas: Sequence[float] = (KERNEL_SIGMA,) * len(KERNEL_MEANS),
        *,
        scaled: bool = True,
        spread: float = 0.014,
    ) -> None:
        """``means`` are the kernels' centres µ, ``sigmas`` their widths. ``scaled`` false: without
        c_k.
        """
        super().__init__()
        self.means, self.sigmas = means, sigmas
        self.scale = nn.Parameter(torch.ones(len(means))) if scaled else None
        self.weight = nn.Parameter(torch.empty(len(means)).uniform_(-spread, spread))

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
        ctx: Any, cosines: Tensor, mask: Tensor, means: Sequence[float], sigmas: Sequence[float]
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
