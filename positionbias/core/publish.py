"""Publish artefacts whole or not at all, and replace others in one step that survives a power cut.

Work on ``X`` is kept beside it under hidden names until it becomes ``X``:

    .X.partial-ID/   an unfinished folder, or a folder with a file and its manifest; its maker holds
                     its lock
        .X.commit/       a complete file and its manifest, moved into place by the next process that
                         opens ``X``
        .X.retired-ID    the former ``X``, briefly, where two names cannot be exchanged in one step


All bytes are synced before their names change, and the folder after that. The next process that
opens or writes ``X`` completes, restores or removes the remains of a killed one.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from positionbias.core.durable import exchange, locked, make_folders, rename_new, sync, sync_tree
from positionbias.core.errors import OutputExistsError, PositionBiasError
from positionbias.core.files import refuse_links, remove, storage_errors
from positionbias.core.seal import MANIFEST, signed, unnamed_files
from positionbias.core.system import at, let_go, open_place

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

_OURS = {"kind", "command", "format_version"}
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
    except (OSError, ValueError):
        return found
    if not isinstance(record, dict) or not record.keys() >= _OURS:
        return found
    named = record.get("files")
    if not isinstance(named, dict):
        return found
    others = unnamed_files(folder, named)
    return f"{others[0]}, which is not part of it" if others else ""


def recover(final: Path | str) -> None:
    """Complete or undo an interrupted publication at ``final``; costs two file-system checks if
    there is none.

    Raises:
        StorageError: the file system refused.
        InputError: a link among the files to publish.
    """
    final = Path(final)
    if not final.name:
        return
    commit = _commit_of(final)
    if commit.is_symlink():  # not ours: its target is somebody else's and must stay
        with storage_errors(final):
            remove(commit)
    if os.path.lexists(commit):
        refuse_links(commit)
        with storage_errors(final):
            _complete(commit, final)
    if not os.path.lexists(final):
        for retired in _hidden(final, "retired"):
            with storage_errors(final), locked(retired) as got:
                if got is not False:  # otherwise its owner is about to move the new one into place
                    rename_new(retired, final)
                    sync(final.parent)
                    return


def sweep(final: Path) -> None:
    """Recover ``final``, then remove unfinished work for it whose lock nobody holds."""
    recover(final)
    for stale in _hidden(final, "partial|retired"):
        with locked(stale) as got:
            if got and ("partial" in stale.name[len(final.name) :] or os.path.lexists(final)):
                remove(stale)


def _hidden(final: Path, what: str) -> list[Path]:
    named = re.compile(re.escape(f".{final.name}.") + f"(?:{what})-[0-9a-f]{{8}}")
    try:
        return sorted(
            final.parent / name for name in os.listdir(final.parent) if named.fullmatch(name)
        )
    except OSError:
        return []


def _new_hidden(final: Path, what: str) -> Path:
    return final.with_name(f".{final.name}.{what}-{uuid4().hex[:8]}")


def _commit_of(final: Path) -> Path:
    return final.with_name(f".{final.name}.commit")


@contextmanager
def _partial(final: Path) -> Iterator[Path]:
    """Hold a hidden, locked folder beside ``final``, and remove it with its remaining content."""
    with storage_errors(final):
        make_folders(final.parent)
        sweep(final)
        while True:
            partial = _new_hidden(final, "partial")
            try:
                partial.mkdir()
                with locked(partial) as got:
                    if got is False:  # swept before it was locked
                        continue
                    yield partial
                return
            finally:
                _drop(partial)


def _drop(path: Path) -> None:
    """``remove`` a path, even if a signal interrupts it."""
    try:
        remove(path)
    except BaseException:
        remove(path)
        raise


def discard(path: Path, final: Path) -> None:
    """Remove what ``final`` has made obsolete: rename it in one step, and leave any remains to the
    next writer of ``final``.
    """
    with suppress(OSError):
        stale = _new_hidden(final, "partial")
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
    """Give a complete folder its final name; the one it replaces moves to ``made`` or is
    removed.
    """
    _stamp(made, final)
    sync_tree(made)
    refuse_existing(final, overwrite=overwrite, folder=True, owned=owned)
    if not overwrite or not os.path.lexists(final):
        _put_new(made, final)
        return
    with locked(final):  # keeps others from removing it before the new one is safe
        if exchange(made, final):
            try:
                sync(final.parent)
            except BaseException:
                exchange(made, final)
                raise
        else:
            _retire(made, final)


def _put_new(made: Path, final: Path) -> None:
    try:
        rename_new(made, final)
    except FileExistsError:
        refuse_existing(final, overwrite=False)
        raise
    sync(final.parent)


def _retire(made: Path, final: Path) -> None:
    """Replace ``final`` by two renames; ``recover`` undoes the first if the process is killed
    between them.
    """
    retired = _new_hidden(final, "retired")
    try:
        os.rename(final, retired)
        sync(final.parent)
        os.rename(made, final)
        sync(final.parent)
    except BaseException:
        if os.path.lexists(retired):
            if os.path.lexists(final):
                os.rename(final, made)
            os.rename(retired, final)
        raise
    _drop(retired)


def put_file(folder: Path, final: Path, *, overwrite: bool) -> None:
    """Move ``final.name``, and its manifest if any, from ``folder`` into place in one step; the
    rest of ``folder`` is dropped.
    """
    manifest = folder / f"{final.name}.{MANIFEST}"
    with_manifest = manifest.exists()
    _stamp(folder / final.name, final)
    for path in (folder / final.name, *([manifest] if with_manifest else [])):
        sync(path)
    refuse_existing(final, overwrite=overwrite, folder=False)
    if not with_manifest and not os.path.lexists(final.with_name(manifest.name)):
        if overwrite:
            os.replace(folder / final.name, final)
            sync(final.parent)
        else:
            _put_new(folder / final.name, final)
        return
    if not with_manifest:
        manifest.touch()  # empty: removes the existing one
    sync(folder)
    commit = _commit_of(final)
    while True:
        try:
            os.rename(folder, commit)  # published from here on
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        # also completes what another run has published
        refuse_existing(final, overwrite=overwrite, folder=False)
    try:
        _complete(commit, final)
    except BaseException:
        with suppress(OSError):
            _complete(commit, final)
        raise


def _complete(commit: Path, final: Path) -> None:
    """Move the content of ``commit`` into place; safe for several processes at once, each in the
    folder that it has opened.
    """
    sync(final.parent)  # the commit itself, before anything it replaces is removed
    try:
        folder = open_place(commit, folder=True)
    except FileNotFoundError:
        return
    manifest = f"{final.name}.{MANIFEST}"
    try:
        for name in os.listdir(folder):
            if name not in (final.name, manifest):
                path, within = at(folder, name)
                shutil.rmtree(path, ignore_errors=True, **within)
                with suppress(OSError):
                    os.unlink(path, **within)
        for name in (final.name, manifest):
            with suppress(FileNotFoundError):
                _move(folder, name, final.with_name(name), gone=name == manifest)
        sync(final.parent)
    finally:
        let_go(folder)
    try:
        os.rmdir(commit)
    except OSError as error:
        # gone, or another run's by now
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise


def _move(folder: int | Path, name: str, target: Path, *, gone: bool) -> None:
    path, within = at(folder, name)
    if gone and not os.stat(path, **within).st_size:
        target.unlink(missing_ok=True)
        sync(target.parent)  # before its marker goes
        os.unlink(path, **within)
    else:
        os.replace(path, target, src_dir_fd=within.get("dir_fd"))


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
