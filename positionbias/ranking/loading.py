"""How a model is loaded in this and other processes, and how torch computes with it."""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.process import own_gpu
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, user_checkpoint
from positionbias.models.onednn import multiplies_bfloat16
from positionbias.models.packed import is_packable
from positionbias.models.prompts import Prompts
from positionbias.models.protocols import Served

DEVICES = ("auto", "cpu", "cuda")


def dtype_of(precision: str, device: torch.device) -> torch.dtype:
    """Return the precision of matrix products by its name, or what ``auto`` is on this device."""
    if precision != "auto":
        dtype: torch.dtype = getattr(torch, precision)
        return dtype
    if device.type != "cuda":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def halves(model: Any) -> bool:
    """Return whether this processor would be faster in bfloat16 with this model."""
    return model.device.type == "cpu" and is_packable(model) and multiplies_bfloat16()


def fixed_threads(model: Any, dtype: torch.dtype) -> int | None:
    """Return the number of this process's threads; None where it changes no bit."""
    # packed texts are divided among threads as whole texts; OpenVINO divides products
    divides = is_packable(model) and dtype != torch.bfloat16
    return None if divides or model.device.type != "cpu" else torch.get_num_threads()


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[Any]:
    """Return the context in which a model computes with ``dtype``."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def opened(model: Any, kind: str | None) -> Checkpoint:
    """Return a checkpoint as it is, or one of a user's object."""
    name = getattr(model, "__name__", type(model).__name__)
    return model if isinstance(model, Checkpoint) else user_checkpoint(model, name, kind)


def pick_device(name: str) -> torch.device:
    """Return a device by name; ``auto`` is a GPU, if there is one: the first, or in a worker of
    several its own.

    Raises:
        SettingError: an unknown name, or no such GPU.
    """
    if name not in DEVICES:
        raise SettingError(
            f"--device: wanted one of {', '.join(DEVICES)}; found {name!r}; give one of these"
        )
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError(
            "--device: wanted cuda; found no GPU that this torch can use; give cpu, or install "
            "torch with CUDA"
        )
    return torch.device(own_gpu(torch.cuda.device_count()) if name == "cuda" else name)


@dataclass(frozen=True, slots=True)
class Loading:
    """How a model is loaded, in this process or in a worker's: its place, as ``load_checkpoint``
    takes it, and the device and precision.
    """

    model: Path | str
    kind: str | None
    computing: Any  # settings, ranking.config.Computing

    def __call__(self) -> Checkpoint:
        """Load it, as ``Computing.load``."""
        computing = self.computing
        device = computing.pick_device()
        computing.config.dtype(device)  # refuses before anything is read
        prompts = Prompts(computing.query_prompt, computing.passage_prompt)
        checkpoint = load_checkpoint(
            self.model,
            self.kind,
            store=computing.store,
            prompts=prompts,
            label=computing.score_label,
        )
        checkpoint.model.to(device)
        return checkpoint


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """How another process loads the model of this one, which must be the same, on the same kind of
    device.

    It computes on its share of the processors if the number of threads changes no bit, else on as
    many threads as this process.
    """

    loading: Loading
    checksum: str
    device: str
    threads: int | None

    @classmethod
    def of(cls, loading: Loading, checkpoint: Checkpoint) -> Elsewhere:
        threads = loading.computing.config.fixed_threads(checkpoint.model)
        return cls(loading, checkpoint.manifest.checksum, checkpoint.model.device.type, threads)

    def __call__(self) -> Checkpoint:
        """Load it.

        Raises:
            SettingError: the device is of another kind.
            InputError: the model has changed; else as ``Computing.load``.
        """
        if (device := self.loading.computing.pick_device().type) != self.device:
            raise SettingError(
                f"--device: wanted {self.device} in every process, as in the command's own; found "
                f"{device} on {platform.node()}; give --device cpu, or only machines with a GPU"
            )
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        checkpoint = self.loading()
        found = checkpoint.manifest.checksum
        if found != self.checksum:
            raise bad_input(
                checkpoint.path,
                wanted=f"the model {self.checksum[:12]}",
                found=f"{found[:12]} in a worker process",
                do="do not change it while it is used",
            )
        return checkpoint


def is_served(checkpoint: Checkpoint) -> bool:
    """Return whether an endpoint serves a model."""
    return isinstance(checkpoint.model, Served)
