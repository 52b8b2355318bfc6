"""Publish artefacts whole or not at all, and replace others so that a kill or a power cut loses
neither the old nor the new.

Work on ``X`` is kept beside it under hidden names until it becomes ``X``:

    .X.partial-ID/   an unfinished folder, or a folder with a file and its manifest; its maker holds
                     its lock
    .X.replaced/     the former ``X`` and its manifest, while the new ones take their names; who
                     replaces ``X`` holds its lock

All bytes are synced before their names change, and the folder after that. The next process that
opens or writes ``X`` puts back what a killed one has moved aside, if nothing took its place, and
removes what it has left.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from positionbias.core.durable import locked, make_folders, sync, sync_tree
from positionbias.core.errors import OutputExistsError, PositionBiasError
from positionbias.core.files import remove, storage_errors
from positionbias.core.seal import MANIFEST, signed, unnamed_files

__all__ = [
    "JOB",
    "atomic_file",
    "atomic_folder",
    "discard",
    "put_file",
    "put_folder",
    "recover",
    "refuse_existing",
    "sweep",
    "write_json",
]

_OURS = {"kind", "command", "format_version", "files"}
# an output, and the digest of its command
JOB: ContextVar[tuple[Path, str] | None] = ContextVar("job", default=None)


def refuse_existing(
    final: Path | str, *, overwrite: bool, folder: bool | None = None, owned: bool = False
) -> None:
    """Refuse, before long work, an existing ``final`` that may not be replaced.

    ``overwrite`` lets a file replace a file, and a folder replace one that is empty or only an
    artefact of ours; ``folder`` says which of them is to come, if known. ``owned``: only this
    package writes to this path.

    Raises:
        OutputExistsError: it is taken.
    """
    final = Path(final)
    if final.name in ("", ".."):
        raise OutputExistsError(
            f"{final}: wanted a new path to write to; found a folder to stand in; give --out a name"
        )
    recover(final)
    _refuse(final, overwrite=overwrite, folder=folder, owned=owned)


def _refuse(final: Path, *, overwrite: bool, folder: bool | None, owned: bool) -> None:
    if not os.path.lexists(final):
        return
    _refuse_special(final)
    if not overwrite:
        raise OutputExistsError(
            f"{final}: wanted a new path to write to; found something there; give another --out, "
            "or --overwrite to replace it"
        )
    stands = final.is_dir() and not final.is_symlink()
    if folder is not None and folder != stands and not final.is_symlink():
        wanted, found = ("folder", "file") if folder else ("file", "folder")
        raise OutputExistsError(
            f"{final}: wanted a {wanted} to replace; found a {found}; give another --out"
        )
    if stands and not owned and (found := _not_ours(final)):
        raise OutputExistsError(
            f"{final}: wanted an artefact of posbias to replace; found {found}; give another "
            "--out, or remove it yourself"
        )


def _refuse_special(final: Path) -> None:
    """Refuse anything but a file or a folder, also behind a link: replacing /dev/null would break
    the system.
    """
    with suppress(OSError):
        mode = final.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OutputExistsError(
                f"{final}: wanted a file or a folder to write; found a device, a pipe or a socket; "
                "give another --out"
            )


def _not_ours(folder: Path) -> str:
    """Describe what in a folder is not an artefact of ours; empty if all is, or nothing is
    there.
    """
    found = f"a folder without its {MANIFEST}"
    try:
        if not any(folder.iterdir()):
            return ""
        record = json.loads((folder / MANIFEST).read_bytes())
        if not isinstance(record, dict) or not record.keys() >= _OURS:
            return found
        others = unnamed_files(folder, record["files"])
    except (OSError, ValueError, TypeError):
        return found
    return f"{others[0]}, which is not part of it" if others else ""


def recover(final: Path | str) -> None:
    """Undo an interrupted replacement of ``final``; costs one file-system check if there is none.

    Raises:
        StorageError: the file system refused.
    """
    final = Path(final)
    if not final.name or not os.path.lexists(aside := _aside(final)):
        return
    with storage_errors(final):
        if aside.is_symlink():  # not ours: its target is somebody else's and must stay
            remove(aside)
            return
        with locked(aside) as got:
            if got is not False:  # otherwise its owner is about to move the new one into place
                _surely(_put_back, aside, final)


def sweep(final: Path) -> None:
    """Recover ``final``, then remove unfinished work for it whose lock nobody holds."""
    recover(final)
    for stale in _partials(final):
        with locked(stale) as got:
            if got:
                remove(stale)


def _partials(final: Path) -> list[Path]:
    named = re.compile(re.escape(f".{final.name}.partial-") + "[0-9a-f]{8}")
    try:
        return sorted(
            final.parent / name for name in os.listdir(final.parent) if named.fullmatch(name)
        )
    except OSError:
        return []


def _new_partial(final: Path) -> Path:
    return final.with_name(f".{final.name}.partial-{uuid4().hex[:8]}")


def _aside(final: Path) -> Path:
    return final.with_name(f".{final.name}.replaced")


def _manifest_of(final: Path) -> Path:
    return final.with_name(f"{final.name}.{MANIFEST}")


@contextmanager
def _partial(final: Path) -> Iterator[Path]:
    """Hold a hidden, locked folder beside ``final``, and remove it with its remaining content."""
    with storage_errors(final):
        make_folders(final.parent)
        sweep(final)
        while True:
            partial = _new_partial(final)
            try:
                partial.mkdir()
                with locked(partial) as got:
                    if got is False:  # swept before it was locked
                        continue
                    yield partial
                return
            finally:
                _surely(remove, partial)


def _surely(step: Callable[..., object], *given: Path) -> None:
    """Do what may be done twice, even if a signal interrupts it."""
    try:
        step(*given)
    except BaseException:
        step(*given)
        raise


def discard(path: Path, final: Path) -> None:
    """Remove what ``final`` has made obsolete: rename it in one step, and leave any remains to the
    next writer of ``final``.
    """
    with suppress(OSError):
        stale = _new_partial(final)
        os.rename(path, stale)
        remove(stale)


@contextmanager
def _told_as(partial: Path, final: Path) -> Iterator[None]:
    """Name the final path in messages instead of the temporary one."""
    try:
        yield
    except PositionBiasError as error:
        if str(partial) not in str(error):
            raise
        raise type(error)(str(error).replace(str(partial), str(final))) from error


@contextmanager
def atomic_file(final: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path of the same name in a hidden folder; it moves to its final place only if the
    block succeeds.

    A manifest that the block writes at ``manifest_path`` of the yielded path is published in the
    same step, which also removes the manifest of a replaced file.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false, or it is a folder.
        StorageError: the file system refused.
    """
    final = Path(final)
    refuse_existing(final, overwrite=overwrite, folder=False)
    with _partial(final) as folder, _told_as(folder / final.name, final):
        yield folder / final.name
        put_file(folder, final, overwrite=overwrite)


