"""Work that is done shard by shard and goes on where it was interrupted.

An artefact in the making stands in a hidden folder beside its final place. ``job.json`` there says what is being made; each
finished shard has a receipt with its checksum. A later run of the same job verifies every shard it finds against its receipt
and makes the others again; a run of another job starts afresh. The folder gets its final name when all is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

from positionbias.core.errors import InputError, SettingError, StorageError
from positionbias.core.files import refuse_existing, remove, sha256_file, storage_errors, write_json

__all__ = ["MapShards", "file_state", "make_shards", "resumable_folder", "work_folder"]

Item = TypeVar("Item")
MapShards = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
JOB, LOCK, RECEIPT = "job.json", "lock", ".done"
Make = Callable[[Item, Path], Mapping[str, Any]]


def file_state(path: Path | str) -> dict[str, Any]:
    """What tells that an input file is still the same one: its name, size and time of change."""
    path = Path(path)
    found = path.stat()
    return {"name": path.name, "bytes": found.st_size, "changed": found.st_mtime_ns}


def work_folder(final: Path | str) -> Path:
    """Where ``final`` is made."""
    final = Path(final)
    return final.with_name(f".{final.name}.work")


@contextmanager
def resumable_folder(final: Path | str, job: Mapping[str, Any], *, overwrite: bool = False) -> Iterator[Path]:
    """Give the work folder of ``final``, with what an earlier run of the same ``job`` left in it.

    When the block ends well the folder is moved to ``final``, unless the block has moved or removed it. After bad input or a
    wrong setting it is thrown away; after anything else (Ctrl-C, a full disk) it stays for the next run.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false.
        StorageError: another run is at work there, or the file system refused.
    """
    final = Path(final)
    refuse_existing(final, overwrite=overwrite)
    folder = work_folder(final)
    with storage_errors(final):
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder, final):
            _take_over(folder, job)
            try:
                yield folder
                if folder.exists():
                    _put_in_place(folder, final)
            except (InputError, SettingError) as error:
                remove(folder)
                if str(folder) not in str(error):
                    raise
                # the hidden name, which is gone, tells the reader nothing
                raise type(error)(str(error).replace(str(folder), str(final))) from error


@contextmanager
def _only_one(folder: Path, final: Path) -> Iterator[None]:
    import fcntl

    lock = folder / LOCK
    with open(lock, "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StorageError(
                f"{final}: wanted to be the only one writing here; found another run at work; wait for it, or give another --out"
            ) from error
        yield


def _take_over(folder: Path, job: Mapping[str, Any]) -> None:
    """Keep the folder's content where it belongs to the same job; else empty it."""
    wanted = json.dumps(job, sort_keys=True)
    try:
        same = json.dumps(json.loads((folder / JOB).read_text("utf-8")), sort_keys=True) == wanted
    except (OSError, ValueError):
        same = False
    if not same:
        for item in folder.iterdir():
            if item.name != LOCK:
                remove(item)
        write_json(folder / JOB, json.loads(wanted))


def _put_in_place(folder: Path, final: Path) -> None:
    for receipt in [*folder.rglob(f"*{RECEIPT}"), folder / JOB, folder / LOCK]:
        receipt.unlink(missing_ok=True)
    if final.exists() or final.is_symlink():
        retired = final.with_name(f".{final.name}.retired-{uuid4().hex[:8]}")
        os.replace(final, retired)
        os.replace(folder, final)
        remove(retired)
    else:
        os.replace(folder, final)


@dataclass(frozen=True, slots=True)
class _Task(Generic[Item]):
    make: Make
    item: Item
    target: Path


def make_shards(
    make: Make, items: Iterable[Item], targets: Callable[[int], Path], map_shards: MapShards = map
) -> Iterator[Mapping[str, Any]]:
    """``make(item, path)`` for every item, into the file ``targets(index)``; gives what each returned, in order.

    ``make`` writes the file at the path it is given and returns facts that JSON can hold; it must be a pure function of its item.
    A file that stands there already, with a receipt that its bytes agree with, is not made again.
    """
    tasks = (_Task(make, item, targets(index)) for index, item in enumerate(items))
    return map_shards(_run, tasks)


def _run(task: _Task) -> Mapping[str, Any]:
    target = task.target
    with storage_errors(target):
        facts = _finished(target)
        if facts is None:
            partial = target.with_name(f".{target.name}.partial-{uuid4().hex[:8]}")
            try:
                facts = dict(task.make(task.item, partial))
                receipt = {"checksum": sha256_file(partial), "facts": facts}
                os.replace(partial, target)
                write_json(receipt_path(target), receipt)
            finally:
                remove(partial)
    return facts


def receipt_path(target: Path) -> Path:
    """Where the receipt of a shard stands."""
    return target.with_name(target.name + RECEIPT)


def _finished(target: Path) -> dict[str, Any] | None:
    try:
        receipt = json.loads(receipt_path(target).read_text("utf-8"))
        if receipt["checksum"] == sha256_file(target):
            return dict(receipt["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
