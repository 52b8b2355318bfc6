"""A trained model on disk: safetensors and JSON, and a manifest of all that made it. Nothing in it can run.

manifest.json      command, settings, seed, inputs, versions
posbias.json       the kind of model, its shape, the re-ranking depth tuned on validation
training.json      what was logged at each validation
*.safetensors …    the model's own: weights, and its words or its tokenizer
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import atomic_folder, read_json, sha256_file, write_json
from positionbias.core.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from positionbias.models.kinds import model_class
from positionbias.models.protocols import Ranker
from positionbias.models.tensors import MEND

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint", "weights_checksum"]

KIND = "checkpoint"
FACTS = "posbias.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model with its manifest, its tuned re-ranking depth (None: never tuned) and its training log."""

    path: Path
    model: Ranker
    manifest: Manifest
    depth: int | None
    training: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The system's name in runs and results."""
        return self.manifest.name


def weights_checksum(folder: Path) -> str:
    """SHA-256 over all weights of a model's folder, by file name and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.safetensors")):
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_file(path)}\n".encode())
    return digest.hexdigest()


def save_checkpoint(
    path: Path, model: Ranker, *, depth: int, training: Mapping[str, Any], manifest: Manifest, overwrite: bool = False
) -> None:
    """Write a checkpoint folder, whole or not at all."""
    with atomic_folder(path, overwrite=overwrite) as partial:
        model.save(partial)
        write_json(partial / FACTS, {"kind": model.kind, "depth": depth, "shape": asdict(model.config)})
        write_json(partial / "training.json", training)
        content = {**manifest.content, "checksum": weights_checksum(partial)}
        write_manifest(partial / MANIFEST, replace(manifest, content=content))


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        InputError: not a checkpoint, a missing or mis-shaped tensor, a file that is gone, weights that are not the manifest's.
    """
    path = Path(path)
    manifest = read_manifest(path, kind=KIND)
    facts = read_json(path / FACTS, what="a checkpoint's facts")
    try:
        with torch.random.fork_rng(devices=[]):  # random weights, to be filled: the caller's generator stays as it was
            model = model_class(facts["kind"]).load(path, facts["shape"])
        depth = int(facts["depth"])
        if depth < 1:
            raise ValueError(f"a re-ranking depth of {depth}")
    except (KeyError, TypeError, ValueError, SettingError) as error:
        found = f"none of {error}" if isinstance(error, KeyError) else str(error)
        raise bad_input(path / FACTS, wanted="a checkpoint's facts", found=found, do=MEND) from error
    if weights_checksum(path) != manifest.content.get("checksum"):
        raise bad_input(path, wanted="the weights that manifest.json names", found="other content", do=MEND)
    model.eval()
    return Checkpoint(path, model, manifest, depth, read_json(path / "training.json", what="a training log"))
