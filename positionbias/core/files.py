"""Files: system errors in one line, checksums, plain and compressed streams, whether an input
changed while it was read, and limits on what a reader holds or unpacks of one input.

Every published release passes the default limits; environment variables change them.

POSBIAS_MAX_LINE       bytes of a line, and of one value in column-oriented JSON
POSBIAS_MAX_DOCUMENT   bytes of a file or document held whole: JSON, SQuAD, topics, an SGML or XML
                       document
POSBIAS_MAX_RATIO      unpacked bytes for each packed byte
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import platformdirs

from positionbias.core.errors import InputError, SettingError, StorageError, bad_input, near_file
from positionbias.core.json_text import JsonObject, parse_json
from positionbias.core.seal import verified

_ADVICE = {
    errno.ENOSPC: "free some space or give another --out",
    errno.EDQUOT: "free some space or give another --out",
    errno.EACCES: "check the permissions or give another --out",
    errno.EPERM: "check the permissions or give another --out",
    errno.EROFS: "give another --out: this file system is read-only",
}
FREE_BYTES = 64 << 20  # a file of any size may unpack to this
_SETTLED = 100_000_000  # nanoseconds
_KNOWN: dict[tuple[Path, int, int], str] = {}  # digests


@contextmanager
def storage_errors(path: Path | str) -> Iterator[None]:
    """Turn system errors while writing ``path`` into one clear line."""
    try:
        yield
    except OSError as error:
        code, found = error.errno, error.strerror
        if code is None:  # NumPy's error for an incomplete write
            if "written" not in str(error):
                raise
            code, found = errno.ENOSPC, f"a write that fell short ({error})"
        advice = _ADVICE.get(code, "check the path and the disk, then run again")
        raise StorageError(f"{path}: wanted to write here; found: {found}; {advice}") from error


def home() -> Path:
    """Return the folder of what is written without --out, in which names are looked up:
    ``$POSBIAS_HOME``, else ``posbias`` in the user's data directory.
    """
    if value := os.environ.get("POSBIAS_HOME"):
        return Path(value)

    return platformdirs.user_data_path("posbias", appauthor=False)


def remove(path: Path) -> None:
    """Delete a file, a link or a whole folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def refuse_links(folder: Path) -> None:
    """Refuse links in a folder that only this package writes to, as they could make it read or
    write anywhere.

    Raises:
        InputError: the folder, or anything in it at any depth, is a symbolic link.
    """
    inside = (
        Path(place, name)
        for place, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )
    for path in chain([folder], inside):
        if path.is_symlink():
            raise bad_input(
                path,
                wanted="a folder" if path.is_dir() else "a file",
                found="a link",
                do="remove it",
            )


