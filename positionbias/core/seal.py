"""Digests of an artefact's files by block, and readers that check them, so that damage is found on
reading.

A manifest has each file's size and one XXH3-64 per MiB. They detect damage (a bad disk, a cut copy,
a file of another artefact); they do not prove who wrote it. Identity is claimed by a SHA-256 or a
checksum of records.

A file's digests are in ``FILE.manifest.json``, or in ``manifest.json`` of a folder above it. An
artefact's manifest names every file in it, so the outermost manifest that names a file decides: no
other file in between switches its digests off. A file that no manifest names (of an unfinished
artefact, a published release) is read unchecked.
"""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import xxhash

from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.schema import converted

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "BLOCK",
    "CACHE",
    "MANIFEST",
    "FileSeal",
    "SealedFile",
    "check_file",
    "seal_file",
    "seal_folder",
    "unnamed_files",
    "verified",
]

T = TypeVar("T")
BLOCK = 1 << 20
MANIFEST = "manifest.json"
CACHE = "cache"
AGAIN = "restore it from a copy, or make it again"
_WIDTH = 16  # hexadecimal digits a block
_LONGEST_NAME = 255  # bytes, as of a file
_NO_NAME = re.compile(
    r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]|\A[A-Za-z]:"
)  # a path's separators and drives, and control characters
_MOST = 1 << 28  # bytes of a manifest: enough for 16 TB
_OURS = {"kind", "format_version", "files"}


@dataclass(frozen=True, slots=True)
class FileSeal:
    """A file's size in bytes, and the XXH3-64 of each of its blocks of 1 MiB: 16 hexadecimal digits
    a block.
    """

    bytes: int
    digest: str

    def __post_init__(self) -> None:
        if (
            type(self.bytes) is not int
            or self.bytes < 0
            or len(self.digest) != _WIDTH * self.blocks
        ):
            raise ValueError(f"{len(self.digest)} digits of digests for {self.bytes} bytes")

    @property
    def blocks(self) -> int:
        """The number of blocks; 0 for an empty file."""
        return -(-self.bytes // BLOCK)

    def holds(self, block: int, content: Any) -> bool:
        """Return True if ``content`` (bytes, or a view of them) is this block."""
        return (
            xxhash.xxh3_64_hexdigest(content) == self.digest[block * _WIDTH : (block + 1) * _WIDTH]
        )


def seal_file(path: Path) -> FileSeal:
    """Read a file and return its size and digests."""
    digests, size = [], 0
    for block in _blocks(path):
        digests.append(xxhash.xxh3_64_hexdigest(block))
        size += len(block)
    return FileSeal(size, "".join(digests))


def _blocks(path: Path) -> Iterator[memoryview]:
    """Yield the blocks of a file, each valid until the next; none of its pages stay in this
    process.
    """
    buffer = memoryview(bytearray(BLOCK))
    with open(path, "rb", buffering=0) as handle:
        while True:
            held = 0
            while held < BLOCK and (count := handle.readinto(buffer[held:])):
                held += count
            if held:
                yield buffer[:held]
            if held < BLOCK:
                return


def _content_files(folder: Path) -> list[Path]:
    """Return an artefact's content files, in order, without its manifest, ``cache`` and hidden
    files.
    """
    found = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.parts):
        parts = path.relative_to(folder).parts
        hidden = (
            CACHE in parts[:1]
            or parts == (MANIFEST,)
            or any(part.startswith(".") for part in parts)
        )
        if not hidden and (path.is_symlink() or not path.is_dir()):
            found.append(path)
    return found


def unnamed_files(folder: Path, files: Collection[str]) -> list[str]:
    """Return the paths within an artefact that its manifest does not name, in order."""
    return [
        name
        for path in _content_files(folder)
        if (name := path.relative_to(folder).as_posix()) not in files
    ]


def seal_folder(folder: Path) -> dict[str, FileSeal]:
    """Return the digests of an artefact's content files, by path within it.

    Raises:
        InputError: a link, or anything but a file or a folder.
    """
    found = {}
    for path in _content_files(folder):
        if path.is_symlink() or not path.is_file():
            raise bad_input(
                path,
                wanted="a regular file in an artefact",
                found="a link or a special file",
                do="remove it",
            )
        found[path.relative_to(folder).as_posix()] = seal_file(path)
    return found


