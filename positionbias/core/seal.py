"""Digests of an artefact's files, checked before a file is read, so that damage is found.

A manifest has each file's size and its XXH3-64. They detect damage (a bad disk, a cut copy, a file
of another artefact); they do not prove who wrote it. Identity is claimed by a SHA-256 or a checksum
of records.

A file's digests are in ``FILE.manifest.json``, or in ``manifest.json`` of a folder above it. An
artefact's manifest names every file in it, so the outermost manifest that names a file decides: no
other file in between switches its digests off. A file that no manifest names (of an unfinished
artefact, a published release) is read unchecked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple, TypeVar

import xxhash

from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import JsonObject, converted

T = TypeVar("T")
MANIFEST = "manifest.json"
CACHE = "cache"
AGAIN = "restore it from a copy, or make it again"
_BLOCK = 1 << 20  # bytes read at a time
_DIGEST = re.compile("[0-9a-f]{16}")
_LONGEST_NAME = 255  # bytes, as of a file
_NO_NAME = re.compile(
    r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]|\A[A-Za-z]:"
)  # a path's separators and drives, and control characters
_MOST = 1 << 28  # bytes of a manifest: enough for 16 TB
_OURS = {"kind", "format_version", "files"}


@dataclass(frozen=True, slots=True)
class FileSeal:
    """A file's size in bytes and its XXH3-64 in hexadecimal digits."""

    bytes: int
    digest: str

    def __post_init__(self) -> None:
        if type(self.bytes) is not int or self.bytes < 0 or not _DIGEST.fullmatch(self.digest):
            raise ValueError(f"the digest {self.digest[:20]!r} of {self.bytes} bytes")


def seal_file(path: Path) -> FileSeal:
    """Read a file and return its size and digest; none of its pages stay in this process."""
    digest, size, buffer = xxhash.xxh3_64(), 0, memoryview(bytearray(_BLOCK))
    with open(path, "rb", buffering=0) as handle:
        while count := handle.readinto(buffer):
            digest.update(buffer[:count])
            size += count
    return FileSeal(size, digest.hexdigest())


def content_files(folder: Path) -> dict[str, Path]:
    """Return an artefact's content files by path within it, in order: all but its manifest, its
    ``cache`` and hidden files.
    """
    files = {}
    for path in sorted(folder.rglob("*"), key=lambda path: path.parts):
        parts = path.relative_to(folder).parts
        left_out = parts[0] == CACHE or parts == (MANIFEST,)
        if left_out or any(part.startswith(".") for part in parts):
            continue
        if path.is_symlink() or not path.is_dir():
            files["/".join(parts)] = path
    return files


def unnamed_files(folder: Path, files: Collection[str]) -> list[str]:
    """Return the paths within an artefact that its manifest does not name, in order."""
    return [name for name in content_files(folder) if name not in files]


def seal_folder(folder: Path) -> dict[str, FileSeal]:
    """Return the digests of an artefact's content files, by path within it.

    Raises:
        InputError: a link, or anything but a file or a folder.
    """
    files = content_files(folder)
    for path in files.values():
        if path.is_symlink() or not path.is_file():
            raise bad_input(
                path,
                wanted="a regular file in an artefact",
                found="a link or a special file",
                do="remove it",
            )
    return {name: seal_file(path) for name, path in files.items()}


# -- records with a digest of themselves -----------------------------------------------------------


def manifest_digest(record: JsonObject) -> str:
    """Return the XXH3-64 of a record's JSON without its ``digest``, in any order of keys."""
    content = {key: value for key, value in record.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


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
        places = (PurePosixPath(name), PureWindowsPath(name))
        if not name or "\0" in name or any(each.anchor or ".." in each.parts for each in places):
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


# -- reading ---------------------------------------------------------------------------------------


class _State(NamedTuple):
    """The identity of one state of a file within a process."""

    path: Path
    bytes: int
    changed: int  # of the inode; nobody can set it back

    @classmethod
    def of(cls, path: Path) -> _State:
        status = path.stat()
        return cls(path, status.st_size, status.st_ctime_ns)


def verified(path: Path) -> Path:
    """Compare a whole file with its manifest, once per process and state of the file, and return
    its path.

    Raises:
        InputError: its content differs from the manifest, or it cannot be read.
    """
    name, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    # the manifest may be beside a link or beside its target
    seal = _seal_at(name) or (_seal_at(real) if real != name else None)
    _check_regular(path)
    if seal is not None:
        check_file(path, seal)
    return path


def _seal_at(path: Path) -> FileSeal | None:
    """Return a file's digests in its manifest; None if no manifest names it."""
    if path.name == MANIFEST or path.name.endswith(f".{MANIFEST}"):
        return None  # it contains its own digest
    seal, beside = None, path.with_name(f"{path.name}.{MANIFEST}")
    if os.path.lexists(beside):  # of this one file, whose name may have changed since
        if not beside.is_file():
            raise bad_input(
                beside, wanted="a posbias manifest", found="something other than a file", do=AGAIN
            )
        seal = next(iter(_seals(_State.of(beside), ours=True).values()), None)
    for folder in path.parents:
        manifest = folder / MANIFEST
        with suppress(OSError):  # an unreadable folder has no artefact of ours
            if manifest.is_file():
                name = path.relative_to(folder).as_posix()
                seal = _seals(_State.of(manifest), ours=False).get(name, seal)
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
        raise bad_input(
            manifest.path,
            wanted="a posbias manifest",
            found=str(error).splitlines()[0],
            do=AGAIN,
        ) from error
    check_digest(manifest.path, record)
    return seals


def check_file(path: Path, seal: FileSeal) -> None:
    """Compare a whole file with its digests, once per process and state of the file.

    Raises:
        InputError: its content differs, or it cannot be read.
    """
    _check_regular(path)
    try:
        _verify(_State.of(path), seal)
    except OSError as error:
        raise bad_input(
            path, wanted="a readable file", found=error.strerror or str(error), do=AGAIN
        ) from error


@lru_cache(maxsize=4_096)
def _verify(state: _State, seal: FileSeal) -> None:
    if state.bytes != seal.bytes:
        wanted, size = f"{seal.bytes:,} bytes, as its manifest says", f"{state.bytes:,}"
        raise bad_input(state.path, wanted=wanted, found=size, do=AGAIN)
    if seal_file(state.path) != seal:
        raise bad_input(
            state.path, wanted="the content that its manifest names", found="other bytes", do=AGAIN
        )


def _check_regular(path: Path) -> None:
    """Refuse pipes and devices, whose opening may block."""
    if path.exists() and not path.is_file():
        raise bad_input(path, wanted="a regular file", found="something else", do=AGAIN)
