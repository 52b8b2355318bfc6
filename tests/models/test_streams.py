"""Streams give what one thread gives, in order, whatever their number; and leave torch's number of
threads alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from positionbias.models import packed as packing
from positionbias.models.encoder import open_encoder
from positionbias.models.packed import PackedBatch, packed_encoder
from positionbias.models.streams import in_streams

from .encoders import saved


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def batch_of(lengths: list[int]) -> PackedBatch:
    offsets = F.pad(torch.tensor(lengths).cumsum(0), (1, 0)).int()
    places = torch.cat([torch.arange(length) for length in lengths])
    return PackedBatch(5 + torch.arange(sum(lengths)) % 20, None, places, offsets, max(lengths))


@pytest.mark.parametrize(
    ("threads", "streams", "each"), [(1, 1, 1), (2, 2, 1), (7, 4, 1), (8, 4, 2)]
)
def test_work_in_order(threads: int, streams: int, each: int) -> None:
    torch.set_num_threads(threads)

    def work(number: int) -> tuple[int, str, int]:
        return number**2, threading.current_thread().name, torch.get_num_threads()

    found = in_streams(work, range(100))
    assert [one for one, _, _ in found] == [number**2 for number in range(100)]
    assert len({name for _, name, _ in found}) <= streams
    assert {own for _, _, own in found} == {each}
    assert torch.get_num_threads() == threads


def test_an_error_reaches_the_caller() -> None:
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        in_streams(lambda number: 1 // number, [2, 1, 0, 1])
    assert in_streams(lambda number: 1 // number, [2, 1]) == [0, 1]


def test_parts_are_whole_texts() -> None:
    parts = batch_of([3, 3, 1, 5]).parts(12)  # two parts, the first up to the sixth token
    assert [part.offsets.tolist() for part in parts] == [[0, 3, 6], [0, 1, 6]]
    assert [part.longest for part in parts] == [3, 5]
    assert parts[1].positions.tolist() == [0, 0, 1, 2, 3, 4]
    assert parts[1].numbers.tolist() == [11, 12, 13, 14, 15, 16]
    assert [len(part) for part in batch_of([9, 1]).parts(2)] == [1, 1]
    assert [len(batch_of([1] * 40).parts(tokens)) for tokens in (100, 80, 21, 20, 10, 6, 5)] == [
        1,
        2,
        2,
        4,
        4,
        8,
        8,
    ]


def test_states_are_the_same_bytes_for_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_PART_TOKENS", 20)
    encoder = packed_encoder(
        open_encoder(saved("bert", tmp_path / "bert")).eval().backbone, torch.float32
    )
    assert encoder is not None
    batch = batch_of([17, 16, 11, 11, 9, 7, 7, 5, 3, 1])
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append((encoder.states(batch), encoder.cls(batch)))
    for states, cls in found[1:]:
        assert torch.equal(states, found[0][0])
        assert torch.equal(cls, found[0][1])
    monkeypatch.setattr(packing, "_PART_TOKENS", 1_000)  # one part
    assert torch.allclose(encoder.states(batch), found[0][0], atol=1e-5)
    assert torch.allclose(encoder.cls(batch), found[0][1], atol=1e-5)
