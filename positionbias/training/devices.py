"""The devices of a training: one, or several with a process each, started by ``accelerate launch``
or ``torchrun``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from accelerate.utils import InitProcessGroupKwargs, ProjectConfiguration, broadcast_object_list
from torch import Tensor, nn

from positionbias.core.errors import DependencyError, SettingError
from positionbias.core.json_text import JsonObject
from positionbias.models.protocols import Ranker
from positionbias.training.config import settled_precision

if TYPE_CHECKING:
    from accelerate import Accelerator

T = TypeVar("T")

_HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Devices:
    """This process's device, and the others. All processes must make the same calls, except
    ``autocast``.
    """

    def __init__(self, accelerator: Accelerator, precision: str) -> None:
        self.accelerator, self.half = accelerator, _HALVES.get(settled_precision(precision))
        self.device: torch.device = accelerator.device
        self.processes: int = accelerator.num_processes
        self.place: int = accelerator.process_index
        self.main: bool = accelerator.is_main_process
        if self.half is torch.float16 and self.device.type != "cuda":
            raise SettingError(
                f"--precision: float16 needs a GPU; found {self.device.type}; give bfloat16 or "
                "float32"
            )
        if (
            self.half is torch.bfloat16
            and self.device.type == "cuda"
            and not torch.cuda.is_bf16_supported(False)
        ):
            raise SettingError("--precision: this GPU has no bfloat16; give float16 or float32")
        # gradients of half-precision scores are scaled up, so that small ones do not vanish
        # (float16 only)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.half is torch.float16)

    def autocast(self) -> Any:
        """Return a context that computes in the wanted precision."""
        return torch.autocast(self.device.type, dtype=self.half, enabled=self.half is not None)

    def prepare(self, model: Ranker) -> nn.Module:
        """Return the callable for scores: the model itself or, in several processes, a wrapper that
        averages its gradients.

        It skips embeddings with sparse gradients, which ``share_sparse`` adds up.
        """
        assert isinstance(model, nn.Module)
        sparse = set(map(id, model.parameter_roles()["embedding"]))
        apart = [name for name, parameter in model.named_parameters() if id(parameter) in sparse]
        # constants: no need to send them at each step
        apart += [name for name, _ in model.named_buffers()]
        nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
            model, apart
        )
        return self.accelerator.prepare_model(model)

    def share_sparse(self, gradient: Tensor, *, clipped: bool) -> Tensor:
        """Average a sparse gradient over processes, as dense ones are shared; rows and values are
        gathered. ``clipped``: it must be coalesced.

        (NCCL adds up dense tensors only.)
        """
        if self.processes == 1 and self.device.type == "cuda" and not clipped:
            return gradient  # RowAdam takes it as it is, and coalescing waits for the device
        gradient = gradient.coalesce()
        if self.processes == 1:
            return gradient
        pad, gather = self.accelerator.pad_across_processes, self.accelerator.gather
        rows = gather(pad(gradient.indices()[0], pad_index=-1))
        values = gather(pad(gradient.values()))[rows >= 0]
        rows = rows[rows >= 0].unsqueeze(0)
        return torch.sparse_coo_tensor(
            rows, values / self.processes, gradient.shape, check_invariants=False
        ).coalesce()

    def total(self, numbers: Tensor) -> Tensor:
        """Return the sum of a tensor over processes."""
        return numbers if self.processes == 1 else self.accelerator.reduce(numbers, "sum")

    def total_number(self, number: float) -> float:
        """Return the sum of a number over processes; for one of them nothing goes to the device."""
        return (
            number
            if self.processes == 1
            else float(self.total(torch.tensor(number, device=self.device)))
        )

    def from_main(self, value: T | None) -> T:
        """Return the main process's value."""
        if self.processes > 1:
            (value,) = broadcast_object_list([value])
        assert value is not None
        return value

    @contextmanager
    def own_generator(self) -> Iterator[None]:
        """Restore torch's generators after the block."""
        with torch.random.fork_rng(
            devices=[torch.cuda.current_device()] if self.device.type == "cuda" else []
        ):
            yield

    def facts(self) -> JsonObject:
        """Return the devices as a manifest's provenance records them."""
        name = (
            torch.cuda.get_device_name(self.device)
            if self.device.type == "cuda"
            else self.device.type
        )
        return {"device": name, "processes": self.processes, "threads": torch.get_num_threads()}

    def wait(self) -> None:
        """Wait for all processes."""
        self.accelerator.wait_for_everyone()


def find_devices(
    precision: str = "auto", tracker: str | None = None, logs: Path | None = None
) -> Devices:
    """Return the devices for which this process and its peers were started.

    ``tracker`` is one of accelerate's (``config.TRACKERS``), ``logs`` the folder of its files.

    Raises:
        SettingError: a precision that the device lacks, or devices that cannot work together.
        DependencyError: the tracker's package is not installed.
    """
    if tracker is not None and tracker not in map(str, get_available_trackers()):
        raise DependencyError(
            f"--tracker: wanted the package of {tracker}; found none; run: pip install "
            f"{tracker.replace('_', '-')}"
        )
    # the others wait while the main process validates, however long that takes
    options = [InitProcessGroupKwargs(timeout=timedelta(days=7))]
    # half precision is ours: accelerate's would stay on the model, and change validation
    accelerator = Accelerator(
        cpu=not torch.accelerator.is_available(),
        mixed_precision="no",
        kwargs_handlers=options,
        log_with=tracker,
        project_config=ProjectConfiguration(logging_dir=None if logs is None else str(logs)),
    )
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if started != accelerator.num_processes:
        raise SettingError(
            f"{started} processes: wanted devices that can train together; found "
            f"{accelerator.device.type}; start one process, or with accelerate launch --cpu"
        )
    return Devices(accelerator, precision)
