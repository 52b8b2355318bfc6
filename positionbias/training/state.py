"""The state a training is resumed from: weights, optimisers, counters and the log, in safetensors and JSON.

It lives in a working folder beside the checkpoint to be (``.NAME.training``); each save is whole before the last one goes, so a
training killed at any moment continues from its last save to the weights it would have had.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import atomic_folder, read_json, write_json
from positionbias.models.checkpoint import load_tensors, load_weights, save_tensors
from positionbias.models.tk import TK

__all__ = ["load_best", "load_state", "save_best", "save_state", "working_folder"]


def working_folder(out: Path) -> Path:
    """Where a training towards ``out`` keeps its state."""
    return out.with_name(f".{out.name}.training")


def _optimizer_tensors(optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    flat: dict[str, Tensor] = {}
    for number, optimizer in enumerate(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                flat[f"{number}.{index}.{key}"] = value if torch.is_tensor(value) else torch.tensor(float(value))
    return flat


def _restore_optimizers(optimizers: Sequence[torch.optim.Optimizer], flat: Mapping[str, Tensor]) -> None:
    for number, optimizer in enumerate(optimizers):
        record = optimizer.state_dict()
        states: dict[int, dict[str, Any]] = {}
        for name, value in flat.items():
            owner, index, key = name.split(".", 2)
            if int(owner) == number:
                # SparseAdam counts its steps in a plain integer, Adam in a tensor
                plain = key == "step" and isinstance(optimizer, torch.optim.SparseAdam)
                states.setdefault(int(index), {})[key] = int(value.item()) if plain else value
        record["state"] = states
        optimizer.load_state_dict(record)


def _replace(folder: Path, prefix: str, step: int) -> Iterator[Path]:
    """Give a new ``prefix-STEP`` to write; once it is whole, drop the older ones. A kill leaves one of them whole."""
    final = folder / f"{prefix}-{step:08d}"
    with atomic_folder(final, overwrite=True) as partial:
        yield partial
    for older in folder.glob(f"{prefix}-*"):
        if older != final:
            shutil.rmtree(older)


_replacing = contextmanager(_replace)


def save_state(folder: Path, model: TK, optimizers: Sequence[torch.optim.Optimizer], record: Mapping[str, Any]) -> None:
    """Write the whole state; ``record`` holds settings, counters (``step`` among them) and the log."""
    with _replacing(folder, "state", record["step"]) as partial:
        save_tensors(partial / "model.safetensors", model.state_dict())
        save_tensors(partial / "optimizers.safetensors", _optimizer_tensors(optimizers))
        write_json(partial / "state.json", record)


def load_state(
    folder: Path, model: TK, optimizers: Sequence[torch.optim.Optimizer], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Restore what ``save_state`` wrote and return its record.

    Raises:
        InputError: no state there, a damaged one, or one of other settings (the first that differs is named).
    """
    latest = max(folder.glob("state-*"), default=None)
    if latest is None:
        raise InputError(f"{folder}: wanted a training to resume; found none; start it without --resume")
    record = read_json(latest / "state.json", what="a training's state")
    for key in sorted(set(record["settings"]) | set(settings)):
        before, now = record["settings"].get(key), settings.get(key)
        if before != now:
            raise bad_input(
                latest,
                wanted=f"the settings it began with ({key} = {before})",
                found=f"{key} = {now}",
                do="resume with the same",
            )
    load_weights(model, latest / "model.safetensors")
    _restore_optimizers(optimizers, load_tensors(latest / "optimizers.safetensors"))
    return record


def save_best(folder: Path, model: TK, step: int) -> None:
    """Keep the weights with the best validation so far."""
    with _replacing(folder, "best", step) as partial:
        save_tensors(partial / "model.safetensors", model.state_dict())


def load_best(folder: Path, model: TK, step: int) -> None:
    """Put the best weights back."""
    load_weights(model, folder / f"best-{step:08d}" / "model.safetensors")