def sha256_file(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


class _Unpacked(io.RawIOBase):
    """The content of one or several gzip members or zstd frames, ``size`` packed bytes at a time,
    under the ratio budget; errors name ``source``. Unlike the libraries' own readers it raises
    where the last frame is cut.
    """

    def __init__(
        self,
        packed: IO[bytes],
        source: str,
        new_frame: Callable[[], Any],
        size: int,
        *,
        close_packed: bool,
    ) -> None:
        self._packed, self._source, self._close_packed = packed, source, close_packed
        self._new_frame, self._size = new_frame, size
        self._frame: Any = None
        self._rest = memoryview(b"")
        self._taken = self._given = 0
        self._limit = RATIO.limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            between = self._frame is None or self._frame.eof
            data = self._frame.unused_data if between and self._frame is not None else b""
            if not data:
                data = self._packed.read(self._size)
                self._taken += len(data)
            if not data and not between:
                raise EOFError("Compressed file ended before its last frame")
            if not data:
                return 0
            if between:
                data = data.lstrip(b"\0")  # which may pad members
                self._frame = self._new_frame() if data else None
            if self._frame is not None:
                self._rest = memoryview(self._frame.decompress(data))
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        self._given += len(taken)
        check_ratio(self._source, self._taken, self._given, self._limit)
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        if self._close_packed:
            self._packed.close()
        super().close()


def open_plain(path: Path | str) -> io.BufferedReader:
    """Open a regular file to read its raw bytes; pipes, devices and sockets are refused without
    waiting.

    Raises:
        InputError: no such file, not a regular file, or content that differs from its manifest.
    """
    try:
        # the caller closes what we return
        handle = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    except OSError as error:
        raise _unreadable(path, error) from error
    mode = os.fstat(handle.fileno()).st_mode
    if stat.S_ISREG(mode):
        try:
            verified(Path(path))
        except BaseException:
            handle.close()
            raise
        return handle
    handle.close()
    found = "a pipe" if stat.S_ISFIFO(mode) else "a device"
    raise bad_input(
        path, wanted="a regular file", found=found, do="write its content to a file, and give that"
    )


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return bad_input(
        path,
        wanted="a readable file",
        found=error.strerror or str(error),
        do=near_file(path, "check the path"),
    )


def _without_waiting(path: str, flags: int) -> int:
    # opening a pipe would wait for its writer
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_bytes(path: Path | str) -> IO[bytes]:
    """Open a file, decompressed if its first bytes are those of ``.gz`` or ``.zst``. Decompression
    bombs are refused.

    Raises:
        InputError: as ``open_plain``.
    """
    raw = open_plain(path)
    try:
        return _unpacked(raw, str(path), close_packed=True)
    except OSError as error:
        raise _unreadable(path, error) from error


def decompressed(stream: io.BufferedReader, source: str) -> IO[bytes]:
    """Return a stream, decompressed if its first bytes are those of ``.gz`` or ``.zst``; the caller
    closes ``stream``.
    """
    return _unpacked(stream, source, close_packed=False)


def zstandard() -> Any:
    """Return the package zstandard, which some machines lack; most files never need it."""
    import zstandard

    return zstandard


def _unpacked(stream: io.BufferedReader, source: str, *, close_packed: bool) -> IO[bytes]:
    magic = stream.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        new_frame: Callable[[], Any] = partial(zlib.decompressobj, zlib.MAX_WBITS | 16)
        size = 1 << 15
    elif magic == b"\x28\xb5\x2f\xfd":
        new_frame, size = zstandard().ZstdDecompressor().decompressobj, 1 << 10
    else:
        return stream
    reader = _Unpacked(stream, source, new_frame, size, close_packed=close_packed)
    return io.BufferedReader(reader, 1 << 16)


def read_whole(stream: IO[bytes], source: Path | str) -> bytes:
    """Read the rest of a stream, up to the budget for a document held whole.

    Raises:
        InputError: the stream is longer.
    """
    held, limit = io.BytesIO(), DOCUMENT.limit
    while data := stream.read(1 << 20):
        held.write(data)
        if held.tell() > limit:
            raise DOCUMENT.exceeded(source, found="more", do="check that it is the right file, ")
    return held.getvalue()


def read_document(path: Path | str) -> bytes:
    """Read a whole file, decompressed; call it under ``input_errors``.

    Raises:
        InputError: as ``open_bytes``, or longer than the budget.
    """
    with open_bytes(path) as handle:
        return read_whole(handle, path)


@contextmanager
def input_errors(path: Path | str, *, wanted: str) -> Iterator[None]:
    """Turn errors while reading text from ``path`` (not UTF-8, a damaged or cut archive) into one
    clear line.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        line, byte = _first_undecodable(path) or (None, error.object[error.start])
        raise bad_input(
            path,
            line=line,
            wanted=f"{wanted} in UTF-8",
            found=f"the byte 0x{byte:02x}, which is not",
            do="convert the file",
        ) from error
    except Exception as error:
        # imported only where a .zst file was opened
        zstd = type(error).__module__.partition(".")[0] == "zstandard"
        if not zstd and not isinstance(error, EOFError | zlib.error):
            raise
        raise bad_input(
            path, wanted=f"{wanted}, whole", found=str(error), do="fetch the file again"
        ) from error


def _first_undecodable(path: Path | str) -> tuple[int, int] | None:
    """Return the first line that is not UTF-8, from 1, and its first bad byte; a decoder reads
    ahead and does not know the line.
    """
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with open_bytes(path) as handle:
        while True:
            data = handle.read(1 << 20)
            try:
                decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                return line + error.object.count(b"\n", 0, error.start), error.object[error.start]
            if not data:
                return None
            line += data.count(b"\n")


def read_json(path: Path | str, *, what: str = "a JSON file") -> Any:
    """Read a JSON document.

    Raises:
        InputError: no such file, empty, over the budget, not UTF-8, not JSON (with the line), or a
            repeated key in an object.
    """
    path = Path(path)
    with input_errors(path, wanted=what):
        text = read_document(path).decode("utf-8-sig")
    if not text.strip():
        raise bad_input(
            path, wanted=what, found="an empty file", do="check the path, or fetch it again"
        )
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise bad_input(
            path,
            line=error.lineno,
            wanted=what,
            found=f"{error.msg} at column {error.colno}",
            do="check that the file is complete, or fetch it again",
        ) from error
    except (RecursionError, ValueError) as error:
        # nested beyond Python's stack, a repeated key, or a number of thousands of digits
        raise bad_input(path, wanted=what, found=str(error), do="check the file") from error


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on input: the environment variable that sets it, its default, and what it counts."""

    variable: str
    default: int
    of: str

    @property
    def limit(self) -> int:
        """Return the variable's value, or the default.

        Raises:
            SettingError: the variable is not a whole number above 0.
        """
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text)):
            raise SettingError(
                f"${self.variable}: wanted a whole number above 0 ({self.of}); found {text!r}; "
                f"correct it, or unset it for {self.default:,}"
            )
        return int(text)

    def exceeded(
        self, source: Path | str, *, found: str, line: int | None = None, do: str = ""
    ) -> InputError:
        """Return an error about a source over the limit that says how to raise the limit."""
        wanted = f"at most {self.limit:,} {self.of}"
        return bad_input(
            source, line=line, wanted=wanted, found=found, do=f"{do}or raise ${self.variable}"
        )


