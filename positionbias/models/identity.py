"""A model's identity: a checksum over everything that it computes with, independent of its path."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from positionbias.core.files import sha256_file
from positionbias.models.sentence_transformers import MODULES

# sentence-transformers' names for module folders
MODULE_FOLDER = re.compile(r"\d|(query|document)_\d")
_SUFFIXES = (".json", ".model", ".jinja")
_NAMES = ("vocab.txt", "merges.txt", "dict.txt", "artifact.metadata")
_NOT_THE_MODEL = re.compile(r"manifest\.json|training\.json|trainer_state\.json|.*results\.json")
# fields that depend on the path and the software of saving, not on the model; every call sets the
# tokenizer's two anew
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
    """Return the SHA-256 over a model's folder: weights, settings, tokenizer or words, and its
    modules' folders.

    Settings count by content, without format and the fields about who saved them. A manifest, a
    training log, a tuned re-ranking depth, and other files (a model card, other libraries' copies
    of the weights) do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(_files(folder)):
        told = _settings_sha256(path) if path.suffix == ".json" else sha256_file(path)
        digest.update(f"{path.relative_to(folder).as_posix()} {told}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that a model is loaded from, in its own folder and those of its modules."""
    own = _module_folders(folder)
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        inside = len(parts) == 1 or parts[0] in own or MODULE_FOLDER.match(parts[0])
        if inside and path.is_file() and _counts(path):
            yield path


def _counts(path: Path) -> bool:
    if path.suffix == ".bin":  # only without a safer file beside it
        return path.name.startswith("pytorch_model") and not any(path.parent.glob("*.safetensors"))
    if path.suffix == ".safetensors" or path.name in _NAMES:
        return True
    return path.suffix in _SUFFIXES and not _NOT_THE_MODEL.fullmatch(path.name)


def _module_folders(folder: Path) -> set[str]:
    """Return the folders in sentence-transformers' list of modules; faults of a list are reported
    on loading.
    """
    try:
        records = json.loads((folder / MODULES).read_text("utf-8"))
        return {Path(record["path"]).parts[0] for record in records if record["path"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _settings_sha256(path: Path) -> str:
    """Return the SHA-256 of a JSON file's content; of its bytes, if it is not JSON."""
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
    """Remove the volatile fields from settings, at any depth."""
    if isinstance(record, dict):
        return {name: _lasting(value) for name, value in record.items() if name not in _VOLATILE}
    return [_lasting(item) for item in record] if isinstance(record, list) else record
