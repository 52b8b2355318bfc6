"""Bring what is in a store to its local copy: by ranges, several at once, each compared with the manifest's digests.

An artefact in a store is what its manifest names:

    ADDRESS/manifest.json       of a folder, or ADDRESS.manifest.json of a file
    ADDRESS/CONTENT/...         its files and its manifest again; CONTENT is a hash of the files' digests

so that a new one replaces it by one write. What other tools have copied there, with all files directly under ADDRESS, is read as
well, and so are files and folders without a manifest. Until a copy is whole it is in a hidden folder beside its place; a later run
keeps the blocks that agree with the manifest. A copy is used again while the store has the same manifest, or without one the
same sizes and times.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from positionbias.core.durable import sync_tree
from positionbias.core.errors import InputError, StorageError, bad_input
from positionbias.core.files import remove, storage_errors
from positionbias.core.only_one import only_one
from positionbias.core.progress import step
from positionbias.core.seal import AGAIN, BLOCK, CACHE, MANIFEST, FileSeal, check_digest, check_names
from positionbias.core.stores import GO_ON, Address, copy_of, is_gone, opened, store_errors

__all__ = ["Stored", "bring", "content_name", "look", "several_at_once", "sizes_under"]

Item = TypeVar("Item")
THREADS = 8
RANGE = 8 * BLOCK  # so that at most 64 MiB are held
_STATE, _LOCK, _PART = ".state", ".lock", ".part"
_MOST = 1 << 28  # bytes of a manifest


class _Remote(NamedTuple):
    """A file in a store: its path in the copy, its key, its size, and its digests where a manifest has them."""

    name: str
    key: str
    bytes: int
    seal: FileSeal | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What stands at an address. ``manifest`` is empty where there is none of ours; it is ``beside`` a file, or in a folder.

    ``state`` changes when the content does.
    """

    manifest: bytes
    beside: bool
    state: str
    plain: tuple[_Remote, ...] = ()

    def files(self, address: Address) -> Mapping[str, FileSeal]:
        """Return the digests that the manifest has, by path in the artefact.

        Raises:
            InputError: it is damaged.
        """
        record = json.loads(self.manifest)
        check_digest(str(address), record)
        check_names(str(address), record["files"])
        if cached := next((name for name in record["files"] if name.startswith(f"{CACHE}/")), None):  # would be trusted as ours
            raise bad_input(str(address), wanted="a manifest without caches", found=repr(cached), do=AGAIN)
        try:
            return {name: FileSeal(**seal) for name, seal in record["files"].items()}
        except (TypeError, ValueError) as error:
            raise bad_input(str(address), wanted="a posbias manifest", found=str(error), do=AGAIN) from error


def content_name(files: Mapping[str, Any]) -> str:
    """Return the name of the folder of an artefact's files in a store: a hash of their names and digests."""
    told = json.dumps({name: [seal.bytes, seal.digest] for name, seal in files.items()}, sort_keys=True)
    return blake2b(told.encode(), digest_size=16).hexdigest()


def look(address: Address) -> Stored | None:
    """Return what stands at an address; None if nothing does.

    Raises:
        StorageError: the store refused.
    """
    from pyarrow.fs import FileSelector, FileType

    with store_errors(address):
        store = opened(address)
        own, inside, beside = store.get_file_info([address.key, f"{address.key}/{MANIFEST}", f"{address.key}.{MANIFEST}"])
        for info in (beside, inside):
            if info.type == FileType.File and info.size <= _MOST:
                with store.open_input_file(info.path) as file:
                    manifest = file.read()
                if _ours(manifest):
                    return Stored(manifest, info is beside, blake2b(manifest, digest_size=16).hexdigest())
        if own.type == FileType.NotFound:
            store.get_file_info(FileSelector(address.key.partition("/")[0]))  # raises if there is no such bucket
            return None
        found = [own] if own.type == FileType.File else store.get_file_info(FileSelector(address.key, recursive=True))
        files = [info for info in found if info.type == FileType.File]
    names = [info.path[len(address.key) + 1 :] or address.name for info in files]
    plain = tuple(_Remote(name, info.path, info.size) for name, info in zip(names, files, strict=True))
    state = json.dumps(sorted((name, info.size, str(info.mtime_ns)) for name, info in zip(names, files, strict=True)))
    return Stored(b"", own.type == FileType.File, blake2b(state.encode(), digest_size=16).hexdigest(), plain)