LINE = Budget("POSBIAS_MAX_LINE", 64 << 20, "bytes a line")
DOCUMENT = Budget("POSBIAS_MAX_DOCUMENT", 256 << 20, "bytes a document")
RATIO = Budget("POSBIAS_MAX_RATIO", 200, "unpacked bytes for each packed byte")


def check_ratio(source: Path | str, packed: int, unpacked: int, limit: int | None = None) -> None:
    """Refuse content that unpacks to more than ``FREE_BYTES`` and to more than ``limit`` bytes for
    each packed byte.

    Raises:
        InputError: it does.
    """
    if unpacked > FREE_BYTES and unpacked > packed * (RATIO.limit if limit is None else limit):
        found = f"{unpacked:,} or more from {packed:,}"
        raise RATIO.exceeded(source, found=found, do="check the file, unpack it yourself, ")


def _look(path: Path) -> os.stat_result:
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise bad_input(path, wanted="a readable file", found=what, do="give a file")
    return status


def content_digest(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, cached by its change time, which no tool can set.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    status = _look(path)
    key = (path.absolute(), status.st_size, status.st_ctime_ns)
    if key in _KNOWN:
        return _KNOWN[key]
    began = time.time_ns()
    try:
        digest = sha256_file(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    # otherwise another write may fall within the same tick of the file system's clock
    if began - status.st_ctime_ns > _SETTLED:
        _KNOWN[key] = digest
    return digest


def file_state(path: Path | str) -> JsonObject:
    """An input file's name, size and SHA-256, for the record of a job.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    return {"name": path.name, "bytes": _look(path).st_size, "sha256": content_digest(path)}


def file_mark(path: Path | str) -> JsonObject:
    """An input file's name, size and time of change: for parts of a job whose record holds the
    ``file_state``.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(path)
    status = _look(path)
    return {"name": path.name, "bytes": status.st_size, "changed": status.st_mtime_ns}


@contextmanager
def unchanged(paths: Iterable[Path | str]) -> Iterator[None]:
    """Refuse the block's result if a file changed while it was read.

    Raises:
        InputError: one has changed, or cannot be read.
    """
    before = {path: content_digest(path) for path in map(Path, paths)}
    yield
    for path, digest in before.items():
        if content_digest(path) != digest:
            raise bad_input(
                path,
                wanted="a file that stays as it is",
                found="one that changed while it was read",
                do="run again",
            )
