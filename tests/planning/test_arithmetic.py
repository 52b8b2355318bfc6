"""The arithmetic of a plan, by hand, and its block sizes beside those of the steps."""

from __future__ import annotations

import math

import pytest

from positionbias.dense import vectors
from positionbias.planning import arithmetic
from positionbias.planning.arithmetic import (
    Alone,
    Blocks,
    Sizes,
    blocks_of,
    distinct_passages,
    longest,
    sizes_of,
    times_of,
)
from positionbias.planning.rates import Rate
from positionbias.planning.settings import Machines
from positionbias.ranking import blocks, query_blocks

NOTHING = Sizes(0, 0, 0)


def test_blocks_are_those_of_the_steps() -> None:
    assert arithmetic.SHARD_PASSAGES == vectors.SHARD_PASSAGES
    assert arithmetic.BLOCK_PAIRS == query_blocks.BLOCK_PAIRS
    for name in ("GPU_BLOCK_PAIRS", "MOST_PAIRS", "MOST_AGAIN", "QUERY_SHARE"):
        assert getattr(arithmetic, name) == getattr(blocks, name)


def test_shards_of_passages_and_the_rest() -> None:
    made = blocks_of("encode", 20_000, 0, 1, alone=True, gpu=False)
    assert made == Blocks(2, (8_192, 0, 0), (3_616, 0, 0))
    assert (made.number, made.passages) == (3, 20_000)
    search = blocks_of("retrieve", 16_384, 10, 1, alone=True, gpu=True)
    assert (search.full, search.block, search.number) == (2, (0, 0, 81_920), 2)


def test_distinct_passages_among_independent_candidates() -> None:
    """Of 1,000 passages, 1,000 draws leave out a share of 1/e; few draws are all distinct, and many find all."""
    assert distinct_passages(1_000, 1_000) == pytest.approx(1_000 * (1 - math.exp(-1)))
    assert distinct_passages(1e9, 10) == pytest.approx(10)
    assert distinct_passages(10, 1e6) == pytest.approx(10)


def test_blocks_of_pairs_grow_until_they_share_little() -> None:
    """40,000 pairs read together make 2 blocks and a rest; an encoder's over 1,000 passages become one block where each query costs much."""
    assert blocks_of("rerank", 1_000, 40, 1_000, alone=False, gpu=False) == Blocks(2, (0, 16_384, 0), (0, 7_232, 0))
    one = blocks_of("teach", 1_000, 500, 80, alone=True, gpu=False)
    assert (one.full, one.number) == (0, 1)
    assert one.rest[:2] == (pytest.approx(1_000), 40_000)
    few = blocks_of("teach", 1e9, 200, 1_000, alone=True, gpu=True)  # hardly any passage is shared
    assert (few.full, few.block[1], few.rest[1]) == (3, 65_536, 3_392)


def test_an_encoders_pairs_are_cut_by_passages_where_few_queries_are_encoded_again() -> None:
    """Three blocks, each of all 40 queries: 80 encodings again, as 20 passages of 1,000. With 500 queries of 80 candidates even two blocks cost 125."""
    cut = blocks_of("rerank", 1_000, 40, 1_000, alone=True, gpu=False)
    assert cut == Blocks(2, (pytest.approx(409.6), 16_384, 0), (pytest.approx(180.8), 7_232, 0))
    assert blocks_of("rerank", 1_000, 500, 80, alone=True, gpu=False).number == 1
    assert blocks_of("rerank", 8_841_823, 6_980, 1_000, alone=True, gpu=True).number == 107  # of MS MARCO


