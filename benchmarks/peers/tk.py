"""TK's formulas over a padded batch, as one writes them first: all texts as long as the longest,
torch's layers, all kernels in one tensor.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoids(length, dimension):
    half = dimension // 2
    rates = torch.exp(-math.log(1e4) / (half - 1) * torch.arange(half, dtype=torch.float64))
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


class PlainLayer(nn.Module):
    """Self-attention and feed-forward, each added and then normalised."""

    def __init__(self, dimension, heads, head_size, feed_forward):
        super().__init__()
        self.heads, self.head_size = heads, head_size
        self.query, self.key, self.value = (
            nn.Linear(dimension, heads * head_size) for _ in range(3)
        )
        self.output = nn.Linear(heads * head_size, dimension)
        self.norm_attention = nn.LayerNorm(dimension)
        self.expand, self.contract = (
            nn.Linear(dimension, feed_forward),
            nn.Linear(feed_forward, dimension),
        )
        self.norm_feed_forward = nn.LayerNorm(dimension)

    def forward(self, terms, mask):
        batch, length, _ = terms.shape
        shape = (batch, length, self.heads, self.head_size)
        query, key, value = (
            part(terms).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        with torch.autocast("cpu", enabled=False):  # faster for it on a CPU
            mixed = F.scaled_dot_product_attention(
                query.float(), key.float(), value.float(), attn_mask=mask[:, None, None, :]
            )
        terms = self.norm_attention(
            terms + self.output(mixed.transpose(1, 2).reshape(batch, length, -1))
        )
        return self.norm_feed_forward(terms + self.contract(F.relu(self.expand(terms))))


class PlainPooling(nn.Module):
    """The parameters of kernel pooling, under TK's names."""

    def __init__(self, kernels):
        super().__init__()
        self.scale, self.weight = (
            nn.Parameter(torch.ones(kernels)),
            nn.Parameter(torch.zeros(kernels)),
        )


class PlainTK(nn.Module):
    """Its weights have the names of our TK's; ``shape`` is what the row wrote beside them."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(
            shape["words"], shape["dimension"], padding_idx=0, sparse=True
        )
        sizes = [shape[name] for name in ("dimension", "heads", "head_size", "feed_forward")]
        self.layers = nn.ModuleList(PlainLayer(*sizes) for _ in range(shape["layers"]))
        self.gate = nn.Parameter(torch.tensor(0.5))
        self.pooling = PlainPooling(shape["kernels"])
        self.means = torch.tensor(shape["means"])
        self.positions = sinusoids(
            shape["passage_start"] + shape["passage_length"], shape["dimension"]
        )

    def vectors(self, numbers, start):
        embedded = self.embedding(numbers)
        context = embedded + self.positions[start : start + numbers.shape[1]]
        for layer in self.layers:
            context = layer(context, numbers != 0)
        return self.gate * embedded + (1 - self.gate) * context

    def forward(self, queries, passages):
        times = len(passages) // len(queries)
        query = self.vectors(queries, 0).repeat(times, 1, 1).float()
        passage = self.vectors(passages, self.shape["passage_start"]).float()
        with torch.autocast("cpu", enabled=False):
            query = query / (query.norm(dim=-1, keepdim=True) + 1e-13)
            passage = passage / (passage.norm(dim=-1, keepdim=True) + 1e-13)
            cosines = query @ passage.transpose(1, 2)  # (batch, query_len, passage_len)
            kernels = torch.exp(
                -((cosines.unsqueeze(-1) - self.means) ** 2) / (2 * self.shape["kernel_sigma"] ** 2)
            )
            # (batch, query_len, kernels)
            pooled = (kernels * (passages != 0)[:, None, :, None]).sum(dim=2)
            logs = torch.log(torch.clamp(pooled * self.pooling.scale, min=1e-10)) * (
                queries != 0
            ).repeat(times, 1).unsqueeze(-1)
            return logs.sum(dim=1) @ self.pooling.weight
