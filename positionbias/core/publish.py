"""Publish artefacts whole or not at all, one process at a time.

Beside ``X``, under hidden names:

    .X.lock       held by the process that makes or replaces ``X``
    .X.work/      what it makes: ``content`` (the new folder, or one with the new file and its
                  manifest), and for resumable work its ``job.json`` and ``receipts``
    .X.replaced/  the former ``X`` and a copy of its manifest, while the new one takes its name

All bytes are synced before their names change, and the folder after that. What a killed process
has moved aside is put back by the next one that opens or writes ``X``, if nothing took its place;
the next one that writes ``X`` removes what else is left, or goes on with it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from positionbias import __version__
from positionbias.core.errors import (
    InputError,
    OutputExistsError,
    PositionBiasError,
    SettingError,
    StorageError,
)
from positionbias.core.files import remove, storage_errors
from positionbias.core.json_text import JsonObject
from positionbias.core.process import OPENS_FOLDERS, flush
from positionbias.core.seal import MANIFEST, unnamed_files

GO_ON = "run the same command again to go on"
JOB, CONTENT, RECEIPTS, PARTIAL = "job.json", "content", "receipts", ".partial-"
PATIENCE = 60.0  # seconds to wait for another process that publishes at the same place
_POLL = 0.02  # seconds between two tries
_OURS = {"kind", "command", "format_version", "files"}
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)  # from folders, on some network file systems
_HELD: dict[Path, int] = {}  # the threads of this process that hold a place's lock


# -- locks -----------------------------------------------------------------------------------------


@contextmanager
def only_one(final: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of ``final``; wait for it up to ``patience`` seconds. Whoever holds it may ask
    for it again.

    Raises:
        StorageError: another process holds it.
    """
    final = final.absolute()
    if _HELD.get(final) == threading.get_ident():
        yield
        return
    place = final.with_name(f".{final.name}.lock")
    if foreign(place):
        remove(place)
    try:
        lock = _acquired(place, patience)
    except Timeout as error:
        raise StorageError(
            f"{final}: wanted to be the only one writing here; found another run at work; "
            "wait for it, or give another --out"
        ) from error
    _HELD[final] = threading.get_ident()
    try:
        yield
    finally:
        _HELD.pop(final, None)
        try:
            place.unlink()  # whoever waits for the removed file sees that, and tries again
        except OSError:  # Windows removes no open file
            pass
        finally:
            lock.release()


def _acquired(place: Path, patience: float) -> BaseFileLock:
    """Return the lock file at ``place``, locked. Where the file system has no locks, a marker file
    stands for one.
    """
    with warnings.catch_warnings(action="ignore"):  # of a file system without locks
        lock: BaseFileLock = FileLock(place, timeout=patience)
        try:
            lock.acquire(poll_interval=_POLL)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            place.unlink(missing_ok=True)
            lock = SoftFileLock(f"{place}.held", timeout=patience)
            lock.acquire(poll_interval=_POLL)
    return lock


def foreign(path: Path) -> bool:
    """Return True for a link, which could lead a write elsewhere, or a pipe, which could block."""
    return path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir())


# -- what may be replaced --------------------------------------------------------------------------


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
    try:
        _refuse(final, overwrite=overwrite, folder=folder, owned=owned)
    except OutputExistsError:
        if not overwrite:
            raise
        with storage_errors(final), only_one(final, patience=PATIENCE):
            # another process may have been replacing it while we looked
            _refuse(final, overwrite=overwrite, folder=folder, owned=owned)


def _refuse(final: Path, *, overwrite: bool, folder: bool | None, owned: bool) -> None:
    if not os.path.lexists(final):
        return
    if final.exists() and not final.is_file() and not final.is_dir():
        # also behind a link: replacing /dev/null would break the system
        raise OutputExistsError(
            f"{final}: wanted a file or a folder to write; found a device, a pipe or a socket; "
            "give another --out"
        )
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
    if stands and not owned and (strange := _not_ours(final)):
        raise OutputExistsError(
            f"{final}: wanted an artefact of posbias to replace; found {strange}; give another "
            "--out, or remove it yourself"
        )