def _ours(manifest: bytes) -> bool:
    try:
        record = json.loads(manifest)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(record, dict) and record.keys() >= {"kind", "format_version", "files"} and isinstance(record["files"], dict)
    )


def sizes_under(address: Address, folder: str) -> dict[str, int]:
    """Return the sizes of all files under a key, by their paths from there; none where there is nothing."""
    from pyarrow.fs import FileSelector, FileType

    with store_errors(address):
        found = opened(address).get_file_info(FileSelector(folder, allow_not_found=True, recursive=True))
        return {info.path[len(folder) + 1 :]: info.size for info in found if info.type == FileType.File}


def bring(address: Address, *, artefact: bool = False) -> Path:
    """Return the path of the local copy of what stands at an address, brought if need be; where nothing does, there is nothing.

    With ``artefact`` a folder without a manifest counts as nothing.

    Raises:
        StorageError: the store refused or went silent, or the disk has no room; what was brought is kept for the next run.
        InputError: files that are missing, or differ from the manifest; or several artefacts under the address.
    """
    copy = copy_of(address)
    stored = look(address)
    if stored is not None and not stored.manifest and not stored.beside:
        stored = None if artefact else _one_folder(address, stored)
    with storage_errors(copy), only_one(copy.parent / _LOCK, copy, patience=math.inf):
        if stored is None:
            _forget(copy)
        elif not _held(copy, stored):
            part = copy.with_name(f"{_PART}-{stored.state}")
            for stale in copy.parent.glob(f"{_PART}-*"):
                if stale != part:
                    remove(stale)
            _brought(address, stored, part)
            _forget(copy)
            for path in part.iterdir():
                os.rename(path, copy.with_name(path.name))
            (copy.parent / _STATE).write_text(stored.state, encoding="utf-8", newline="\n")
            remove(part)
    return copy


def _one_folder(address: Address, stored: Stored) -> Stored:
    """Refuse a folder of artefacts, all of which would be brought."""
    inner = [remote.name for remote in stored.plain if remote.name.endswith(f"/{MANIFEST}")]
    if inner:
        folder = min(inner, key=len).removesuffix(f"/{MANIFEST}")
        found, do = f"artefacts under it, as {folder}", f"give one of them, as {address.under(folder)}"
        raise bad_input(str(address), wanted="one artefact, or a folder of files", found=found, do=do)
    return stored


def _manifest_of(copy: Path, *, beside: bool) -> Path:
    return copy.with_name(f"{copy.name}.{MANIFEST}") if beside else copy / MANIFEST


def _held(copy: Path, stored: Stored) -> bool:
    """Return whether the copy is what is in the store; for one with a manifest it may also have been made here."""
    try:
        if stored.manifest:
            return copy.exists() and _manifest_of(copy, beside=stored.beside).read_bytes() == stored.manifest
        return copy.exists() and (copy.parent / _STATE).read_text("utf-8") == stored.state
    except OSError:
        return False


def _forget(copy: Path) -> None:
    for path in (copy.parent / _STATE, _manifest_of(copy, beside=True), copy):
        remove(path)


def _brought(address: Address, stored: Stored, part: Path) -> None:
    """Make the copy in the folder ``part``, with its manifest."""
    copy = part / address.name
    if not stored.beside:
        copy.mkdir(parents=True, exist_ok=True)
    part.mkdir(exist_ok=True)
    remotes: Sequence[_Remote] = stored.plain
    if stored.manifest:
        _manifest_of(copy, beside=stored.beside).write_bytes(stored.manifest)
        remotes = _named(address, stored)
    check_names(str(address), (remote.name for remote in remotes))  # a key may be any text
    total = sum(remote.bytes for remote in remotes)
    if total > (free := shutil.disk_usage(part).free):
        do = "free some space, or set $POSBIAS_HOME to a folder of a larger disk"
        raise StorageError(f"{address}: wanted {total / 1e9:,.2f} GB for a local copy; found {free / 1e9:,.2f} GB free; {do}")
    try:
        _read_all(address, remotes, part if stored.beside else copy, total)
    except InputError:
        if (now := look(address)) is None or now.state != stored.state:
            raise _changed(address) from None
        raise
    if not stored.manifest and ((now := look(address)) is None or now.state != stored.state):
        remove(part)
        raise _changed(address)
    sync_tree(part)


