"""Exact search on a GPU: 10 M × 384 random vectors, made on the way, top 100 of 10,000 queries; beside a plain loop of products and ``topk``.

    python benchmarks/gpu/search.py                          # prints JSON; ``search_speed`` is for benchmarks/gpu/speed.py
    python benchmarks/gpu/search.py --device cpu --vectors 100000 --queries 500

Each block of vectors is one drawn block with its columns' signs turned, so that making them takes little beside the search.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from positionbias.core.ahead import ahead
from positionbias.core.nearest import MOST_ROWS, Block, nearest
from positionbias.dense.on_device import DeviceProducts

__all__ = ["search_speed"]

DIMENSION, BLOCK = 384, 32_768


def blocks(vectors: int) -> Iterator[Block]:
    drawn = np.random.default_rng(0).standard_normal((BLOCK, DIMENSION), np.float32)
    for start in range(0, vectors, BLOCK):
        size = min(BLOCK, vectors - start)
        signs = np.random.default_rng((1, start)).choice(np.array([-1, 1], np.float32), DIMENSION)
        yield np.arange(start, start + size), drawn[:size] * signs


def ours(queries: np.ndarray, vectors: int, k: int, device: torch.device) -> np.ndarray:
    found = nearest(
        queries,
        blocks(vectors),
        neighbours=k,
        rows=MOST_ROWS,
        similarity="dot",
        products=lambda tests, most: DeviceProducts(tests, most, device),
    )
    return found.numbers


@torch.inference_mode()
def plain(queries: np.ndarray, vectors: int, k: int, device: torch.device) -> Any:
    """What anybody writes: float32 products, ``topk`` of each block, merged; its scores are rounded, not exact."""
    asked, best = torch.from_numpy(queries).to(device), None
    for numbers, block in ahead(blocks(vectors)):
        scores, rows = (asked @ torch.from_numpy(block).to(device).T).topk(min(k, len(block)), dim=1)
        rows += int(numbers[0])
        if best is not None:
            scores, rows = torch.cat([best[0], scores], 1), torch.cat([best[1], rows], 1)
            scores, places = scores.topk(min(k, scores.shape[1]), dim=1)
            rows = rows.gather(1, places)
        best = scores, rows
    assert best is not None
    return best[1].cpu().numpy()


def search_speed(device: torch.device, vectors: int = 10_000_000, queries: int = 10_000, k: int = 100) -> dict[str, Any]:
    """Return the seconds of both and of making the vectors, our TFLOP/s, and the share of the plain loop's neighbours that we found."""
    asked = np.random.default_rng(2).standard_normal((queries, DIMENSION), np.float32)
    began = time.perf_counter()
    for _ in blocks(vectors):
        pass
    seconds: dict[str, float] = {"making": time.perf_counter() - began}
    found: dict[str, np.ndarray] = {}
    for name, side in (("ours", ours), ("plain", plain)):
        side(asked[: min(queries, 64)], min(vectors, 2 * BLOCK), k, device)  # warm
        began = time.perf_counter()
        found[name] = side(asked, vectors, k, device)
        seconds[name] = time.perf_counter() - began
    shared = [len(np.intersect1d(one, other)) for one, other in zip(found["ours"], found["plain"], strict=True)]
    return {
        "vectors": vectors, "queries": queries, "k": k, "device": str(device), "seconds": seconds,
        "teraflops": 2 * vectors * queries * DIMENSION / seconds["ours"] / 1e12, "shared": sum(shared) / found["plain"].size,
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--vectors", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--neighbours", type=int, default=100)
    given = parser.parse_args()
    print(json.dumps(search_speed(torch.device(given.device), given.vectors, given.queries, given.neighbours)))
