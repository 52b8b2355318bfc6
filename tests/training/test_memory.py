"""Out of GPU memory: what fits is found by trying, and said. The device is played; nothing else
is.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.training.batches import batches
from positionbias.training.memory import fitting_size, out_of_memory, room_for_moments

from .conftest import Task
from .test_train import made


class Device:
    """A step that runs out of memory above so many groups."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.asked: list[int] = []

    def __call__(self, size: int) -> None:
        self.asked.append(size)
        if size > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize(
    ("size", "room", "fits", "asked"),
    [
        (32, 5, 4, [16, 8, 4]),
        (24, 5, 3, [12, 6, 3]),
        (4, 0, 0, [2, 1]),
        (1, 0, 0, []),
    ],
)
def test_halves_are_tried_until_one_fits(size: int, room: int, fits: int, asked: list[int]) -> None:
    device = Device(room)
    assert fitting_size(device, size) == fits
    assert device.asked == asked


@pytest.mark.parametrize(
    ("size", "fits", "accumulate", "advice"),
    [
        (32, 8, 2, "8 fit: give --batch-size 8 --accumulate 8 (the same number a step), and"),
        (24, 5, 1, "5 fit: give --batch-size 5 --accumulate 5 (25 a step), and"),
        (
            32,
            0,
            1,
            (
                "not even one group fits: cut the texts shorter, lower --group-size, or give "
                "--precision bfloat16"
            ),
        ),
    ],
)
def test_the_line_says_what_to_give(size: int, fits: int, accumulate: int, advice: str) -> None:
    error = out_of_memory(
        size, fits, accumulate=accumulate, where="epoch 1, batch 7", folder="work"
    )
    found = (
        f"--batch-size: wanted room for {size} groups in the GPU's memory; found too little of it, "
        f"epoch 1, batch 7; {advice}"
    )
    assert str(error).startswith(found)


def test_an_attempt_leaves_room_for_moments_that_are_not_yet_there(
    task: Task, tmp_path: Path
) -> None:
    trainer, texts = made(task, tmp_path)
    sizes = sum(parameter.numel() for parameter in trainer.model.parameters())
    assert sum(tensor.numel() for tensor in room_for_moments(trainer.optimizers)) == 2 * sizes
    trainer.step(list(islice(batches(trainer.model, texts, size=4, epoch=0), 1)))
    assert room_for_moments(trainer.optimizers) == []


@pytest.mark.parametrize("room", [3, 0])
def test_a_step_that_does_not_fit_ends_in_that_line(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    trainer, texts = made(task, tmp_path, batch_size=8)
    device = Device(room)

    def limited(**inputs: torch.Tensor) -> torch.Tensor:
        device(len(inputs["queries"]))
        return forward(**inputs)

    forward = trainer.model.forward
    monkeypatch.setattr(trainer.model, "forward", limited)
    wanted = "2 fit: give --batch-size 2 --accumulate 4" if room else "not even one group fits"
    with pytest.raises(
        SettingError, match=f"wanted room for 8 groups .* epoch 0, batch 1; {wanted}"
    ):
        trainer.step(list(islice(batches(trainer.model, texts, size=8, epoch=0, start=1), 1)))
    assert device.asked == ([8, 4, 2] if room else [8, 4, 2, 1])
