"""Exact search on a GPU by torch: it keeps the best so far, and the host waits for nothing but
counts of two tiles before.

For each tile of vectors:

1. Products with all tests in float32, a block at a time; each test's highest, as many as the width,
   are candidates.
2. Their scores: sums in float64 in numpy's order, rounded to float32, so the same bits as those of
   ``dense.similarity``.
3. The k best of those known and the candidates, by falling score, then rising number.

A row that is no candidate has a product of at most the lowest candidate's. A test is open if that,
by the bound on rounding errors of ``dense.products``, may still reach its k-th score, as where
many vectors are equal. An open test is searched again among more candidates of the same tile, in
the end all of its rows. The width of the next tiles follows from how many candidates reached the
k-th score.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from positionbias.core.ahead import ahead
from positionbias.core.errors import InputError
from positionbias.dense.nearest import Block, Neighbours
from positionbias.dense.products import UNDERFLOW, growth, lengths64
from positionbias.dense.similarity import NOT_FINITE, Sized, check_width
from positionbias.dense.sums import paired_sums
from positionbias.models.transfer import Fetched, send

MOST_NUMBERS = 1 << 32  # vectors; their numbers share 64 bits with a score
_MORE = 32  # candidates beyond those expected
_FEW = 16  # one in so many open tests changes no width
_BEHIND = 2  # tiles begun before the counts of one are read
_TESTS = 8_192  # searched at once
_CELLS = 1 << 28  # products held at once, a GiB
_PAIRED = 1 << 25  # numbers of pairs whose scores are computed at once
_TILE = 1 << 28  # bytes of a tile
_GROUP = 16  # products of which the highest is looked at first
_VANISHING = 1e-17  # a length whose squares float32 may lose
_NONE = torch.iinfo(torch.int64).min  # the key of no vector


class _Tile(NamedTuple):
    """Vectors ``(n, dim)`` float32 with their numbers ``(n,)``, and the largest of their squared
    lengths ``()``.
    """

    factors: Tensor
    numbers: Tensor
    squares: Tensor


class _Begun(NamedTuple):
    """A tile with how many candidates each test had, and which tests are open ``(tests,)``.

    On its way to the host: whether some vector is not finite, how many tests are open, and the most
    candidates that reached the k-th score of another test.
    """

    tile: _Tile
    width: int
    open: Tensor
    report: Fetched


def nearest_on_device(
    tests: np.ndarray,
    blocks: Iterable[Block],
    *,
    neighbours: int,
    device: torch.device,
    rows: int | None = None,
    floor: float | np.ndarray = -np.inf,
) -> Neighbours:
    """Find what ``dense.nearest.nearest`` finds with ``similarity="dot"``, the same bits, on a
    device, and perhaps others below ``floor``.

    Numbers are below ``MOST_NUMBERS``. ``rows`` is the most vectors of a tile, by default as many
    as make 256 MiB.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    if not len(tests):
        return Neighbours(np.empty((0, neighbours), np.int64), np.empty((0, neighbours)))
    search = DeviceSearch(tests, neighbours, device, floor)
    size = max(1, _TILE // (4 * max(1, tests.shape[1])))
    with (
        full_precision(),
        closing(ahead(blocks)) as read,
        closing(ahead(_tiles(read, min(size, rows or size), search))) as tiles,
    ):
        for tile in tiles:
            search.look(tile)
        return search.found()


class DeviceSearch:
    """The k nearest so far of each test, on a device: ``keys`` ``(tests, k)`` int64, falling, and
    their ``scores`` float32.
    """

    def __init__(
        self, tests: np.ndarray, k: int, device: torch.device, floor: float | np.ndarray = -np.inf
    ) -> None:
        check_width(tests, tests.shape[-1])
        given = Sized(np.asarray(tests, np.float32), "dot").vectors
        self.k, self.device, self.width = k, device, k + _MORE
        self.tests = send(given, device)
        # of a product, and of adding up a score and the lengths
        self.rounding = send(growth(given.shape[1] + 8) * lengths64(given), device)
        self.keys = torch.full((len(given), k), _NONE, dtype=torch.int64, device=device)
        self.scores = torch.full((len(given), k), -torch.inf, device=device)
        self.floor = send(np.full((len(given), 1), np.reshape(floor, (-1, 1)), np.float32), device)
        self._begun: deque[_Begun] = deque()

    @torch.inference_mode()
    def look(self, tile: _Tile) -> None:
        """Begin the search of a tile; end that of an earlier one."""
        self._begun.append(self._begin(tile))
        if len(self._begun) > _BEHIND:
            self._end(self._begun.popleft())

    @torch.inference_mode()
    def found(self) -> Neighbours:
        """Return the nearest of all tiles."""
        while self._begun:
            self._end(self._begun.popleft())
        keys, scores = (Fetched(column).numpy() for column in (self.keys, self.scores))
        numbers = MOST_NUMBERS - 1 - (keys & (MOST_NUMBERS - 1))
        return Neighbours(np.where(keys == _NONE, -1, numbers), scores.astype(np.float64))

    def _begin(self, tile: _Tile) -> _Begun:
        """Search a tile without waiting for the device."""
        width, count = min(self.width, len(tile.factors)), len(self.tests)
        reached = torch.zeros(count, dtype=torch.int64, device=self.device)
        for start in range(0, count, _TESTS):
            part = slice(start, start + _TESTS)
            reached[part] = self._take(part, tile, width)
        left = (
            reached >= width
            if width < len(tile.factors)
            else torch.zeros_like(reached, dtype=torch.bool)
        )
        bad = ~torch.isfinite(tile.squares)
        report = torch.stack([bad.to(torch.int64), left.sum(), reached.masked_fill(left, 0).amax()])
        return _Begun(tile, width, left, Fetched(report))

    def _end(self, begun: _Begun) -> None:
        """Search open tests again, among ever more of the tile."""
        bad, left, reached = begun.report.numpy().tolist()
        if bad:
            raise InputError(NOT_FINITE)
        self.width = min(self.k, 2 * reached if _FEW * left <= len(self.tests) else self.k) + _MORE
        if not left:
            return
        tests, width, rows = begun.open.nonzero().squeeze(1), begun.width, len(begun.tile.factors)
        while len(tests):
            width = min(4 * width, rows)
            parts = tests.split(max(1, min(_TESTS, _CELLS // rows)))
            counts = torch.cat([self._take(part, begun.tile, width) for part in parts])
            tests = tests[counts >= width] if width < rows else tests[:0]

    def _take(self, part: slice | Tensor, tile: _Tile, width: int) -> Tensor:
        """Merge some tests' candidates; return how many of them reach the k-th score by the bound
        ``(tests,)``.
        """
        tests = self.tests[part]
        values, rows = _highest(tests, tile.factors, width)
        scores = self._scored(tests, tile.factors, rows)
        keys = _keys(scores, tile.numbers[rows])
        held, known = self.keys[part], self.scores[part]
        ascending = held.flip(1)
        places = torch.searchsorted(ascending, keys).clamp_(max=self.k - 1)
        again = ascending.gather(1, places) == keys  # found before, among fewer
        keys = torch.where(again, _NONE, keys)
        keys, order = torch.cat([held, keys], dim=1).topk(self.k, dim=1)
        scores = torch.cat([known, scores], dim=1).gather(1, order)
        scores = torch.where(keys == _NONE, -torch.inf, scores)
        self.keys[part], self.scores[part] = keys, scores
        longest = tile.squares.double().sqrt() * (1 + growth(2 * tests.shape[1])) + _VANISHING
        error = self.rounding[part] * longest + UNDERFLOW
        # a score is rounded like this, and rounding keeps the order
        most = (values.double() + error[:, None]).float()
        return (most >= torch.maximum(scores[:, -1:], self.floor[part])).sum(dim=1)

    def _scored(self, tests: Tensor, factors: Tensor, rows: Tensor) -> Tensor:
        """Return the scores of pairs of tests ``(t, dim)`` and rows ``(t, n)``, ``(t, n)``
        float32.
        """
        size = max(1, _PAIRED // max(1, rows.shape[1] * tests.shape[1]))
        parts = [slice(start, start + size) for start in range(0, len(tests), size)]
        sums = (
            paired_sums(factors[rows[part]].double().mul_(tests[part].double()[:, None]))
            for part in parts
        )
        return torch.cat([found.float() for found in sums])


def _highest(tests: Tensor, factors: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the highest products of tests ``(t, dim)`` with rows, falling, and the rows,
    ``(t, width)`` each.
    """
    size = max(width, _CELLS // max(1, len(tests)))
    best: tuple[Tensor, Tensor] | None = None
    for start in range(0, len(factors), size):
        values, rows = _top(tests @ factors[start : start + size].T, width)
        rows = rows + start
        if best is not None:
            values, rows = torch.cat([best[0], values], dim=1), torch.cat([best[1], rows], dim=1)
            values, places = values.topk(width, dim=1)
            rows = rows.gather(1, places)
        best = values, rows
    assert best is not None
    return best


def _top(products: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return what ``topk`` does, by the highest of each group where that leaves few: the groups
    with the highest of them hold all.
    """
    tests, count = products.shape
    if 4 * width * _GROUP > count:
        return products.topk(min(width, count), dim=1)
    whole = count - count % _GROUP
    groups = (
        products[:, :whole]
        .unflatten(1, (-1, _GROUP))
        .amax(dim=2)
        .topk(width, dim=1, sorted=False)
        .indices
    )
    inside = torch.arange(_GROUP, device=products.device)
    rest = torch.arange(whole, count, device=products.device).expand(tests, -1)
    columns = torch.cat([(groups[:, :, None] * _GROUP + inside).flatten(1), rest], dim=1)
    values, places = products.gather(1, columns).topk(width, dim=1)
    return values, columns.gather(1, places)


def _keys(scores: Tensor, numbers: Tensor) -> Tensor:
    """Return int64 in the order of float32 scores, of equal ones in falling order of their
    numbers.
    """
    bits = (scores + 0.0).view(torch.int32)  # minus zero equals zero
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(torch.int64) << 32) | (MOST_NUMBERS - 1 - numbers)


@torch.inference_mode()
def _tiles(blocks: Iterable[Block], size: int, search: DeviceSearch) -> Iterator[_Tile]:
    """Yield tiles of ``size`` vectors, the last one smaller, filled on the device by what comes."""
    dimension = search.tests.shape[1]
    tile, filled = _empty(size, dimension, search.device), 0
    for numbers, block in blocks:
        check_width(block, dimension)
        vectors = block if block.dtype in (np.float16, np.float32) else block.astype(np.float32)
        first = 0
        while first < len(vectors):
            part = slice(first, first + size - filled)
            sent = send(vectors[part], search.device).float()
            first, place = first + len(sent), slice(filled, filled + len(sent))
            tile.factors[place], tile.numbers[place] = sent, send(numbers[part], search.device)
            torch.maximum(tile.squares, (sent * sent).sum(dim=1).amax(), out=tile.squares)
            filled = place.stop
            if filled == size:
                yield tile
                tile, filled = _empty(size, dimension, search.device), 0
    if filled:
        yield _Tile(tile.factors[:filled], tile.numbers[:filled], tile.squares)


def _empty(size: int, dimension: int, device: torch.device) -> _Tile:
    factors, numbers = (
        torch.empty((size, dimension), device=device),
        torch.empty(size, dtype=torch.int64, device=device),
    )
    return _Tile(factors, numbers, torch.zeros((), device=device))


@contextmanager
def full_precision() -> Iterator[None]:
    """Multiply float32 in float32, whatever the user asked of torch."""
    chosen = torch.backends.cuda.matmul
    name, full = (
        ("fp32_precision", "ieee") if hasattr(chosen, "fp32_precision") else ("allow_tf32", False)
    )
    before = getattr(chosen, name)
    setattr(chosen, name, full)
    try:
        yield
    finally:
        setattr(chosen, name, before)
