"""An index in a collection's cache: opened where it belongs and is whole, else built there."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from positionbias.core.errors import PositionBiasError, StorageError
from positionbias.core.files import read_json, write_json
from positionbias.core.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from positionbias.core.shard_work import resumable_folder

__all__ = ["open_or_build"]

Index = TypeVar("Index")
_FILES = "files.json"


def open_or_build(
    folder: Path, manifest: Manifest, open_index: Callable[[Path], Index], build: Callable[[Path], None]
) -> tuple[Index, str]:
    """The index at ``folder`` and where it came from: "built", "reused", or "built, not kept: REASON".

    What stands there is reused only where its manifest says the same as ``manifest`` and no file has changed its size. A cache that
    cannot be written (a read-only collection, a full disk) does not stop the search: the index then stands in the system's
    temporary folder as long as it is in use.
    """
    if _belongs(folder, manifest):
        try:
            return open_index(folder), "reused"
        except (PositionBiasError, OSError, ValueError, KeyError, EOFError, TypeError):
            pass  # damaged: build it anew
    try:
        with resumable_folder(folder, manifest.comparable(), overwrite=True) as work:
            _build(work, manifest, build)
        return open_index(folder), "built"
    except StorageError as error:
        reason = str(error)
    temporary = tempfile.TemporaryDirectory(prefix="posbias-index-")
    try:
        place = Path(temporary.name) / "index"
        with resumable_folder(place, manifest.comparable()) as work:
            _build(work, manifest, build)
        index = open_index(place)
    except BaseException:
        temporary.cleanup()
        raise
    weakref.finalize(index, temporary.cleanup)
    return index, f"built, not kept: {reason}"


def _build(work: Path, manifest: Manifest, build: Callable[[Path], None]) -> None:
    build(work)
    write_manifest(work / MANIFEST, manifest)
    write_json(work / _FILES, _sizes(work))


def _belongs(folder: Path, manifest: Manifest) -> bool:
    try:
        same = read_manifest(folder, kind="index").comparable() == manifest.comparable()
        return same and read_json(folder / _FILES) == _sizes(folder)
    except (PositionBiasError, OSError, TypeError):
        return False


def _sizes(folder: Path) -> dict[str, int]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (MANIFEST, _FILES))
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
