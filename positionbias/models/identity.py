"""What a model is known by: a checksum over all that it computes with, the same wherever its folder lies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from positionbias.core.files import sha256_file
from positionbias.models.sentence_transformers import MODULES

__all__ = ["MODULE_FOLDER", "model_checksum", "weights_checksum"]

MODULE_FOLDER = re.compile(r"\d|(query|document)_\d")  # as sentence-transformers names the folders of a model's modules
_SUFFIXES = (".json", ".model", ".jinja")
_NAMES = ("vocab.txt", "merges.txt", "dict.txt", "artifact.metadata")
_NOT_THE_MODEL = re.compile(r"manifest\.json|training\.json|trainer_state\.json|.*results\.json")
# what changes with where and by what a model was saved, and not with the model; the tokenizer's two are set anew by every call
_VOLATILE = {
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "__version__",
    "_commit_hash",
    "is_local",
    "local_files_only",
}
_SET_BY_CALLS = {"tokenizer.json": {"truncation", "padding"}, "posbias.json": {"depth"}}


def model_checksum(folder: Path) -> str:
    """SHA-256 over a model's folder: weights, settings, and tokenizer or words; its modules' folders with it.

    Settings count by what they say: neither their form nor the fields that tell who saved them change it, nor do a manifest, a training
    log, a tuned re-ranking depth, or what else lies there (a model card, other libraries' copies of the weights).
    """
    digest = hashlib.sha256()
    for path in sorted(_files(folder)):
        told = _settings_sha256(path) if path.suffix == ".json" else sha256_file(path)
        digest.update(f"{path.relative_to(folder).as_posix()} {told}\n".encode())
    return digest.hexdigest()


def weights_checksum(folder: Path) -> str:
    """SHA-256 over the weights alone: what manifests of checkpoints named before they named the whole model."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin")):
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_file(path)}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """The files that a model is loaded from, in its own folder and in those of its modules."""
    own = _module_folders(folder)
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        inside = len(parts) == 1 or parts[0] in own or MODULE_FOLDER.match(parts[0])
        if inside and path.is_file() and _counts(path):
            yield path


def _counts(path: Path) -> bool:
    if path.suffix == ".bin":  # where there is nothing safer beside it
        return path.name.startswith("pytorch_model") and not any(path.parent.glob("*.safetensors"))
    if path.suffix == ".safetensors" or path.name in _NAMES:
        return True
    return path.suffix in _SUFFIXES and not _NOT_THE_MODEL.fullmatch(path.name)


def _module_folders(folder: Path) -> set[str]:
    """The folders that sentence-transformers' list of modules names. What is wrong with a list is said where it is loaded."""
    try:
        records = json.loads((folder / MODULES).read_text("utf-8"))
        return {Path(record["path"]).parts[0] for record in records if record["path"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _settings_sha256(path: Path) -> str:
    """The SHA-256 of what a JSON file says; of its bytes, where it is none."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return sha256_file(path)
    if isinstance(record, dict) and (left_out := _SET_BY_CALLS.get(path.name)):
        record = {name: value for name, value in record.items() if name not in left_out}
    elif "config" in path.name:
        record = _lasting(record)
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _lasting(record: Any) -> Any:
    """Settings without the volatile fields, at any depth."""
    if isinstance(record, dict):
        return {name: _lasting(value) for name, value in record.items() if name not in _VOLATILE}
    return [_lasting(item) for item in record] if isinstance(record, list) else record
