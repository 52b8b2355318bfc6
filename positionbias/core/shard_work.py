"""Resumable work, done shard by shard.

An unfinished artefact is kept in a hidden work folder beside its final place:

    .NAME.work/job.json     the job, and the inode number of ``content``
        .NAME.work/content/     the artefact so far
        .NAME.work/receipts/    for each finished shard: its inputs, its checksum, its maker's facts
        .NAME.work.lock         held by the working run

A complete shard gets its name, and then its receipt. So wherever a run ends, a later run of the
same job keeps the shards whose bytes match their receipts, and makes the others. A receipt has a
digest of itself. A run of another job starts over. When all shards are done, the content gets its
final name and the work folder is removed. An older artefact that it replaces is then at ``content``
for a moment; its inode number differs, so nobody resumes it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import msgspec

from positionbias import __version__
from positionbias.core.durable import make_folders, sync
from positionbias.core.errors import InputError, PositionBiasError, SettingError, StorageError
from positionbias.core.files import remove, sha256_file, storage_errors
from positionbias.core.input_state import file_mark
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.only_one import foreign, only_one
from positionbias.core.publish import put_folder, refuse_existing, sweep, write_json
from positionbias.core.schema import converted
from positionbias.core.seal import as_signed, signed

__all__ = ["GO_ON", "MapShards", "make_shards", "resumable_folder", "work_folder"]

Item = TypeVar("Item")
Facts = TypeVar("Facts")
MapShards = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
JOB, CONTENT, RECEIPTS = "job.json", "content", "receipts"
PARTIAL = ".*.partial-*"
GO_ON = "run the same command again to go on"


def work_folder(final: Path | str) -> Path:
    """Return the work folder of ``final``, in which ``content`` becomes ``final``."""
    final = Path(final)
    return final.with_name(f".{final.name}.work")


@contextmanager
def resumable_folder(
    final: Path | str,
    job: JsonObject,
    *,
    overwrite: bool = False,
    owned: bool = False,
    folder: bool = True,
) -> Iterator[Path]:
    """Yield a folder in which to make ``final``, with the work of an earlier run of the same
    ``job``.

    When the block succeeds the folder is moved to ``final``, unless the block has moved or removed
    it. After bad input or a wrong setting it is removed; after anything else (Ctrl-C, a full disk)
    it stays for the next run, and a ``KeyboardInterrupt`` carries a note that says so. Another
    version of this package is another job. ``owned`` and ``folder`` are for ``refuse_existing``.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false.
        StorageError: another run is at work there, or the file system refused.
    """
    final = Path(final)
    refuse_existing(final, overwrite=overwrite, folder=folder, owned=owned)
    root = work_folder(final)
    content = root / CONTENT
    with storage_errors(final):
        make_folders(root.parent)
        with only_one(root.with_name(f"{root.name}.lock"), final):
            # another run may just have finished
            refuse_existing(final, overwrite=overwrite, folder=folder, owned=owned)
            sweep(final)
            with _fate_of(root, final), storage_errors(final):
                _take_over(root, {**job, "version": __version__})
                yield content
                if content.exists():
                    _remove_partial(content)
                    put_folder(content, final, overwrite=overwrite, owned=owned)
            remove(root)


@contextmanager
def _fate_of(root: Path, final: Path) -> Iterator[None]:
    """Discard or keep the work, depending on what ended it; messages name ``final`` instead of the
    hidden folder.
    """
    try:
        yield
    except PositionBiasError as error:
        message = (
            str(error).replace(str(root / CONTENT), str(final)).replace(str(root / JOB), str(final))
        )
        if isinstance(error, InputError | SettingError):
            remove(root)
        elif isinstance(error, StorageError):
            message = f"{message}; what is finished is kept: {GO_ON}"
        raise type(error)(message) from error
    except KeyboardInterrupt as error:
        error.add_note(GO_ON)
        raise


def _take_over(root: Path, job: JsonObject) -> None:
    """Keep the folder's content if it belongs to the same job; else empty it."""
    if foreign(root):
        remove(root)
    _remove_foreign(root)
    wanted = json.dumps(job, sort_keys=True)
    content = root / CONTENT
    try:
        record = json.loads((root / JOB).read_text("utf-8"))
        same = (
            json.dumps(record["job"], sort_keys=True) == wanted
            and record["content"] == content.stat().st_ino
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        same = False
    if not same:
        remove(root)
    for folder in (content, root / RECEIPTS):
        folder.mkdir(parents=True, exist_ok=True)
    if not same:
        write_json(root / JOB, {"job": json.loads(wanted), "content": content.stat().st_ino})
    _remove_partial(root)


def _remove_foreign(folder: Path) -> None:
    """Remove foreign entries from a work folder."""
    for path in folder.rglob("*"):
        if foreign(path):
            remove(path)


def _remove_partial(folder: Path) -> None:
    """Remove the unfinished files of killed runs."""
    for partial in folder.rglob(PARTIAL):
        remove(partial)


@dataclass(frozen=True, slots=True)
class _Receipt:
    item: str
    checksum: str
    facts: Json


@dataclass(frozen=True, slots=True)
class _Task(Generic[Item, Facts]):
    kind: type[Facts]
    make: Callable[[Item, Path], Facts]
    item: Item
    target: Path
    receipt: Path | None


def make_shards(
    kind: type[Facts],
    make: Callable[[Item, Path], Facts],
    items: Iterable[Item],
    targets: Callable[[int], Path],
    map_shards: MapShards = map,
) -> Iterator[Facts]:
    """Call ``make(item, path)`` for every item, with the path ``targets(index)``; yield what each
    returned, in order.

    ``make`` writes the file at the path it is given and returns facts of ``kind``, which JSON can
    hold; it must be a pure function of its item. In a folder from ``resumable_folder`` an existing
    file is kept if its receipt matches the item and the file's bytes. An item is identified by its
    ``fingerprint()`` if it has one, a path by the state of its file, anything else by its ``repr``.
    """
    tasks = (
        _Task(kind, make, item, targets(index), _receipt(targets(index)))
        for index, item in enumerate(items)
    )
    return map_shards(_run, tasks)


def _receipt(target: Path) -> Path | None:
    """Return the path of a shard's receipt; None outside a work folder."""
    for folder in target.parents:
        if folder.name == CONTENT and (folder.parent / JOB).exists():
            return (
                folder.parent
                / RECEIPTS
                / f"{target.relative_to(folder).as_posix().replace('/', ',')}.json"
            )
    return None


def _run(task: _Task[Any, Facts]) -> Facts:
    with storage_errors(task.target):
        if task.receipt is None:
            return _make(task)
        item = _fingerprint(task.item)
        facts = _finished(task, item)
        if facts is None:
            facts = _make(task, item)
    return facts


def _make(task: _Task[Any, Facts], item: str = "") -> Facts:
    with _put(task.target) as partial:
        # through JSON, so that new and earlier shards give equal facts
        facts = json.loads(json.dumps(msgspec.to_builtins(task.make(task.item, partial))))
        receipt = _Receipt(item, sha256_file(partial), facts)
    if task.receipt:
        with _put(task.receipt) as partial:
            partial.write_text(json.dumps(signed(asdict(receipt))), encoding="utf-8", newline="\n")
    return converted(task.kind, facts)


@contextmanager
def _put(target: Path) -> Iterator[Path]:
    """``atomic_file`` for a folder that no other run writes to; resuming the job removes unfinished
    files.
    """
    partial = target.with_name(f".{target.name}.partial-{uuid4().hex[:8]}")
    try:
        yield partial
        sync(partial)
        os.replace(partial, target)
        sync(target.parent)
    finally:
        remove(partial)


def _fingerprint(item: Any) -> str:
    if isinstance(item, Path):
        told = str(sorted(file_mark(item).items()))
    else:
        told = item.fingerprint() if hasattr(item, "fingerprint") else repr(item)
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _finished(task: _Task[Any, Facts], item: str) -> Facts | None:
    """Return the receipt's record, if it matches this item and the file's bytes."""
    assert task.receipt is not None
    try:
        receipt = as_signed(_Receipt, json.loads(task.receipt.read_text("utf-8")))
        if receipt.item == item and receipt.checksum == sha256_file(task.target):
            return converted(task.kind, receipt.facts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return None
