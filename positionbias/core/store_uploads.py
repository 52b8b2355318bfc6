"""Send what was made here to a store, whole or not at all: files first, under a hash of their digests, and last the manifest that names them.

A reader sees the former artefact until the new manifest is there, in one write (``core.store_copies`` has the layout). What an interrupted
upload left is kept by the next one of the same content, and removed by one of other content.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from positionbias.core.errors import InputError, OutputExistsError, StorageError, bad_input
from positionbias.core.only_one import only_one
from positionbias.core.seal import BLOCK, MANIFEST, FileSeal, damaged
from positionbias.core.store_copies import Stored, content_name, look, several_at_once, sizes_under
from positionbias.core.stores import GO_ON, Address, copy_of, opened, store_errors

__all__ = ["refuse_stored", "send"]

_SENDING = ".sending"


def refuse_stored(address: Address, *, overwrite: bool, folder: bool | None = None) -> Stored | None:
    """Refuse an address that is taken and may not be replaced; return what would be replaced.

    Raises:
        OutputExistsError: it is taken, and ``overwrite`` is false or it is neither an artefact of ours nor a file.
        StorageError: the store refused.
    """
    stored = look(address)
    if stored is None or (not stored.manifest and not stored.beside and _leftovers(stored)):
        return None
    if not overwrite:
        raise OutputExistsError(
            f"{address}: wanted a new address to write to; found something there; give another --out, or --overwrite to replace it"
        )
    if not stored.manifest and not stored.beside:
        raise OutputExistsError(
            f"{address}: wanted an artefact of posbias to replace; found other files; give another --out, or remove them yourself"
        )
    if folder is not None and folder == stored.beside:
        wanted, found = ("folder", "file") if folder else ("file", "folder")
        raise OutputExistsError(f"{address}: wanted a {wanted} to replace; found a {found}; give another --out")
    return stored


def _leftovers(stored: Stored) -> bool:
    """Return whether there is nothing but what interrupted uploads left."""
    tops = {remote.name.partition("/")[0] for remote in stored.plain if "/" in remote.name}
    names = all("/" in remote.name for remote in stored.plain)
    return names and all(len(top) == 32 and set(top) <= set("0123456789abcdef") for top in tops)


def send(address: Address, made: Path, manifest: Path, *, overwrite: bool) -> None:
    """Send the folder or file ``made``, and its manifest where it has one, and wait until it stands at the address.

    Raises:
        OutputExistsError: the address is taken, and ``overwrite`` is false or it is not ours.
        StorageError: the store refused, or a folder without a manifest, which no reader could know to be whole.
        InputError: ``made`` was damaged since it was written.
    """
    if not manifest.is_file():
        if made.is_dir():
            raise StorageError(
                f"{address}: wanted an artefact with a manifest; found a folder without; give a local --out, and copy it to the store"
            )
        former = refuse_stored(address, overwrite=overwrite, folder=False)
        _send_plain(address, made, former)
        return
    # two commands at once that send to one address from here would each take the other's files for remains
    copy = copy_of(address)
    with only_one(copy.parent / f"{_SENDING}.lock", copy, patience=math.inf):
        _send_artefact(address, made, manifest.read_bytes(), manifest.name, overwrite=overwrite)


def _send_artefact(address: Address, made: Path, record: bytes, beside: str, *, overwrite: bool) -> None:
    files = {name: FileSeal(**seal) for name, seal in json.loads(record)["files"].items()}
    content = content_name(files)
    base = f"{address.key}/{content}"
    sent_before = _note(address, content)
    _send_files(address, base, made, files)
    with store_errors(address):
        # the folder is an artefact by itself, for those who copy it with other tools
        _put_manifest(address, record, f"{base}/{MANIFEST if made.is_dir() else beside}")
        former = refuse_stored(address, overwrite=overwrite, folder=made.is_dir())
        _put_manifest(address, record, f"{address.key}/{MANIFEST}" if made.is_dir() else f"{address.key}.{MANIFEST}")
    _remove_folder(address, *(sent_before - {content}))
    if former is not None:
        _remove_former(address, former, content)
    (copy_of(address).parent / _SENDING).unlink(missing_ok=True)


def _note(address: Address, content: str) -> set[str]:
    """Note what begins to be sent from here, and return what earlier uploads began and did not end."""
    note = copy_of(address).parent / _SENDING
    before = set(note.read_text("utf-8").split()) if note.is_file() else set()
    note.write_text("\n".join(sorted({*before, content})), encoding="utf-8", newline="\n")
    return before


def _send_files(address: Address, base: str, made: Path, files: Mapping[str, FileSeal]) -> None:
    """Send the files that are not there in full, several at once; memory is that of a part of each.

    An object appears when its upload is complete, under a key of this content alone: its size tells that it is there.
    """
    there = sizes_under(address, base)
    missing = [name for name, seal in files.items() if there.get(name) != seal.bytes]

    def put(name: str) -> int:
        with store_errors(address):
            path = made / name if made.is_dir() else made
            _put(address, path, f"{base}/{name}", files[name])
        return files[name].bytes

    total = sum(files[name].bytes for name in missing)
    several_at_once(f"sending {address}", total, put, missing)
    there = sizes_under(address, base)
    for name, seal in files.items():
        if there.get(name) != seal.bytes:
            raise StorageError(
                f"{address}: wanted {seal.bytes:,} bytes of {name} in the store; found {there.get(name, 0):,}; {GO_ON}"
            )


def _put(address: Address, path: Path, key: str, seal: FileSeal | None = None) -> None:
    """Send one file; with ``seal``, what is read is compared with its digests.

    Where the store fails, nothing appears. Where reading the file does, what was sent so far appears, and is removed.
    """
    store = opened(address)
    out = store.open_output_stream(key, compression=None)
    try:
        for content in _checked(path, seal):
            out.write(content)
        out.close()
    except OSError:
        raise
    except BaseException:
        with suppress(OSError):
            out.close()
            store.delete_file(key)
        raise


def _put_manifest(address: Address, content: bytes, key: str) -> None:
    with opened(address).open_output_stream(key, compression=None) as out:
        out.write(content)


def _checked(path: Path, seal: FileSeal | None) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            for block in count():
                if not (content := file.read(BLOCK)):
                    return
                if seal is not None and not seal.holds(block, content):
                    raise damaged(path, block)
                yield content
    except OSError as error:
        raise bad_input(path, wanted="a readable file", found=error.strerror or str(error), do="run again") from error


def _send_plain(address: Address, made: Path, former: Stored | None) -> None:
    """Send a file without a manifest: it appears in one write. A manifest of the former one goes first: it would not agree."""
    with store_errors(address):
        if former is not None and former.manifest:
            opened(address).delete_file(f"{address.key}.{MANIFEST}")
        _put(address, made, address.key)
    if former is not None:
        _remove_folder(address, *_content_of(address, former))


def _remove_former(address: Address, former: Stored, content: str) -> None:
    """Remove the files of the artefact that was replaced, also where another tool has put them."""
    _remove_folder(address, *(_content_of(address, former) - {content}))
    plain = [""] if former.beside else [f"/{name}" for name in _named_by(address, former)]
    for name in plain:
        with suppress(OSError):
            opened(address).delete_file(f"{address.key}{name}")


def _named_by(address: Address, former: Stored) -> Mapping[str, FileSeal]:
    """Return the files that a manifest names; none where it is damaged."""
    try:
        return former.files(address) if former.manifest else {}
    except InputError:
        return {}


def _content_of(address: Address, former: Stored) -> set[str]:
    return {content_name(files)} if (files := _named_by(address, former)) else set()


def _remove_folder(address: Address, *contents: str) -> None:
    for content in contents:
        with suppress(OSError):
            opened(address).delete_dir(f"{address.key}/{content}")
