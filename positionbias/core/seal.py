"""Digests of an artefact's files, by blocks, and readers that compare them: damage is found where it is read.

A manifest names each file of its artefact with its size and one XXH3-64 a MiB. They find damage (a bad disk, a cut copy, a file of
another artefact); they prove nothing about who wrote it. What claims identity is a SHA-256 or a checksum of records.

A file finds its digests by itself: in ``manifest.json`` of the nearest folder above it that has one, or in ``FILE.manifest.json``. A
file that no manifest names (an artefact in the making, one of before there were digests, a published release) is read as it is.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import xxhash

from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.schema import converted

if TYPE_CHECKING:
    import numpy as np

__all__ = ["BLOCK", "CACHE", "MANIFEST", "FileSeal", "SealedFile", "seal_file", "seal_folder", "unnamed_files", "verified"]

T = TypeVar("T")
BLOCK = 1 << 20
MANIFEST = "manifest.json"
CACHE = "cache"
AGAIN = "restore it from a copy, or make it again"
_WIDTH = 16  # hexadecimal digits a block
_MOST = 1 << 28  # bytes of a manifest: those of 16 TB
_OURS = {"kind", "format_version", "files"}


@dataclass(frozen=True, slots=True)
class FileSeal:
    """A file's size in bytes, and the XXH3-64 of each of its blocks of 1 MiB: 16 hexadecimal digits a block."""

    bytes: int
    digest: str

    def __post_init__(self) -> None:
        if self.bytes < 0 or len(self.digest) != _WIDTH * self.blocks:
            raise ValueError(f"{len(self.digest)} digits of digests for {self.bytes:,} bytes")

    @property
    def blocks(self) -> int:
        """How many blocks the file has; an empty file has none."""
        return -(-self.bytes // BLOCK)

    def holds(self, block: int, content: Any) -> bool:
        """Whether ``content`` (bytes, or a view of them) is this block."""
        return xxhash.xxh3_64_hexdigest(content) == self.digest[block * _WIDTH : (block + 1) * _WIDTH]


def seal_file(path: Path) -> FileSeal:
    """Read a file once, and return its size and digests."""
    digests, size = [], 0
    for block in _blocks(path):
        digests.append(xxhash.xxh3_64_hexdigest(block))
        size += len(block)
    return FileSeal(size, "".join(digests))


def _blocks(path: Path) -> Iterator[memoryview]:
    """The blocks of a file, each valid until the next is asked for: no page of it stays with this process."""
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
    """What belongs to an artefact's content, in order: not its manifest, nothing in ``cache`` and nothing hidden."""
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = CACHE in parts[:1] or parts == (MANIFEST,) or any(part.startswith(".") for part in parts)
        if not hidden and (path.is_symlink() or not path.is_dir()):
            found.append(path)
    return found


def unnamed_files(folder: Path, files: Collection[str]) -> list[str]:
    """What stands in an artefact although its manifest does not name it: paths within it, in order."""
    return [name for path in _content_files(folder) if (name := path.relative_to(folder).as_posix()) not in files]


def seal_folder(folder: Path) -> dict[str, FileSeal]:
    """The digests of all files of an artefact's content, by their path within it.

    Raises:
        InputError: a link, or something else that is neither a file nor a folder.
    """
    found = {}
    for path in _content_files(folder):
        if path.is_symlink() or not path.is_file():
            raise bad_input(path, wanted="a regular file in an artefact", found="a link or a special file", do="remove it")
        found[path.relative_to(folder).as_posix()] = seal_file(path)
    return found


# -- reading ---------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """What tells one state of a file from another within a process."""

    path: Path
    bytes: int
    changed: int  # of the inode: nobody can set it back
    inode: int


def _state(path: Path) -> _State:
    found = path.stat()
    return _State(path, found.st_size, found.st_ctime_ns, found.st_ino)


def manifest_digest(record: JsonObject) -> str:
    """The XXH3-64 of a record's JSON without its own ``digest``, whatever the order of its keys."""
    content = {key: value for key, value in record.items() if key != "digest"}
    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def signed(record: JsonObject) -> JsonObject:
    """Return a record with its digest, as ``manifest_digest`` computes it."""
    return {**record, "digest": manifest_digest(record)}


def as_signed(kind: type[T], record: Any) -> T:
    """Return a record that was ``signed`` as the dataclass that it was written from.

    Raises:
        ValueError: it is not what its digest says, or no such record.
    """
    if not isinstance(record, dict) or record.pop("digest", None) != manifest_digest(record):
        raise ValueError("a record that was changed since it was written")
    return converted(kind, record)


def seal_of(path: Path) -> FileSeal | None:
    """The digests that a manifest has of a file; None where no manifest names it.

    Raises:
        InputError: the manifest is damaged.
    """
    name, real = os.path.abspath(path), os.path.realpath(path)
    return _seal_at(Path(name)) or (
        _seal_at(Path(real)) if real != name else None
    )  # the manifest may stand beside a link, or where it leads


def _seal_at(path: Path) -> FileSeal | None:
    if path.name == MANIFEST or path.name.endswith(f".{MANIFEST}"):
        return None  # it has its own digest in it
    try:
        beside = path.with_name(f"{path.name}.{MANIFEST}")
        if beside.is_file():  # of this one file, whatever both were called when they were written
            return next(iter(_seals(_state(beside), ours=True).values()), None)
        for folder in path.parents:
            manifest = folder / MANIFEST
            if manifest.is_file():
                return _seals(_state(manifest), ours=False).get(path.relative_to(folder).as_posix())
    except OSError:
        pass  # a folder above that may not be looked into has no artefact of ours
    return None


@lru_cache(maxsize=64)
def _seals(manifest: _State, *, ours: bool) -> Mapping[str, FileSeal]:
    """The digests in a manifest; ``ours``: its name says that it is one of ours, and any folder may hold somebody else's manifest.json."""
    try:
        record = json.loads(manifest.path.read_bytes()) if manifest.bytes <= _MOST else None
        if not isinstance(record, dict) or not record.keys() >= _OURS:
            return {}  # somebody else's, or of before there were digests
        seals = {name: FileSeal(**seal) for name, seal in (record["files"] or {}).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if not ours:
            return {}  # whoever opens the artefact reads its manifest, and says what is wrong with it
        found = str(error).splitlines()[0]
        raise bad_input(manifest.path, wanted="a posbias manifest", found=found, do=AGAIN) from error
    check_digest(manifest.path, record)
    return seals


def check_digest(manifest: Path, record: JsonObject) -> None:
    """See that a manifest's record is what its own digest says; both it and the files' digests are there, or neither.

    Raises:
        InputError: it is not.
    """
    digest = record.get("digest")
    if digest is not None and digest != manifest_digest(record):
        raise bad_input(manifest, wanted="a manifest as it was written", found="one that was changed since", do=AGAIN)
    if (digest is None) != (record.get("files") is None):
        raise bad_input(manifest, wanted="a manifest with its digest", found="one without", do=AGAIN)


def verified(path: Path) -> Path:
    """Return the same path, after the whole file has been compared with its manifest; once a process for each state of a file.

    Raises:
        InputError: its content is not what the manifest names, or it cannot be read.
    """
    seal = seal_of(path)
    _check_regular(path)
    if seal is not None:
        try:
            _verify(_state(path), seal)
        except OSError as error:
            raise bad_input(path, wanted="a readable file", found=error.strerror or str(error), do=AGAIN) from error
    return path


@lru_cache(maxsize=4_096)
def _verify(state: _State, seal: FileSeal) -> None:
    _check_size(state.path, state.bytes, seal)
    for number, block in enumerate(_blocks(state.path)):
        if not seal.holds(number, block):
            raise damaged(state.path, number)


def _check_regular(path: Path) -> None:
    """Refuse a pipe or a device, which whoever opens it may wait for."""
    if path.exists() and not path.is_file():
        raise bad_input(path, wanted="a regular file", found="something else", do=AGAIN)


def _check_size(path: Path, size: int, seal: FileSeal) -> None:
    if size != seal.bytes:
        raise bad_input(path, wanted=f"{seal.bytes:,} bytes, as its manifest says", found=f"{size:,}", do=AGAIN)


def damaged(path: Path, block: int) -> InputError:
    """The error about a block that is not what the manifest names."""
    found = f"other bytes in the MiB from byte {block * BLOCK:,} on"
    return bad_input(path, wanted="the content that its manifest names", found=found, do=AGAIN)


class SealedFile:
    """A mapped file whose blocks are compared with the manifest when they are first touched.

    ``bytes``: the whole file, mapped. Without digests nothing is compared.

    Raises:
        InputError: the file is not there, or not of the size that its manifest names.
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
                self.bytes: mmap.mmap | bytes = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except OSError as error:
            raise bad_input(path, wanted="a readable file", found=error.strerror or str(error), do="check the path") from error
        import numpy as np  # not by who only reads settings

        self._unchecked = np.ones(self._seal.blocks if self._seal else 0, dtype=bool)
        self._left = len(self._unchecked)

    def __len__(self) -> int:
        return len(self.bytes)

    def touch(self, start: int, end: int) -> None:
        """Compare the blocks that hold the bytes from ``start`` to before ``end``.

        Raises:
            InputError: one of them is damaged.
        """
        if self._left and start < end:
            first, last = max(0, start) // BLOCK, min(end - 1, len(self) - 1) // BLOCK
            import numpy as np

            self._compare(first + np.flatnonzero(self._unchecked[first : last + 1]))

    def touch_each(self, starts: np.ndarray, ends: np.ndarray) -> None:
        """As ``touch`` for many ranges, each of less than a MiB."""
        if self._left and len(starts):
            import numpy as np

            wanted = np.zeros(len(self._unchecked), dtype=bool)  # not np.unique, which sorts, and imports numpy.ma
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
