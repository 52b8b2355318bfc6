"""A trained model on disk: safetensors and JSON, and a manifest of all that made it. Nothing in it can run.

manifest.json      command, settings, seed, inputs, versions
config.json        the kind of model, its shape, the re-ranking depth tuned on validation
vocabulary.json    the words, in order
model.safetensors  the weights
training.json      what was logged at each validation
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from positionbias.core.errors import SettingError, StorageError, bad_input
from positionbias.core.files import atomic_folder, read_json, sha256_file, write_json
from positionbias.core.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from positionbias.models.tk import TK, TKConfig
from positionbias.text.vocabulary import Vocabulary

__all__ = ["Checkpoint", "load_checkpoint", "load_tensors", "save_checkpoint", "save_tensors"]

KIND = "checkpoint"
DO = "train again, or fetch the checkpoint again"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model with its manifest, its tuned re-ranking depth and its training log."""

    path: Path
    model: TK
    manifest: Manifest
    depth: int
    training: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The system's name in runs and results."""
        return self.manifest.name


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors.

    Raises:
        StorageError: the file system refused.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:  # the library's own error for a full disk
        found = str(error).splitlines()[0]
        raise StorageError(
            f"{path}: wanted to write here; found: {found}; free some space or give another --out, then run again"
        ) from error


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read safetensors.

    Raises:
        InputError: missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        found = "no such file" if not path.exists() else str(error).splitlines()[0]
        raise bad_input(path, wanted="a safetensors file", found=found, do=DO) from error


def save_checkpoint(
    path: Path, model: TK, *, depth: int, training: Mapping[str, Any], manifest: Manifest, overwrite: bool = False
) -> None:
    """Write a checkpoint folder, whole or not at all."""
    with atomic_folder(path, overwrite=overwrite) as partial:
        save_tensors(partial / "model.safetensors", model.state_dict())
        write_json(partial / "config.json", {"kind": model.kind, "depth": depth, "shape": asdict(model.config)})
        write_json(partial / "vocabulary.json", model.vocabulary.words)
        write_json(partial / "training.json", training)
        content = {**manifest.content, "checksum": sha256_file(partial / "model.safetensors")}
        write_manifest(partial / MANIFEST, replace(manifest, content=content))


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        InputError: not a checkpoint, a missing or mis-shaped tensor, a file that is gone, weights that are not the manifest's.
    """
    path = Path(path)
    manifest = read_manifest(path, kind=KIND)
    config = read_json(path / "config.json", what="a checkpoint's configuration")
    words = read_json(path / "vocabulary.json", what="a checkpoint's words")
    try:
        if config["kind"] != TK.kind:
            raise bad_input(path / "config.json", wanted="a model of kind tk", found=repr(config["kind"]), do="update posbias")
        with torch.random.fork_rng(devices=[]):  # random weights, to be filled: the caller's generator stays as it was
            model = TK(TKConfig(**config["shape"]), Vocabulary(words))
        depth = int(config["depth"])
        if depth < 1:
            raise ValueError(f"a re-ranking depth of {depth}")
    except (KeyError, TypeError, ValueError, SettingError) as error:
        found = f"none of {error}" if isinstance(error, KeyError) else str(error)
        raise bad_input(path / "config.json", wanted="a checkpoint's configuration", found=found, do=DO) from error
    weights = path / "model.safetensors"
    load_weights(model, weights)
    if sha256_file(weights) != manifest.content.get("checksum"):
        raise bad_input(weights, wanted="the weights that manifest.json names", found="other content", do=DO)
    model.eval()
    return Checkpoint(path, model, manifest, depth, read_json(path / "training.json", what="a training log"))


def load_weights(model: TK, path: Path) -> None:
    """Fill a model from a safetensors file that holds exactly its tensors."""
    tensors = load_tensors(path)
    wanted = model.state_dict()
    for name, tensor in wanted.items():
        if name not in tensors:
            raise bad_input(path, wanted=f"the tensor {name}", found="none of this name", do=DO)
        if tensors[name].shape != tensor.shape:
            found = f"shape {tuple(tensors[name].shape)}"
            raise bad_input(path, wanted=f"{name} of shape {tuple(tensor.shape)}", found=found, do=DO)
    if extra := sorted(set(tensors) - set(wanted)):
        raise bad_input(path, wanted="the model's own tensors only", found=f"also {extra[0]}", do=DO)
    model.load_state_dict(tensors)
