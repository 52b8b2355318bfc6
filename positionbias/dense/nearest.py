"""Exact nearest neighbours by cosine or inner product, a tile of vectors at a time, on any device.

Products in float32 choose a tile's candidates (faiss where it is installed, on a CPU, else torch),
sums in float64 score them. A vector that is no
candidate has a product of at most the lowest candidate's. Where that, by the bound on rounding
errors, may still reach a test's k-th best score, the test is searched again among more candidates
of the tile, in the end all of it. So the result does not depend on tiles, threads or the order of
the vectors.

With u = 2⁻²⁴ and γ = dim·u / (1 − dim·u), a float32 product of a and b, added up in any order, is
wrong by at most γ·|a|·|b| (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from positionbias.core.errors import InputError
from positionbias.dense.similarity import (
    LONGEST,
    NOT_FINITE,
    UNIT,
    Similarity,
    check_width,
    faiss_library,
    pair_scores,
)
from positionbias.engine.ahead import ahead
from positionbias.models.transfer import send

Block = tuple[np.ndarray, np.ndarray]  # numbers (n,) int64, vectors (n, dim)

GIB = 1 << 30
SLACK = 32  # candidates beyond the k
MOST_ROWS, FEWEST_ROWS = 1 << 18, 16  # of a tile
CELLS, COLUMNS = 1 << 25, 16_384  # products at once, and of one test
CANDIDATE = 8  # products whose memory a candidate takes, with its place in the order
PAIRED = 1 << 22  # numbers of pairs at once that a GPU scores again
SHORT = 1e-12  # a length
UNDERFLOW = 1e-30  # more than products lose where float32 has no smaller numbers
NO_NUMBER = -1


class Room(NamedTuple):
    """Sizes of what a search holds at once: vectors of a tile, products, and tests."""

    rows: int
    cells: int
    tests: int

    @staticmethod
    def of(memory: float, neighbours: int, dimension: int) -> Room:
        """Divide ``memory`` GiB: a half for three tiles, a quarter each for the others."""
        quarter = int(memory * GIB / 4)
        rows = min(MOST_ROWS, 2 * quarter // (12 * max(1, dimension)))
        return Room(
            max(FEWEST_ROWS, rows),
            max(FEWEST_ROWS, min(CELLS, quarter // 8)),
            quarter // bytes_of_test(neighbours, dimension),
        )


def bytes_of_test(neighbours: int, dimension: int) -> int:
    """Return the bytes of a test: its vector twice, its nearest and its candidates, sorted."""
    return 16 * dimension + 96 * (neighbours + SLACK)


def least_memory(neighbours: int, dimension: int, tests: int = 1) -> float:
    """Return the GiB that a search of so many tests takes at least."""
    most = max(tests * bytes_of_test(neighbours, dimension), 12 * FEWEST_ROWS * dimension)
    return 4 * (most + 1) / GIB


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest vectors of each test, by falling score, then rising number.

    ``numbers`` ``(tests, k)`` int64, padded with −1; ``scores`` ``(tests, k)`` float64, padded with
    −inf.
    """

    numbers: np.ndarray
    scores: np.ndarray


@torch.inference_mode()
def nearest(
    tests: np.ndarray,
    blocks: Iterable[Block],
    *,
    neighbours: int,
    memory: float = 1.0,
    similarity: Similarity = "cosine",
    floor: float = -np.inf,
    device: torch.device | None = None,
) -> Neighbours:
    """Find each test's ``neighbours`` (k) nearest vectors with a score of at least ``floor``,
    exactly.

    "cosine": cos(a, b) = a·b / (|a| |b|), 0 where one is zero, as float64. "dot": a·b, the nearest
    float32 to the sum in float64; scores that agree in float32 tie. Ties go to the lower number.

    Args:
        tests: ``(t, dim)``.
        blocks: Vectors of any number with a number each, distinct over all blocks.
        neighbours: How many.
        memory: GiB for tiles and products; the tests' own come to it.
        similarity: What is compared.
        floor: The least score.
        device: Where; by default this processor.

    Raises:
        InputError: a vector that is not finite, or of another width.
    """
    check_width(tests, tests.shape[-1])
    room = Room.of(memory, neighbours, tests.shape[1])
    search = _Search(tests, neighbours, similarity, floor, room, device or torch.device("cpu"))
    tiles = ahead(_tiles(blocks, tests.shape[1], room.rows))
    with full_precision(), search.pool, closing(tiles):
        for numbers, vectors in tiles:
            search.look(numbers, vectors)
    return search.found()