# -- reading ---------------------------------------------------------------------------------------


class _State(NamedTuple):
    """The identity of one state of a file within a process."""

    path: Path
    bytes: int
    changed: int  # of the inode; nobody can set it back
    inode: int


def _state(path: Path) -> _State:
    found = path.stat()
    return _State(path, found.st_size, found.st_ctime_ns, found.st_ino)


def manifest_digest(record: JsonObject) -> str:
    """Return the XXH3-64 of a record's JSON without its ``digest``, in any order of keys."""
    content = {key: value for key, value in record.items() if key != "digest"}
    return xxhash.xxh3_64_hexdigest(
        json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def signed(record: JsonObject) -> JsonObject:
    """Return a record with its ``manifest_digest``."""
    return {**record, "digest": manifest_digest(record)}


def as_signed(kind: type[T], record: Any) -> T:
    """Return a ``signed`` record as the dataclass it was made of.

    Raises:
        ValueError: it does not match its digest or its type.
    """
    if not isinstance(record, dict) or record.pop("digest", None) != manifest_digest(record):
        raise ValueError("a record that was changed since it was written")
    return converted(kind, record)


def seal_of(path: Path) -> FileSeal | None:
    """Return a file's digests in its manifest; None if no manifest names it.

    Raises:
        InputError: the manifest is damaged.
    """
    name, real = os.path.abspath(path), os.path.realpath(path)
    return _seal_at(Path(name)) or (
        _seal_at(Path(real)) if real != name else None
    )  # the manifest may be beside a link or beside its target


def _seal_at(path: Path) -> FileSeal | None:
    if path.name == MANIFEST or path.name.endswith(f".{MANIFEST}"):
        return None  # it contains its own digest
    seal, beside = None, path.with_name(f"{path.name}.{MANIFEST}")
    if os.path.lexists(beside):  # of this one file, whose name may have changed since
        if not beside.is_file():
            raise bad_input(
                beside, wanted="a posbias manifest", found="something other than a file", do=AGAIN
            )
        seal = next(iter(_seals(_state(beside), ours=True).values()), None)
    for folder in path.parents:
        manifest = folder / MANIFEST
        with suppress(OSError):  # an unreadable folder has no artefact of ours
            if manifest.is_file():
                seal = _seals(_state(manifest), ours=False).get(
                    path.relative_to(folder).as_posix(), seal
                )
    return seal


@lru_cache(maxsize=64)
def _seals(manifest: _State, *, ours: bool) -> Mapping[str, FileSeal]:
    """Return the digests in a manifest; ``ours``: only we use its name, whereas other software also
    writes a manifest.json.
    """
    try:
        record = json.loads(manifest.path.read_bytes()) if manifest.bytes <= _MOST else None
        if not isinstance(record, dict) or not record.keys() >= _OURS:
            raise ValueError("other JSON")
        seals = {name: FileSeal(**seal) for name, seal in record["files"].items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if not ours:
            # somebody else's; or opening the artefact reads its manifest and reports the fault
            return {}
        found = str(error).splitlines()[0]
        raise bad_input(
            manifest.path, wanted="a posbias manifest", found=found, do=AGAIN
        ) from error
    check_digest(manifest.path, record)
    return seals


def check_digest(manifest: Path | str, record: JsonObject) -> None:
    """Check a manifest's record against its own digest.

    Raises:
        InputError: they differ.
    """
    if record.get("digest") != manifest_digest(record):
        raise bad_input(
            manifest,
            wanted="a manifest as it was written",
            found="one that was changed since",
            do=AGAIN,
        )


def check_names(manifest: Path | str, names: Iterable[str]) -> None:
    """Check that the files that a manifest names are within its artefact.

    Raises:
        InputError: one is not.
    """
    for name in names:
        if (
            not name
            or "\0" in name
            or any(
                place.anchor or ".." in place.parts
                for place in (PurePosixPath(name), PureWindowsPath(name))
            )
        ):
            raise bad_input(
                manifest, wanted="files within the artefact", found=repr(name), do=AGAIN
            )


def check_name(manifest: Path | str, name: str) -> None:
    """Check that an artefact's name can be part of a file's name on any system, as outputs are
    named by it.

    Raises:
        InputError: it cannot.
    """
    if _NO_NAME.search(name) or name in (".", "..") or len(name.encode()) > _LONGEST_NAME:
        raise InputError(
            f"{manifest}: {name[:100]!r} is no name of an artefact (it is a path, too long or not "
            f"printable); {AGAIN}"
        )


def verified(path: Path) -> Path:
    """Compare a whole file with its manifest, once per process and state of the file, and return
    its path.

    Raises:
        InputError: its content differs from the manifest, or it cannot be read.
    """
    seal = seal_of(path)
    _check_regular(path)
    if seal is not None:
        check_file(path, seal)
    return path


def check_file(path: Path, seal: FileSeal) -> None:
    """Compare a whole file with its digests, once per process and state of the file.

    Raises:
        InputError: its content differs, or it cannot be read.
    """
    _check_regular(path)
    try:
        _verify(_state(path), seal)
    except OSError as error:
        raise bad_input(
            path, wanted="a readable file", found=error.strerror or str(error), do=AGAIN
        ) from error


@lru_cache(maxsize=4_096)
def _verify(state: _State, seal: FileSeal) -> None:
    _check_size(state.path, state.bytes, seal)
    for number, block in enumerate(_blocks(state.path)):
        if not seal.holds(number, block):
            raise damaged(state.path, number)


def _check_regular(path: Path) -> None:
    """Refuse pipes and devices, whose opening may block."""
    if path.exists() and not path.is_file():
        raise bad_input(path, wanted="a regular file", found="something else", do=AGAIN)


def _check_size(path: Path, size: int, seal: FileSeal) -> None:
    if size != seal.bytes:
        raise bad_input(
            path, wanted=f"{seal.bytes:,} bytes, as its manifest says", found=f"{size:,}", do=AGAIN
        )


def damaged(path: Path, block: int) -> InputError:
    """Return an error about a block that differs from the manifest."""
    found = f"other bytes in the MiB from byte {block * BLOCK:,} on"
    return bad_input(path, wanted="the content that its manifest names", found=found, do=AGAIN)


class SealedFile:
    """A mapped file whose blocks are compared with the manifest on first access.

    ``bytes``: the whole mapped file. Without digests nothing is compared.

    Raises:
        InputError: the file is missing, or not of the size in its manifest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seal = seal_of(path)
        _check_regular(path)
        try:
            with open(path, "rb") as handle:
                size = os.fstat(handle.fileno()).st_size
                if self._seal is not None:
                    _check_size(path, size, self._seal)
                self.bytes: mmap.mmap | bytes = (
                    mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
                )
        except OSError as error:
            raise bad_input(
                path,
                wanted="a readable file",
                found=error.strerror or str(error),
                do="check the path",
            ) from error
        import numpy as np  # not needed by readers of settings

        self._unchecked = np.ones(self._seal.blocks if self._seal else 0, dtype=bool)
        self._left = len(self._unchecked)

    def __len__(self) -> int:
        return len(self.bytes)

    def touch(self, start: int, end: int) -> None:
        """Compare the blocks of the bytes ``[start, end)``.

        Raises:
            InputError: one of them is damaged.
        """
        if self._left and start < end:
            first, last = max(0, start) // BLOCK, min(end - 1, len(self) - 1) // BLOCK
            import numpy as np

            self._compare(first + np.flatnonzero(self._unchecked[first : last + 1]))

    def touch_each(self, starts: np.ndarray, ends: np.ndarray) -> None:
        """``touch`` many ranges, each of less than a MiB."""
        if self._left and len(starts):
            import numpy as np

            # not np.unique, which sorts, and imports numpy.ma
            wanted = np.zeros(len(self._unchecked), dtype=bool)
            for blocks in (starts // BLOCK, np.maximum(ends - 1, starts) // BLOCK):
                wanted[blocks[(blocks >= 0) & (blocks < len(wanted))]] = True
            self._compare(np.flatnonzero(wanted & self._unchecked))

    def _compare(self, blocks: np.ndarray) -> None:
        assert self._seal is not None
        content = memoryview(self.bytes)
        for block in blocks.tolist():
            if not self._seal.holds(block, content[block * BLOCK : (block + 1) * BLOCK]):
                raise damaged(self.path, block)
            self._unchecked[block] = False
        self._left -= len(blocks)