@contextmanager
def atomic_folder(
    final: Path | str, *, overwrite: bool = False, owned: bool = False
) -> Iterator[Path]:
    """Yield a folder to write that appears whole or not at all, as a file of ``atomic_file``;
    ``owned`` as in ``refuse_existing``.
    """
    final = Path(final)
    refuse_existing(final, overwrite=overwrite, folder=True, owned=owned)
    with _partial(final) as partial, _told_as(partial, final):
        yield partial
        put_folder(partial, final, overwrite=overwrite, owned=owned)


def put_folder(made: Path, final: Path, *, overwrite: bool, owned: bool = False) -> None:
    """Give a complete folder its final name, and remove the one that it replaces."""
    _stamp(made, final)
    sync_tree(made)
    _publish({made: final}, final, overwrite=overwrite, folder=True, owned=owned)


def put_file(folder: Path, final: Path, *, overwrite: bool) -> None:
    """Move ``final.name``, and its manifest if any, from ``folder`` into place; the rest of
    ``folder`` is dropped.
    """
    made, manifest = folder / final.name, folder / _manifest_of(final).name
    _stamp(made, final)
    new = {manifest: _manifest_of(final), made: final} if manifest.exists() else {made: final}
    for path in new:
        sync(path)
    _publish(new, final, overwrite=overwrite, folder=False)


def _publish(
    new: Mapping[Path, Path], final: Path, *, overwrite: bool, folder: bool, owned: bool = False
) -> None:
    """Rename what was made, ``final`` last, once what stands at these names was moved aside."""
    with _replacing(final) as aside:
        _refuse(final, overwrite=overwrite, folder=folder, owned=owned)
        stands = os.path.lexists(final)
        if stands:
            os.rename(final, aside / final.name)
        if not folder:
            beside = _manifest_of(final)
            if os.path.lexists(beside):
                os.rename(beside, aside / beside.name)
            else:
                (aside / beside.name).touch()  # there was none
        if stands:
            sync(aside)
            sync(final.parent)
        for path, name in new.items():
            os.rename(path, name)
        sync(final.parent)


@contextmanager
def _replacing(final: Path) -> Iterator[Path]:
    """Hold the folder beside ``final`` into which the former one goes; one process at a time. At
    the end it is put back, unless a new one stands there.
    """
    aside = _aside(final)
    while True:
        recover(final)
        try:
            aside.mkdir()
        except FileExistsError:  # another process is replacing it
            time.sleep(0.01)
            continue
        try:
            with locked(aside) as got:
                if got is False:  # taken for what a killed process left, before it was locked
                    continue
                try:
                    yield aside
                finally:
                    _surely(_put_back, aside, final)
                return
        except BaseException:
            with suppress(OSError):
                aside.rmdir()
            raise


def _put_back(aside: Path, final: Path) -> None:
    """Move the former ``final`` back if nothing took its place, and remove what is left."""
    if not os.path.lexists(final):
        before, beside = aside / _manifest_of(final).name, _manifest_of(final)
        if os.path.lexists(before):
            if before.lstat().st_size:
                os.replace(before, beside)
            else:  # an empty one says that there was none
                beside.unlink(missing_ok=True)
        if os.path.lexists(aside / final.name):
            os.rename(aside / final.name, final)
        sync(final.parent)
    remove(aside)


def write_json(path: Path | str, value: Any, *, overwrite: bool = True) -> None:
    """Write a JSON document atomically: indented, keys in the given order, a newline at the end."""
    with atomic_file(path, overwrite=overwrite) as partial:
        partial.write_text(
            json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
            newline="\n",
        )


def _stamp(made: Path, final: Path) -> None:
    """Name the job in the manifest of what is about to be published at ``final``."""
    current = JOB.get()
    manifest = made / MANIFEST if made.is_dir() else made.with_name(f"{made.name}.{MANIFEST}")
    if current is None or current[0] != final.absolute() or not manifest.is_file():
        return
    record = json.loads(manifest.read_bytes())
    record["provenance"] = {**record["provenance"], JOB.name: current[1]}
    text = json.dumps(signed(record), indent=2, ensure_ascii=False) + "\n"
    manifest.write_text(text, encoding="utf-8", newline="\n")