class _Search:
    """The k nearest so far: ``numbers`` and ``scores`` ``(tests, k)``."""

    def __init__(
        self,
        tests: np.ndarray,
        k: int,
        similarity: Similarity,
        floor: float,
        room: Room,
        device: torch.device,
    ) -> None:
        self.k, self.similarity, self.room, self.device = k, similarity, room, device
        self.floor = floor
        self.tests = send(np.asarray(tests, np.float32), device)
        self.factors, self.lengths = _factors(self.tests, similarity)
        self.numbers = torch.full((len(tests), k), NO_NUMBER, device=device)
        self.scores = torch.full((len(tests), k), -torch.inf, dtype=torch.float64, device=device)
        # of a product, of making unit vectors, and of rounding a score
        steps = (2 * tests.shape[1] + 16) * UNIT
        self.rounding = self.lengths * steps / (1 - steps)
        self.pool = ThreadPoolExecutor(torch.get_num_threads())
        self.by_faiss = device.type == "cpu" and find_spec("faiss") is not None

    def look(self, numbers: np.ndarray, vectors: np.ndarray) -> None:
        """Search a tile."""
        tile, known = send(vectors, self.device).float(), send(numbers, self.device)
        factors, lengths = _factors(tile, self.similarity)
        reach = float(lengths.max())
        size = max(1, self.room.cells // min(COLUMNS, len(tile)))
        for start in range(0, len(self.tests), size):
            tests = torch.arange(start, min(start + size, len(self.tests)), device=self.device)
            held = self.numbers[tests], self.scores[tests]  # copies
            width = min(self.k + SLACK, len(tile))
            while len(tests):
                left = []
                for part in tests.split(max(1, self.room.cells // (CANDIDATE * width))):
                    values, rows = self._highest(part, factors, width)
                    most = values.double() + (self.rounding[part] * reach + UNDERFLOW)[:, None]
                    before = held[0][part - start], held[1][part - start]
                    self._merge(part, before, most, rows, tile, known)
                    least = self.scores[part, -1].clamp(min=self.floor)
                    left.append(part[most[:, -1] >= least])
                if width == len(tile):
                    break
                tests, width = torch.cat(left), min(4 * width, len(tile))

    def _highest(self, tests: Tensor, factors: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Return the highest products of tests with a tile, falling, and their rows,
        ``(t, width)`` each.
        """
        if self.by_faiss:
            faiss = faiss_library()
            own, count = self.factors[tests], min(width, len(factors))
            made = faiss.knn(own.numpy(), factors.numpy(), count, metric=faiss.METRIC_INNER_PRODUCT)
            return torch.from_numpy(made[0]), torch.from_numpy(made[1])
        columns = max(1, self.room.cells // len(tests))
        values = torch.empty((len(tests), 0), device=self.device)
        rows = torch.empty((len(tests), 0), dtype=torch.int64, device=self.device)
        for start in range(0, len(factors), columns):
            products = self.factors[tests] @ factors[start : start + columns].T
            some, places = products.topk(min(width, products.shape[1]), dim=1)
            values, rows = torch.cat([values, some], 1), torch.cat([rows, places + start], 1)
            values, places = values.topk(min(width, values.shape[1]), dim=1)
            rows = rows.gather(1, places)
        return values, rows

    def _merge(
        self,
        tests: Tensor,
        held: tuple[Tensor, Tensor],
        most: Tensor,
        rows: Tensor,
        tile: Tensor,
        known: Tensor,
    ) -> None:
        """Merge candidates, ``rows (t, n)`` of a tile, into what was held before it. ``most`` are
        the highest scores that they may have, falling.
        """
        needed = held[1][:, -1:].clamp(min=self.floor)
        count = int((most >= needed).sum(dim=1).max())
        if not count:
            self.numbers[tests], self.scores[tests] = held
            return
        rows = rows[:, :count]
        scores = self._scored(tests, tile, rows)
        numbers = torch.cat([held[0], known[rows]], dim=1)
        scores = torch.cat([held[1], scores], dim=1)
        by_number = numbers.argsort(dim=1)
        scores = scores.gather(1, by_number)
        scores, places = scores.sort(dim=1, descending=True, stable=True)
        numbers = numbers.gather(1, by_number.gather(1, places[:, : self.k]))
        self.numbers[tests], self.scores[tests] = numbers, scores[:, : self.k]

    def _scored(self, tests: Tensor, tile: Tensor, rows: Tensor) -> Tensor:
        """Return the scores of pairs of tests and rows ``(t, n)``, float64."""
        if self.device.type == "cpu":
            own, vectors, places = self.tests[tests].numpy(), tile.numpy(), rows.numpy()

            def score(test: int) -> np.ndarray:
                return pair_scores(own[test : test + 1], vectors[places[test]], self.similarity)

            return torch.from_numpy(np.array([*self.pool.map(score, range(len(own)))]))
        size = max(1, PAIRED // (rows.shape[1] * tile.shape[1]))
        parts = zip(tests.split(size), rows.split(size), strict=True)
        return torch.cat(
            [_scored(self.tests[some], tile[chosen], self.similarity) for some, chosen in parts]
        )

    def found(self) -> Neighbours:
        """Return the nearest of all tiles, down to the floor."""
        kept = self.scores >= self.floor
        numbers = self.numbers.masked_fill(~kept, NO_NUMBER)
        scores = self.scores.masked_fill(~kept, -torch.inf)
        return Neighbours(numbers.cpu().numpy(), scores.cpu().numpy())


def _scored(tests: Tensor, vectors: Tensor, similarity: Similarity) -> Tensor:
    """Return ``pair_scores`` of tests ``(t, dim)`` and vectors ``(t, n, dim)``, ``(t, n)``."""
    first, second = tests.double()[:, None], vectors.double()
    dot = (first * second).sum(dim=-1)
    if similarity == "dot":
        return dot.float().double()
    lengths = (first.square().sum(dim=-1) * second.square().sum(dim=-1)).sqrt()
    return torch.where(lengths > 0, dot / lengths, 0.0).clamp(-1.0, 1.0)


def _factors(vectors: Tensor, similarity: Similarity) -> tuple[Tensor, Tensor]:
    """Return the factors of products ``(n, dim)`` float32, for cosines unit vectors (zeros stay
    zeros), and their lengths ``(n,)`` float64.
    """
    lengths = torch.linalg.vector_norm(vectors, dim=1).double()
    if not bool((lengths < LONGEST).all()):
        raise InputError(NOT_FINITE)
    small = (lengths < SHORT).nonzero().squeeze(1)  # whose squares float32 may lose
    lengths[small] = torch.linalg.vector_norm(vectors[small].double(), dim=1)
    if similarity == "dot":
        return vectors, lengths
    units = vectors / lengths.float().clamp_min(SHORT)[:, None]
    known = lengths[small].masked_fill(lengths[small] == 0, 1.0)[:, None]
    units[small] = (vectors[small].double() / known).float()
    return units, (lengths > 0).double()


def _tiles(blocks: Iterable[Block], dimension: int, rows: int) -> Iterator[Block]:
    """Yield tiles of ``rows`` vectors, the last one smaller; halves stay halves until they are
    where they are multiplied.
    """
    waiting: list[Block] = []
    for numbers, block in blocks:
        check_width(block, dimension)
        vectors = block if block.dtype in (np.float16, np.float32) else block.astype(np.float32)
        first = 0
        while first < len(vectors):
            room = rows - sum(len(part) for part, _ in waiting)
            waiting.append((numbers[first : first + room], vectors[first : first + room]))
            first += room
            if first <= len(vectors):
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    numbers, vectors = zip(*parts, strict=True)
    return np.concatenate(numbers), np.concatenate(vectors)


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