def _not_ours(folder: Path) -> str:
    """Describe what in a folder is not an artefact of ours; empty if all is, or nothing is
    there.
    """
    try:
        if not any(folder.iterdir()):
            return ""
        record = json.loads((folder / MANIFEST).read_bytes())
        if isinstance(record, dict) and record.keys() >= _OURS:
            others = unnamed_files(folder, record["files"])
            return f"{others[0]}, which is not part of it" if others else ""
    except (OSError, ValueError, TypeError):
        pass
    return f"a folder without its {MANIFEST}"


# -- publishing ------------------------------------------------------------------------------------


@contextmanager
def atomic_file(final: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path of the same name in a hidden folder; it moves to its final place only if the
    block succeeds.

    A manifest that the block writes at ``manifest_path`` of the yielded path is published in the
    same step, which also removes the manifest of a replaced file.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false, or it is a folder.
        StorageError: the file system refused, or another process is at work there.
    """
    with _publishing(Path(final), None, overwrite=overwrite, folder=False) as content:
        yield content / Path(final).name


def atomic_folder(final: Path | str, *, overwrite: bool = False, owned: bool = False) -> Any:
    """Yield a folder to write that appears whole or not at all, as a file of ``atomic_file``;
    ``owned`` as in ``refuse_existing``.
    """
    return _publishing(Path(final), None, overwrite=overwrite, owned=owned)


def resumable_folder(
    final: Path | str,
    job: JsonObject,
    *,
    overwrite: bool = False,
    owned: bool = False,
    folder: bool = True,
) -> Any:
    """Yield a folder in which to make ``final``, with the work of an earlier run of the same
    ``job``.

    As ``atomic_folder``, but only bad input or a wrong setting discards the work; after anything
    else (Ctrl-C, a full disk) it stays for the next run, and a ``KeyboardInterrupt`` carries a note
    that says so. Another version of this package is another job. Without ``folder`` the block makes
    the file ``FOLDER/NAME``, and its manifest beside it.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false.
        StorageError: another run is at work there, or the file system refused.
    """
    job = {**job, "version": __version__}
    return _publishing(Path(final), job, overwrite=overwrite, owned=owned, folder=folder)


@contextmanager
def _publishing(
    final: Path,
    job: JsonObject | None,
    *,
    overwrite: bool,
    owned: bool = False,
    folder: bool = True,
) -> Iterator[Path]:
    refuse_existing(final, overwrite=overwrite, folder=folder, owned=owned)
    root = work_folder(final)
    content = root / CONTENT
    with storage_errors(final):
        make_folders(final.parent)
        with only_one(final, patience=PATIENCE if job is None else 0.0):
            _surely(_restore, final)
            # another run may just have finished
            _refuse(final, overwrite=overwrite, folder=folder, owned=owned)
            with _fate_of(root, final, folder=folder, kept=job is not None), storage_errors(final):
                _take_over(root, job)
                yield content
                _remove_hidden(content)
                _put(content if folder else content / final.name, final)
            _surely(remove, root)


def work_folder(final: Path | str) -> Path:
    """Return the work folder of ``final``, in which ``content`` becomes ``final``."""
    final = Path(final)
    return final.with_name(f".{final.name}.work")


def receipt_place(target: Path) -> Path | None:
    """Return where the receipt of a file in a resumable folder is kept; None outside one."""
    for folder in target.parents:
        if folder.name == CONTENT and (folder.parent / JOB).exists():
            name = target.relative_to(folder).as_posix().replace("/", ",")
            return folder.parent / RECEIPTS / f"{name}.json"
    return None


def _take_over(root: Path, job: JsonObject | None) -> None:
    """Keep the work folder if it belongs to the same job; else empty it."""
    if foreign(root):
        remove(root)
    _remove_hidden(root)
    text = json.dumps(job, sort_keys=True)
    same = False
    with suppress(OSError, ValueError):
        same = job is not None and (root / JOB).read_text("utf-8") == text
    if not same:
        remove(root)
    for folder in (root / CONTENT, root / RECEIPTS):
        folder.mkdir(parents=True, exist_ok=True)
    if not same and job is not None:
        with whole_file(root / JOB) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")


def _remove_hidden(folder: Path) -> None:
    """Remove the unfinished files of killed runs, and links and pipes."""
    for path in folder.rglob("*"):
        if foreign(path) or (path.name.startswith(".") and PARTIAL in path.name):
            remove(path)


@contextmanager
def _fate_of(root: Path, final: Path, *, folder: bool, kept: bool) -> Iterator[None]:
    """Keep or remove the work, depending on what ended it; messages name ``final`` instead of the
    hidden folder.
    """
    inside = root / CONTENT if folder else root / CONTENT / final.name
    try:
        yield
    except BaseException as error:
        if not kept or isinstance(error, InputError | SettingError):
            _surely(remove, root)
        elif isinstance(error, KeyboardInterrupt):
            error.add_note(GO_ON)
        if not isinstance(error, PositionBiasError):
            raise
        message = str(error)
        for hidden in (inside, root / CONTENT, root / JOB):
            message = message.replace(str(hidden), str(final))
        if kept and isinstance(error, StorageError):
            message = f"{message}; what is finished is kept: {GO_ON}"
        if message == str(error):
            raise
        raise type(error)(message) from error


def _put(made: Path, final: Path) -> None:
    """Give what was made its final name; what stands there is moved aside first, and put back if
    that fails.
    """
    aside, beside, manifest = _aside(final), _manifest_of(final), _manifest_of(made)
    for path in (made, manifest):
        if path.exists():
            sync_tree(path)
    try:
        if os.path.lexists(final):
            aside.mkdir()
            if beside.is_file():
                shutil.copyfile(beside, aside / beside.name)
                sync(aside / beside.name)
            os.rename(final, aside / final.name)
            sync(aside)
            sync(final.parent)
        if manifest.exists():
            os.replace(manifest, beside)
        elif made.is_file():
            beside.unlink(missing_ok=True)
        os.rename(made, final)
        sync(final.parent)
    finally:
        _surely(_restore, final)


def _restore(final: Path) -> None:
    """Put back what was moved aside if nothing took its place, and remove what is left of it; for
    who holds the lock.
    """
    aside, beside = _aside(final), _manifest_of(final)
    if not os.path.lexists(aside):
        return
    former = aside / final.name
    if not aside.is_symlink() and os.path.lexists(former):
        if os.path.lexists(final):
            os.rename(former, aside / ".gone")  # half removed it must never be put back
        else:
            if (aside / beside.name).exists():
                shutil.copyfile(aside / beside.name, beside)
                sync(beside)
            elif former.is_file():
                beside.unlink(missing_ok=True)
            os.rename(former, final)
            sync(final.parent)
    remove(aside)


def recover(final: Path | str) -> None:
    """Undo an interrupted replacement of ``final``; costs two file-system checks if there is none.

    Raises:
        StorageError: the file system refused.
    """
    final = Path(final)
    if not final.name or os.path.lexists(final) or not os.path.lexists(_aside(final)):
        return
    with storage_errors(final), only_one(final, patience=PATIENCE):
        _surely(_restore, final)


def _aside(final: Path) -> Path:
    return final.with_name(f".{final.name}.replaced")


def _manifest_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.{MANIFEST}")


def _surely(step: Callable[[Path], object], path: Path) -> None:
    """Do what may be done twice, even if a signal interrupts it."""
    try:
        step(path)
    except BaseException:
        step(path)
        raise


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling that replaces ``path`` if the block succeeds, for places that only
    one process writes to; resuming the job removes what a killed one leaves.
    """
    partial = path.with_name(f".{path.name}{PARTIAL}{uuid4().hex[:8]}")
    try:
        yield partial
        sync(partial)
        os.replace(partial, path)
        sync(path.parent)
    finally:
        remove(partial)


def write_json(path: Path | str, value: Any) -> None:
    """Write a JSON document as ``whole_file``: indented, keys in the given order, a newline at the
    end.
    """
    with storage_errors(path), whole_file(Path(path)) as partial:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        partial.write_text(f"{text}\n", encoding="utf-8", newline="\n")


# -- sync ------------------------------------------------------------------------------------------


def sync(path: Path) -> None:
    """Wait until a file's bytes or a folder's names are on the disk."""
    if not OPENS_FOLDERS and path.is_dir():
        return
    # Windows syncs only what may be written
    handle = os.open(path, os.O_RDONLY if OPENS_FOLDERS else os.O_RDWR)
    try:
        flush(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """``sync`` a file, or every file and folder in a folder, then itself; links are not
    followed.
    """
    for place, _, files in os.walk(path, topdown=False):
        for name in files:
            if not Path(place, name).is_symlink():
                sync(Path(place, name))
        sync(Path(place))
    if not path.is_dir():
        sync(path)


def make_folders(folder: Path) -> None:
    """Make a folder and its parents, and sync them."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)
