"""A trained model on disk: safetensors and JSON, and a manifest of all that made it. Nothing in it can run.

manifest.json      command, settings, seed, inputs, versions
posbias.json       the kind of model, its shape, the re-ranking depth tuned on validation
training.json      what was logged at each validation
log.jsonl          the same with the time that it took, a line a validation
*.safetensors …    the model's own: weights, and its words or its tokenizer

A model that transformers or sentence-transformers saved loads too, with a manifest made on the spot and no depth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import atomic_folder, read_json, write_json
from positionbias.core.manifest import MANIFEST, Manifest, package_versions, read_manifest, write_manifest
from positionbias.models.kinds import model_class
from positionbias.models.protocols import Ranker
from positionbias.models.tensors import MEND, weights_checksum

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

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


def save_checkpoint(
    path: Path,
    model: Ranker,
    *,
    depth: int | None,
    training: Mapping[str, Any],
    manifest: Manifest,
    timed_log: Sequence[Mapping[str, Any]] = (),
    overwrite: bool = False,
) -> None:
    """Write a checkpoint folder, whole or not at all. ``timed_log``: the log's rows with the times they took, as JSON lines."""
    with atomic_folder(path, overwrite=overwrite) as partial:
        model.save(partial)
        write_json(partial / FACTS, {"kind": model.kind, "depth": depth, "shape": asdict(model.config)})
        write_json(partial / "training.json", training)
        if timed_log:
            (partial / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in timed_log))
        content = {**manifest.content, "checksum": weights_checksum(partial)}
        write_manifest(partial / MANIFEST, replace(manifest, content=content))


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint: one of ours, or a cross-encoder or bi-encoder of sentence-transformers (a folder, a hub id, ``minilm``).

    Raises:
        InputError: not a checkpoint, a missing or mis-shaped tensor, a file that is gone, weights that are not the manifest's, or
            a model with parts that are not supported.
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file() and not (folder / FACTS).is_file() and _may_be_foreign(folder):
        return _load_foreign(path)
    manifest = read_manifest(folder, kind=KIND)
    facts = read_json(folder / FACTS, what="a checkpoint's facts")
    try:
        with torch.random.fork_rng(devices=[]):  # random weights, to be filled: the caller's generator stays as it was
            model = model_class(facts["kind"]).load(folder, facts["shape"])
        depth = facts["depth"] if facts["depth"] is None else int(facts["depth"])
        if depth is not None and depth < 1:
            raise ValueError(f"a re-ranking depth of {depth}")
    except (KeyError, TypeError, ValueError, SettingError) as error:
        found = f"none of {error}" if isinstance(error, KeyError) else str(error)
        raise bad_input(folder / FACTS, wanted="a checkpoint's facts", found=found, do=MEND) from error
    if weights_checksum(folder) != manifest.content.get("checksum"):
        raise bad_input(folder, wanted="the weights that manifest.json names", found="other content", do=MEND)
    model.eval()
    return Checkpoint(folder, model, manifest, depth, read_json(folder / "training.json", what="a training log"))


def _may_be_foreign(folder: Path) -> bool:
    """Whether this is a folder of transformers' kind, or a name that stands for one."""
    return (folder / "config.json").is_file() or not folder.exists()


def _load_foreign(name: Path | str) -> Checkpoint:
    from positionbias.models.encoder_source import encoder_folder
    from positionbias.models.foreign import load_foreign

    folder = encoder_folder(name)
    with torch.random.fork_rng(devices=[]):
        model = load_foreign(folder)
    model.eval()
    manifest = Manifest(
        kind=KIND,
        name=(folder.resolve() if Path(name).is_dir() else Path(name)).name,  # of a hub id what stands behind the slash
        command="",
        content={"checksum": weights_checksum(folder)},
        notes=("not trained here; its scores are raw: logits before any activation, or dot products of its vectors",),
        versions=package_versions("torch", "transformers"),
    )
    return Checkpoint(folder, model, manifest, None, {})
