"""Products for ``core.nearest`` on a GPU, as exact search had them before ``dense.on_device``: kept to measure both in one run.

Each tile's highest products come back to the host, which computes what may be among the nearest again, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from positionbias.core.products import UNDERFLOW, Hits, growth, lengths64
from positionbias.core.threads import cores
from positionbias.dense.on_device import full_precision
from positionbias.models.transfer import Fetched, send

__all__ = ["DeviceProducts"]

_MORE = 32  # products read back beyond k
_CELLS = 1 << 28  # products held at once, a GiB


class _Sent(NamedTuple):
    """A tile on the device; its highest products with their rows ``(tests, m)`` on their way to the host."""

    factors: Tensor
    values: Fetched
    rows: Fetched
    longest: float

    def wait(self) -> tuple[np.ndarray, np.ndarray]:
        return self.values.numpy(), self.rows.numpy()


class DeviceProducts:
    """``Products`` by torch on ``device``, in full float32: TensorFloat-32 is off while ``pool`` is open."""

    def __init__(self, tests: np.ndarray, k: int, device: torch.device) -> None:
        self.device, self.most = device, k + _MORE
        self.tests = send(tests, device)
        self.rounding = growth(tests.shape[1] + 2) * lengths64(tests)
        self.threads = cores()
        self.parts = [slice(p[0], p[-1] + 1) for p in np.array_split(np.arange(len(tests)), self.threads) if len(p)]

    @contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor]:
        """Return the threads that look at what came back; until they end, float32 is multiplied in float32."""
        with full_precision(), ThreadPoolExecutor(self.threads, "products") as pool:
            yield pool

    @torch.inference_mode()
    def prepare(self, factors: np.ndarray, longest: float) -> _Sent:
        """Begin all of a tile's work on the device, without waiting for it."""
        sent = send(factors, self.device)
        size = max(1, _CELLS // max(1, len(self.tests)))
        found = [self._highest(sent[start : start + size], start) for start in range(0, len(sent), size)]
        values, rows = (torch.cat(column, dim=1) for column in zip(*found, strict=True))
        if len(found) > 1:
            values, places = values.topk(min(self.most, values.shape[1]), dim=1)
            rows = rows.gather(1, places)
        return _Sent(sent, Fetched(values), Fetched(rows.to(torch.int32)), longest)

    def _highest(self, factors: Tensor, first: int) -> tuple[Tensor, Tensor]:
        values, rows = (self.tests @ factors.T).topk(min(self.most, len(factors)), dim=1)
        return values, rows + first

    def error(self, part: int, tile: _Sent) -> np.ndarray:
        """Return the error of a float32 product."""
        return self.rounding[self.parts[part]] * tile.longest + UNDERFLOW

    def sampled(self, part: int, tile: _Sent, k: int) -> np.ndarray:
        """Return the k-th highest product of the tile."""
        values = tile.wait()[0][self.parts[part]]
        return values[:, k - 1] if values.shape[1] >= k else np.full(len(values), -np.inf, np.float32)

    def scan(self, part: int, tile: _Sent, lowest: np.ndarray) -> Iterator[Hits]:
        """Yield what came back and reaches the bound; then what is left of tests of which more may reach it."""
        values, rows = (column[self.parts[part]] for column in tile.wait())
        known = self.sampled(part, tile, self.most - _MORE)
        error = self.error(part, tile)
        least = np.maximum(lowest - error, known - 2 * error)
        mask = values >= least[:, None]
        whole = mask[:, -1] & (values.shape[1] < len(tile.factors))
        mask[whole] = False
        tests, places = np.nonzero(mask)
        yield Hits(tests, rows[tests, places].astype(np.int64), values[tests, places])
        for start in range(0, len(lines := np.flatnonzero(whole)), 256):
            yield self._whole(part, lines[start : start + 256], tile, least)

    @torch.inference_mode()
    def _whole(self, part: int, tests: np.ndarray, tile: _Sent, least: np.ndarray) -> Hits:
        asked = self.tests[self.parts[part]][torch.from_numpy(tests).to(self.device)]
        products = (asked @ tile.factors.T).cpu().numpy()
        found, rows = np.nonzero(products >= least[tests, None])
        return Hits(tests[found], rows, products[found, rows])