def _changed(address: Address) -> InputError:
    return bad_input(
        str(address), wanted="content that stays as it is", found="one that changed while it was read", do="run again"
    )


def _named(address: Address, stored: Stored) -> list[_Remote]:
    """Return the files that a manifest names, where they are in the store.

    Raises:
        InputError: the manifest is damaged, or one of them is missing or of another size.
    """
    files = stored.files(address)
    content = f"{address.key}/{content_name(files)}"
    if sizes := sizes_under(address, content):
        keys = {name: f"{content}/{name}" for name in files}
    elif stored.beside:  # the file of another tool's copy, whose name may be another
        keys = dict.fromkeys(files, address.key)
        with store_errors(address):
            sizes = {name: opened(address).get_file_info(address.key).size for name in files}
    else:
        keys, sizes = {name: f"{address.key}/{name}" for name in files}, sizes_under(address, address.key)
    for name, seal in files.items():
        if sizes.get(name) != seal.bytes:
            found = "none" if sizes.get(name) is None else f"{sizes[name]:,}"
            raise bad_input(f"{address}, {name}", wanted=f"{seal.bytes:,} bytes, as its manifest says", found=found, do=AGAIN)
    return [_Remote(address.name if stored.beside else name, keys[name], seal.bytes, seal) for name, seal in files.items()]


def _read_all(address: Address, remotes: Sequence[_Remote], folder: Path, total: int) -> None:
    store = opened(address)
    handles = lru_cache(maxsize=4 * THREADS)(store.open_input_file)
    ranges = []
    for remote in remotes:
        path = folder / remote.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.truncate(remote.bytes)
        ranges += [(remote, start) for start in range(0, remote.bytes, RANGE)]

    def fetch(one: tuple[_Remote, int]) -> int:
        remote, start = one
        with store_errors(address):
            return _read_range(address, handles, remote, start, folder / remote.name)

    several_at_once(f"bringing {address}", total, fetch, ranges)


def several_at_once(description: str, total: int, move: Callable[[Item], int], items: Iterable[Item]) -> None:
    """Call ``move`` of each item in ``THREADS`` threads, and show the progress of its bytes; the first error ends what has not begun."""
    with step(description, total >> 20, unit="MiB") as bar, ThreadPoolExecutor(THREADS) as pool:
        try:
            for size in pool.map(move, items):
                bar.advance(size >> 20)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _read_range(address: Address, handles: Any, remote: _Remote, start: int, path: Path) -> int:
    """Bring one range of a file, unless it is there from an earlier run; return its size."""
    size = min(RANGE, remote.bytes - start)
    with open(path, "r+b") as file:
        file.seek(start)
        if remote.seal is not None and _wrong(remote.seal, start, file.read(size)) is None:
            return size
        try:
            content = handles(remote.key).read_at(size, start)
        except OSError as error:
            if not is_gone(error):
                raise
            raise bad_input(f"{address}, {remote.name}", wanted="a file in the store", found="none", do=AGAIN) from error
        if len(content) != size:
            raise StorageError(f"{address}, {remote.name}: wanted {size:,} bytes; found {len(content):,}; {GO_ON}")
        if remote.seal is not None and (block := _wrong(remote.seal, start, content)) is not None:
            found = f"other bytes in the MiB from byte {block * BLOCK:,} on"
            raise bad_input(f"{address}, {remote.name}", wanted="the content that its manifest names", found=found, do=AGAIN)
        file.seek(start)
        file.write(content)
    return size


def _wrong(seal: FileSeal, start: int, content: bytes) -> int | None:
    """Return the first block of a range that differs from its digest; None if all agree."""
    view = memoryview(content)
    blocks = range(start // BLOCK, min(seal.blocks, (start + RANGE) // BLOCK))
    return next(
        (block for block in blocks if not seal.holds(block, view[block * BLOCK - start : (block + 1) * BLOCK - start])), None
    )
