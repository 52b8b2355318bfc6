"""Exact search on a GPU: 10 M × 384 random vectors in float16, held in memory, top 100 of 10,000
queries.

    python benchmarks/gpu/search.py
        # prints JSON; ``search_speed`` is for benchmarks/gpu/speed.py
    python benchmarks/gpu/search.py --device cpu --vectors 100000 --queries 500

Beside it a plain loop of products and ``topk`` over the same blocks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from positionbias.dense.nearest import Block, Neighbours, nearest
from positionbias.engine.ahead import ahead

__all__ = ["search_speed"]

DIMENSION, BLOCK = 384, 8_192  # as a shard on disk has


def blocks(vectors: int) -> list[Block]:
    """Return blocks of random vectors, each drawn anew in its own thread."""

    def block(start: int) -> Block:
        numbers = np.arange(start, min(start + BLOCK, vectors))
        drawn = np.random.default_rng((0, start)).standard_normal(
            (len(numbers), DIMENSION), np.float32
        )
        return numbers, drawn.astype(np.float16)

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(block, range(0, vectors, BLOCK)))


def ours(queries: np.ndarray, held: Sequence[Block], k: int, device: torch.device) -> Neighbours:
    return nearest(queries, held, neighbours=k, similarity="dot", memory=8.0, device=device)


@torch.inference_mode()
def plain(queries: np.ndarray, held: Sequence[Block], k: int, device: torch.device) -> Neighbours:
    """What anybody writes: float32 products, ``topk`` of four blocks, merged; its scores are
    rounded, not exact.
    """
    asked, best = torch.from_numpy(queries).to(device), None
    for some in ahead(held[first : first + 4] for first in range(0, len(held), 4)):
        vectors = torch.cat([torch.from_numpy(block).to(device) for _, block in some]).float()
        scores, rows = (asked @ vectors.T).topk(min(k, len(vectors)), dim=1)
        rows += int(some[0][0][0])
        if best is not None:
            scores, rows = torch.cat([best[0], scores], 1), torch.cat([best[1], rows], 1)
            scores, places = scores.topk(min(k, scores.shape[1]), dim=1)
            rows = rows.gather(1, places)
        best = scores, rows
    assert best is not None
    return Neighbours(best[1].cpu().numpy(), best[0].cpu().numpy())


SIDES: dict[str, Callable[..., Neighbours]] = {"ours": ours, "plain": plain}


def search_speed(
    device: torch.device,
    vectors: int = 10_000_000,
    queries: int = 10_000,
    k: int = 100,
    turns: int = 2,
) -> dict[str, Any]:
    """Return each turn's seconds, our TFLOP/s and the share of the plain loop's neighbours
    found.
    """
    asked = np.random.default_rng(2).standard_normal((queries, DIMENSION), np.float32)
    held = blocks(vectors)
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    found: dict[str, Neighbours] = {}
    for side in SIDES.values():
        side(asked, held[:16], k, device)  # warm
    for _ in range(turns):
        for name, side in SIDES.items():
            began = time.perf_counter()
            found[name] = side(asked, held, k, device)
            seconds[name].append(time.perf_counter() - began)
    shared = [
        len(np.intersect1d(*pair))
        for pair in zip(found["ours"].numbers, found["plain"].numbers, strict=True)
    ]
    return {
        "vectors": vectors, "queries": queries, "k": k, "device": str(device), "seconds": seconds,
        "teraflops": 2 * vectors * queries * DIMENSION / min(seconds["ours"]) / 1e12,
        "ratio to plain": min(seconds["plain"]) / min(seconds["ours"]),
        "shared": sum(shared) / found["plain"].numbers.size,
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--vectors", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--neighbours", type=int, default=100)
    given = parser.parse_args()
    print(
        json.dumps(
            search_speed(torch.device(given.device), given.vectors, given.queries, given.neighbours)
        )
    )
