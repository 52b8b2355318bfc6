"""The best matrix product that this machine makes: oneDNN with prepacked weights, in float32 and
bfloat16.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["Product", "rates"]

# rows, in, out
SHAPES = ((2048, 384, 1536), (4096, 384, 1536), (2048, 1024, 1024), (4096, 768, 3072))
SECONDS = 0.15  # of one timed run, about

Multiply = Callable[[], object]


def float32(rows: Tensor, weight: Tensor) -> Multiply:
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, len(rows))
    return lambda: torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")


def plain_float32(rows: Tensor, weight: Tensor) -> Multiply:
    return lambda: torch.ops.mkldnn._linear_pointwise(rows, weight, None, "none", [], "")


def torch_float32(rows: Tensor, weight: Tensor) -> Multiply:
    return lambda: torch.nn.functional.linear(rows, weight)


def bfloat16(rows: Tensor, weight: Tensor) -> Multiply:
    return float32(rows.bfloat16(), weight.bfloat16())


WAYS: Mapping[str, tuple[Callable[[Tensor, Tensor], Multiply], ...]] = {
    "float32": (float32, plain_float32, torch_float32),
    "bfloat16": (bfloat16,),
}


def candidates(precision: str) -> Iterator[tuple[tuple[int, int, int], Multiply]]:
    """Every way at every shape that this build of torch can make."""
    for rows, into, out in SHAPES:
        for way in WAYS[precision]:
            try:
                multiply = way(torch.randn(rows, into), torch.randn(out, into))
                multiply()
            except (RuntimeError, AttributeError, NotImplementedError):
                continue
            yield (rows, into, out), multiply


def _rate(shape: tuple[int, int, int], multiply: Multiply, times: int = 8) -> float:
    """Operations a processor second, the best of some."""
    best = 0.0
    for _ in range(times):
        began = time.process_time()
        multiply()
        best = max(best, 2 * shape[0] * shape[1] * shape[2] / (time.process_time() - began))
    return best


class Product:
    """The fastest of all ways and shapes, over and over; what it takes scales to any number of
    operations.
    """

    packages = ("torch",)

    @torch.inference_mode()
    def __init__(self, settings: Mapping[str, Any]) -> None:
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        found = [
            (_rate(shape, multiply), shape, multiply)
            for shape, multiply in candidates(settings["precision"])
        ]
        if not found:
            raise RuntimeError(
                f"this build of torch multiplies no {settings['precision']} matrices by oneDNN"
            )
        rate, shape, self.multiply = max(found, key=lambda one: one[0])
        one = 2 * shape[0] * shape[1] * shape[2]
        self.times = max(1, round(SECONDS * settings["threads"] * rate / one))
        self.facts = {"flops": one * self.times, "shape": " × ".join(map(str, shape)), "rate": rate}

    @torch.inference_mode()
    def run(self) -> None:
        for _ in range(self.times):
            self.multiply()

    def proof(self) -> None:
        return None


def rates(threads: int) -> dict[str, Any]:
    """GFLOP/s a core of each precision that works here, at so many threads."""
    found: dict[str, Any] = {}
    for precision in WAYS:
        try:
            product = Product({"threads": threads, "precision": precision})
        except RuntimeError:
            continue
        found[precision] = {
            "gflops_a_core": round(product.facts["rate"] / 1e9, 1),
            "shape": product.facts["shape"],
        }
    return found
