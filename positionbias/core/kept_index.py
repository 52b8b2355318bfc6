"""An index in a collection's cache: opened where it belongs and is whole, else built there."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from positionbias.core.errors import PositionBiasError, StorageError
from positionbias.core.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from positionbias.core.seal import verified
from positionbias.core.shard_work import resumable_folder

__all__ = ["open_or_build"]

Index = TypeVar("Index")


def open_or_build(
    folder: Path,
    manifest: Manifest,
    open_index: Callable[[Path], Index],
    build: Callable[[Path], None],
) -> tuple[Index, str]:
    """The index at ``folder`` and where it came from: "built", "reused", or "built, not kept: REASON".

    What stands there is reused only where its manifest says the same as ``manifest`` and its files are undamaged. A cache that cannot be written (a read-only
    collection, a full disk) does not stop the search: the index then stands in the system's temporary folder as long as it is in use.

    Raises:
        StorageError: nor does it fit there.
    """
    if _belongs(folder, manifest):
        try:
            return open_index(folder), "reused"
        except Exception:  # damaged, and a library says so in its own way: build it anew
            pass
    try:
        with resumable_folder(folder, manifest.comparable(), overwrite=True, owned=True) as work:
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
    except StorageError as error:
        temporary.cleanup()
        raise StorageError(
            f"{folder}: wanted to keep an index here, or in {tempfile.gettempdir()}; found: {_why(error)}, in both; free some space, or set "
            "TMPDIR to a folder that has it"
        ) from error
    except BaseException:
        temporary.cleanup()
        raise
    weakref.finalize(index, temporary.cleanup)
    return index, f"built, not kept: {reason}"


def _why(error: BaseException) -> str:
    """What the system said, without what was made of it on the way."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or str(error)


def _build(work: Path, manifest: Manifest, build: Callable[[Path], None]) -> None:
    build(work)
    write_manifest(work / MANIFEST, manifest)


def _belongs(folder: Path, manifest: Manifest) -> bool:
    """Whether what stands there is of the same kind and content, and undamaged; one of before there were digests is not trusted."""
    try:
        found = read_manifest(folder, kind="index")
        for name in found.files or ():
            verified(folder / name)
        return found.files is not None and found.comparable() == manifest.comparable()
    except (PositionBiasError, OSError):
        return False
