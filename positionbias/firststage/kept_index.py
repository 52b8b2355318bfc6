"""An index in a collection's cache: opened if it matches and is undamaged, else built."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from positionbias.core.errors import PositionBiasError, StorageError
from positionbias.core.manifest import Manifest, read_manifest, write_manifest
from positionbias.core.publish import resumable_folder
from positionbias.core.seal import MANIFEST, verified

Index = TypeVar("Index")


def open_or_build(
    folder: Path,
    manifest: Manifest,
    open_index: Callable[[Path], Index],
    build: Callable[[Path], None],
) -> tuple[Index, str]:
    """Return the index at ``folder`` and its origin: "built", "reused", or "built, not kept:
    REASON".

    An index is reused only if its manifest equals ``manifest`` and its files are undamaged. Where
    the cache cannot be written (a read-only collection, a full disk), the index is kept in the
    system's temporary folder while it is in use.

    Raises:
        StorageError: it does not fit there either.
    """
    if _belongs(folder, manifest):
        try:
            return open_index(folder), "reused"
        except Exception:  # damaged: libraries raise various errors; rebuild it
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
            f"{folder}: wanted to keep an index here, or in {tempfile.gettempdir()}; found: "
            f"{_why(error)}, in both; free some space, or set TMPDIR to a folder that has it"
        ) from error
    except BaseException:
        temporary.cleanup()
        raise
    weakref.finalize(index, temporary.cleanup)
    return index, f"built, not kept: {reason}"


def _why(error: BaseException) -> str:
    """Return the system's own message behind an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or str(error)


def _build(work: Path, manifest: Manifest, build: Callable[[Path], None]) -> None:
    build(work)
    write_manifest(work / MANIFEST, manifest)


def _belongs(folder: Path, manifest: Manifest) -> bool:
    """Check that the index has this kind and content, and is undamaged."""
    try:
        found = read_manifest(folder, kind="index")
        for name in found.files or ():
            verified(folder / name)
        return found.comparable() == manifest.comparable()
    except (PositionBiasError, OSError):
        return False
