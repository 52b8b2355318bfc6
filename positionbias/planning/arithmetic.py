"""The arithmetic of a plan: from the rate of one device to the time, memory, disk and network of a step.

Blocks of work go to the first free worker, all workers are equally fast, and the time of a block is linear in its passages, pairs and products:

    time = start of a worker + the longest worker's blocks + what one process does alone (files of pairs, digests of all files)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from positionbias.planning.rates import Rate
from positionbias.planning.settings import Machines, StepName

__all__ = ["Alone", "Blocks", "Sizes", "Times", "blocks_of", "distinct_passages", "longest", "sizes_of", "times_of"]

# of ``dense.vectors`` and ``ranking.blocks``, which load torch; a test holds them to those
SHARD_PASSAGES = 8_192
BLOCK_PAIRS, GPU_BLOCK_PAIRS, MOST_PAIRS, MOST_AGAIN, QUERY_SHARE = 16_384, 1 << 16, 1 << 24, 0.1, 0.25
ID_BYTES, RUN_LINE, SCORED_PAIR = (
    4,
    40,
    8,
)  # of an id beside its digits; of a line of a run; of a pair in a teacher's file beside its id
HELD_PAIR, HELD_ID, HELD_ORDER = (
    48,
    120,
    28,
)  # bytes in memory: of a pair and of an id of a run; of a vector's place in the order of ids


@dataclass(frozen=True, slots=True)
class Blocks:
    """``full`` blocks of equal size and perhaps a smaller one, each in passages encoded, pairs scored and products made."""

    full: int
    block: tuple[float, float, float]
    rest: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def number(self) -> int:
        """Return the number of blocks."""
        return self.full + any(self.rest)

    def seconds(self, rate: Rate) -> tuple[float, float]:
        """Return the seconds of a full block and of the rest on one device."""
        full, rest = (
            sum(amount * each for amount, each in zip(one, (rate.passage, rate.pair, rate.product), strict=True))
            for one in (self.block, self.rest)
        )
        return full, rest

    @property
    def passages(self) -> float:
        """Return the passages encoded in all."""
        return self.full * self.block[0] + self.rest[0]


@dataclass(frozen=True, slots=True)
class Alone:
    """Seconds that were measured of what is no rate: the start of a worker, writing and hashing a shard, the digests a byte, a pair of a run."""

    start: float
    shard: float
    digest: float
    pair: float


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: the start, the longest worker, files and digests by one process; and those of all devices together."""

    start: float
    computing: float
    alone: float
    devices: float

    @property
    def total(self) -> float:
        """Return the seconds from start to end."""
        return self.start + self.computing + self.alone


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes: read in all, written in all, held by the command beside a worker's; by each worker, on average."""

    read: float
    written: float
    held: float


def distinct_passages(passages: float, pairs: float) -> float:
    """Return the expected number of distinct passages among so many candidates drawn independently: N (1 − exp(−pairs / N)).

    Real candidates repeat popular passages, so they hold fewer.
    """
    return min(pairs, -passages * math.expm1(-pairs / passages))


def blocks_of(step: StepName, passages: float, queries: float, depth: int, *, alone: bool, gpu: bool) -> Blocks:
    """Return a step's work in the blocks that workers share, cut as ``dense.encode`` and ``ranking.blocks`` cut it.

    ``alone``: the model encodes passages alone, each once a block; blocks double until they share few passages, or until few queries
    are encoded again in blocks cut by passages.
    """
    if step in ("encode", "retrieve"):
        full, rest = divmod(passages, SHARD_PASSAGES)
        if step == "encode":
            return Blocks(int(full), (SHARD_PASSAGES, 0.0, 0.0), (rest, 0.0, 0.0))
        return Blocks(int(full), (0.0, 0.0, SHARD_PASSAGES * queries), (0.0, 0.0, rest * queries))
    pairs = queries * depth
    size = GPU_BLOCK_PAIRS if gpu else BLOCK_PAIRS
    while alone and size < min(pairs, MOST_PAIRS) and _again(passages, pairs, size) > MOST_AGAIN:
        if _queries_again(passages, queries, pairs, size) <= MOST_AGAIN:
            full, rest = divmod(pairs, size)
            each = distinct_passages(passages, pairs) / pairs
            return Blocks(int(full), (each * size, size, 0.0), (each * rest, rest, 0.0))
        size *= 2
    full, rest = divmod(pairs, size)
    return Blocks(int(full), _scored(passages, size, alone=alone), _scored(passages, rest, alone=alone))


def _scored(passages: float, pairs: float, *, alone: bool) -> tuple[float, float, float]:
    return (distinct_passages(passages, pairs) if alone else 0.0), pairs, 0.0


def _again(passages: float, pairs: float, size: int) -> float:
    """Return the encodings of passages that an earlier block has too, as a share of the distinct passages."""
    full, rest = divmod(pairs, size)
    encodings = full * distinct_passages(passages, size) + distinct_passages(passages, rest)
    return encodings / distinct_passages(passages, pairs) - 1


def _queries_again(passages: float, queries: float, pairs: float, size: int) -> float:
    """Return the encodings of queries that an earlier block by passages has too, each as ``QUERY_SHARE`` of a passage, as a share of the distinct passages."""
    full, rest = divmod(pairs, size)
    encodings = full * distinct_passages(queries, size) + distinct_passages(queries, rest)  # drawn in the same way
    return QUERY_SHARE * (encodings - queries) / distinct_passages(passages, pairs)


def longest(blocks: Blocks, full: float, rest: float, workers: int) -> float:
    """Return the seconds of the last worker to end, where blocks go to the first free one in order and the smaller one is the last."""
    rounds, over = divmod(blocks.full, workers)
    with_rest = rounds * full + rest
    return max(with_rest, (rounds + 1) * full) if over else with_rest


def times_of(step: StepName, blocks: Blocks, rate: Rate, machines: Machines, own: Alone, sizes: Sizes, pairs: float) -> Times:
    """Return the times of a step at a rate.

    Processes of a machine share its processors: each has its part of the rate, and alone in the command's own process one block has all.
    """
    sharing = 1 if machines.gpus or blocks.number < 2 else machines.workers
    full, rest = (seconds * sharing + own.shard for seconds in blocks.seconds(rate))
    busy = blocks.full * full + (rest if blocks.number > blocks.full else 0.0)
    computing = longest(blocks, full, rest if blocks.number > blocks.full else 0.0, machines.processes)
    alone = sizes.written * own.digest + (pairs * own.pair if step in ("rerank", "retrieve") else 0.0)
    return Times(own.start, computing, alone, busy / sharing)


def sizes_of(
    step: StepName,
    blocks: Blocks,
    *,
    passages: float,
    pairs: float,
    text: float,
    vector: float,
    passes: int,
) -> Sizes:
    """Return what a step reads, writes and holds: ``text`` bytes of a passage in the collection, ``vector`` of a vector on disk; ``passes`` over
    the vectors for all queries."""
    digits = len(str(int(passages)))
    if step == "encode":
        return Sizes(passages * text, passages * (vector + ID_BYTES + digits), 0.0)
    if step == "retrieve":
        return Sizes(passes * passages * vector, pairs * RUN_LINE, passages * HELD_ORDER)
    distinct = distinct_passages(passages, pairs)
    read = (blocks.passages or distinct) * text + pairs * RUN_LINE
    written = pairs * (RUN_LINE if step == "rerank" else SCORED_PAIR + digits)
    return Sizes(read, written, pairs * HELD_PAIR + distinct * HELD_ID)