@pytest.mark.parametrize(
    ("full", "rest", "workers", "seconds"),
    [
        (0, 5.0, 4, 5.0),  # one worker has it all
        (2, 0.0, 2, 10.0),
        (2, 3.0, 2, 13.0),  # the rest comes after the first round
        (3, 3.0, 2, 20.0),  # beside the second full one
        (4, 0.0, 3, 20.0),
        (100, 1.0, 64, 20.0),
        (5, 2.0, 1, 52.0),
    ],
)
def test_the_longest_worker(full: int, rest: float, workers: int, seconds: float) -> None:
    assert longest(Blocks(full, (1, 0, 0), (rest, 0, 0)), 10.0, rest, workers) == seconds


def test_times_by_hand() -> None:
    """2 shards and 3,616 passages at 100 a second and machine; 2 processes share it, so a shard takes 163.84 s, and 0.5 s to write.

    One of them makes a shard (164.34 s) and the rest (72.32 + 0.5), after a start of 4 s; digests of 1,000 bytes take 1 s.
    """
    work = blocks_of("encode", 20_000, 0, 1, alone=True, gpu=False)
    rate, own = Rate("cpu", "measured", "", passage=0.01), Alone(4.0, 0.5, 0.001, 0.0)
    found = times_of("encode", work, rate, Machines(workers=2), own, Sizes(0, 1_000, 0), 0)
    assert (found.start, found.alone) == (4.0, pytest.approx(1.0))
    assert found.computing == pytest.approx(164.34 + 72.82)
    assert found.total == pytest.approx(242.16)
    assert found.devices == pytest.approx((2 * 164.34 + 72.82) / 2)


def test_one_block_has_the_whole_machine() -> None:
    work = blocks_of("encode", 1_000, 0, 1, alone=True, gpu=False)
    rate, own = Rate("cpu", "measured", "", passage=0.01), Alone(0, 0, 0, 0)
    assert times_of("encode", work, rate, Machines(workers=2), own, NOTHING, 0).computing == pytest.approx(10)
    assert times_of("encode", work, rate, Machines(gpus=8), own, NOTHING, 0).computing == pytest.approx(10)


def test_gpus_and_machines_share_linearly() -> None:
    """128 shards of 8,192 at 8,192 passages a second: 128 s on one, 2 s on 64; 4 machines with 2 processes each take 32 s."""
    work = blocks_of("encode", 128 * 8_192, 0, 1, alone=True, gpu=True)
    own = Alone(0, 0, 0, 0)
    for machines, seconds in ((Machines(gpus=1), 128), (Machines(gpus=64), 2), (Machines(workers=2, machines=4), 32)):
        found = times_of("encode", work, Rate("cuda", "given", "", passage=1 / 8_192), machines, own, NOTHING, 0)
        assert found.computing == pytest.approx(seconds)
        assert found.devices == pytest.approx(128)


def test_bytes_of_each_step() -> None:
    """1,000 passages of 300 bytes; vectors of 32 bytes and ids of 4 digits; 10 pairs."""
    work = blocks_of("encode", 1_000, 0, 1, alone=True, gpu=False)
    sizes = {"passages": 1_000.0, "text": 300.0, "vector": 32.0, "passes": 3}
    assert sizes_of("encode", work, pairs=0, **sizes) == Sizes(300_000, 1_000 * (32 + 4 + 4), 0)
    assert sizes_of("retrieve", work, pairs=10, **sizes) == Sizes(3 * 32_000, 400, 28_000)
    read_together = Blocks(0, (0, 0, 0), (0, 10, 0))
    distinct = 1_000 * (1 - math.exp(-0.01))
    found = sizes_of("rerank", read_together, pairs=10, **sizes)
    assert (found.read, found.written) == (pytest.approx(distinct * 300 + 400), 400)
    assert found.held == pytest.approx(10 * 48 + 120 * distinct)


def test_machines_for_gpus_are_assumed_to_have_eight() -> None:
    assert [Machines(gpus=gpus).number for gpus in (1, 8, 9, 64)] == [1, 1, 2, 8]
    assert (Machines(gpus=64, machines=16).number, Machines().number, Machines(workers=3, machines=2).processes) == (16, 1, 6)
