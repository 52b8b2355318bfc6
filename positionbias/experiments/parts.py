"""The parts of a study that need nothing of each other, side by side: a model's training, and what
is made with that model.

A part computes on the same number of threads wherever it runs, as another number changes last bits:
that of its trainings' settings, or torch's in the study's own process. On CPUs as many parts run at
once as there are processors for their threads, on GPUs each has its own.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from positionbias.core.errors import SettingError
from positionbias.core.progress import remark
from positionbias.engine.choose import Engine
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.step import Steps
from positionbias.models.torch_threads import torch_threads
from positionbias.ranking.loading import pick_device

Item = TypeVar("Item")
Out = TypeVar("Out")


def in_parts(
    engine: Engine,
    steps: Steps,
    function: Callable[[Item], Out],
    items: Iterable[Item],
    models: Sequence[ModelSettings],
) -> Iterator[Out]:
    """Yield ``function`` of every item in the order of the items; it makes ``steps`` of ``models``,
    and must be picklable if there are several workers.

    What other processes tell is told here when their part is done. Items are read, and parts made,
    only as they are needed where nothing runs side by side.

    Raises:
        SettingError: a process has another kind of device than this one.
    """
    threads = max(model.training.threads or torch.get_num_threads() for model in models)
    part = Part(function, steps, threads, pick_device("auto").type)
    gpus = part.device == "cuda"
    at_once = engine.at_once(threads, gpus=gpus)
    if at_once == 1 and engine.workers > 1 and threads > 1:
        remark(
            f"models are made one after another, as each takes {threads} threads; with "
            "--set threads=1 several are made side by side"
        )
    if steps.dry_run or (at_once == 1 and engine.name == "local"):
        yield from map(part.here, items)
        return
    with engine.open_long(threads, gpus=gpus) as over:
        for made, lines in over(part, items):
            for line in lines:
                steps.tell(line)
            yield made


@dataclass(frozen=True, slots=True)
class Part(Generic[Item, Out]):
    """A part to make; ``steps`` are those of ``function``, in another process a copy."""

    function: Callable[[Item], Out]
    steps: Steps
    threads: int
    device: str

    def here(self, item: Item) -> Out:
        """Make it in the study's own process."""
        with torch_threads(self.threads):
            return self.function(item)

    def __call__(self, item: Item) -> tuple[Out, list[str]]:
        """Make it in any process; return also what its steps told.

        Raises:
            SettingError: the device is of another kind than in the study's process.
        """
        device = pick_device("auto")
        if device.type != self.device:
            raise SettingError(
                f"--engine: wanted {self.device} on every machine, as on the study's own; found "
                f"{device.type} on {platform.node()}; use machines of one kind"
            )
        if device.index is not None:
            torch.cuda.set_device(device)
        lines: list[str] = []
        tell: Any = self.steps.tell
        self.steps.tell = lines.append
        try:
            return self.here(item), lines
        finally:
            self.steps.tell = tell
