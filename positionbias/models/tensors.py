"""Read and write safetensors, with one-line errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from positionbias.core.errors import StorageError, bad_input
from positionbias.core.files import storage_errors
from positionbias.core.json_text import JsonObject, read_as
from positionbias.core.seal import verified

Shape = TypeVar("Shape")
FACTS = "posbias.json"
FIX = "train again, or fetch the checkpoint again"


def read_shape(kind: type[Shape], shape: JsonObject, folder: Path) -> Shape:
    """Read a model's settings from its checkpoint in ``folder``.

    Raises:
        InputError: a setting is unknown, of another type, or out of its range.
    """
    return read_as(kind, dict(shape), folder / FACTS, do=FIX)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors; a tensor with several names (T5's embedding and head) is
    written once, under the first.

    Raises:
        StorageError: the file system refused.
    """
    with storage_errors(path):
        path.touch()
        mode = path.stat().st_mode
    with weight_errors(path):
        save_file(
            {name: tensor.detach().contiguous() for name, tensor in _apart(tensors).items()}, path
        )
    path.chmod(mode)  # the library makes files that only their owner can read


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Remove tensors that share the memory of an earlier one."""
    first: dict[tuple[int, torch.Size], str] = {}
    for name, tensor in tensors.items():
        first.setdefault((tensor.data_ptr() or -1 - len(first), tensor.shape), name)
    return {name: tensors[name] for name in first.values()}


@contextmanager
def weight_errors(path: Path) -> Iterator[None]:
    """Turn safetensors' file-system errors into one clear line."""
    try:
        yield
    except SafetensorError as error:  # the library's own error for a full disk
        found = str(error).splitlines()[0]
        raise StorageError(
            f"{path}: wanted to write here; found: {found}; free some space or give another --out, "
            "then run again"
        ) from error


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read safetensors.

    Raises:
        InputError: missing or damaged.
    """
    try:
        return load_file(verified(path))
    # RuntimeError is torch's for file-system errors
    except (OSError, RuntimeError, SafetensorError) as error:
        found = "no such file" if not path.exists() else str(error).splitlines()[0]
        raise bad_input(path, wanted="a safetensors file", found=found, do=FIX) from error


def none_of(missing: Collection[str]) -> str:
    """Name up to four missing tensors, for an error."""
    more = len(missing) - 4
    return (
        f"no tensor {', '.join(sorted(missing)[:4])}{f' and {more:,} others' if more > 0 else ''}"
    )


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model from a safetensors file that holds exactly its tensors."""
    tensors = load_tensors(path)
    wanted = _apart(model.state_dict())
    for name, tensor in wanted.items():
        if name not in tensors:
            raise bad_input(path, wanted=f"the tensor {name}", found="none of this name", do=FIX)
        if tensors[name].shape != tensor.shape:
            found = f"shape {tuple(tensors[name].shape)}"
            raise bad_input(
                path, wanted=f"{name} of shape {tuple(tensor.shape)}", found=found, do=FIX
            )
    if extra := sorted(set(tensors) - set(wanted)):
        raise bad_input(
            path, wanted="the model's own tensors only", found=f"also {extra[0]}", do=FIX
        )
    model.load_state_dict(tensors, strict=False)  # also fills tensors that share memory
