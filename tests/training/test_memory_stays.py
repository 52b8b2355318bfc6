"""Training over batches of many lengths keeps its memory: products of other shapes leave nothing
behind.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from positionbias.core.onednn import has_onednn

GROWTH = """
import ctypes, torch
from positionbias.models.linear import FastLinear

def resident():
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

torch.set_num_threads(1)
layer = FastLinear(64, 128)
def step(length):
    layer(torch.randn(length, 64, requires_grad=True)).sum().backward()

for length in range(1, 101):  # three shapes each: the caches are full
    step(length)
before = resident()
for length in range(101, 201):
    step(length)
print(resident() - before)
"""


def grown(**more: str) -> float:
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")
    } | more
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not has_onednn(), reason="wanted Linux and oneDNN"
)
def test_products_of_new_shapes_do_not_add_up() -> None:
    # 300 shapes, 0.6 MiB each where all are kept (0.3 on processors without AVX-512)
    assert grown() < 20
    # what a user sets stays
    assert grown(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024", LRU_CACHE_CAPACITY="1024") > 40
