"""Files that are whole or absent: atomic writes, checksums, plain and compressed text streams."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from positionbias.core.errors import OutputExistsError, PositionBiasError, StorageError, bad_input

__all__ = [
    "atomic_file",
    "atomic_folder",
    "byte_writer",
    "decompressed",
    "home",
    "input_errors",
    "link_or_copy",
    "log_folder",
    "open_bytes",
    "open_text",
    "read_json",
    "refuse_existing",
    "remove",
    "sha256_file",
    "storage_errors",
    "write_json",
]

_ADVICE = {
    errno.ENOSPC: "free some space or give another --out",
    errno.EDQUOT: "free some space or give another --out",
    errno.EACCES: "check the permissions or give another --out",
    errno.EPERM: "check the permissions or give another --out",
    errno.EROFS: "give another --out: this file system is read-only",
}


@contextmanager
def storage_errors(path: Path | str) -> Iterator[None]:
    """Turn what the operating system says while writing ``path`` into one clear line."""
    try:
        yield
    except OSError as error:
        code, found = error.errno, error.strerror
        if code is None:  # as NumPy raises it when a write falls short
            if "written" not in str(error):
                raise
            code, found = errno.ENOSPC, f"a write that fell short ({error})"
        advice = _ADVICE.get(code, "check the path and the disk, then run again")
        raise StorageError(f"{path}: wanted to write here; found: {found}; {advice}") from error


def home() -> Path:
    """Where plain names live: ``$POSBIAS_HOME``, else ``posbias`` in the user's data directory."""
    if value := os.environ.get("POSBIAS_HOME"):
        return Path(value)
    from platformdirs import user_data_path

    return user_data_path("posbias", appauthor=False)


def log_folder() -> Path:
    """Return the folder for reports of internal errors: ``$POSBIAS_HOME/.log``, else the user's log folder.

    A plain name holds no dot, so no collection can take ``.log``.
    """
    if os.environ.get("POSBIAS_HOME"):
        return home() / ".log"
    from platformdirs import user_log_path

    return user_log_path("posbias", appauthor=False)


def refuse_existing(final: Path | str, *, overwrite: bool) -> None:
    """Fail before long work, not after it, when ``final`` is taken and may not be replaced."""
    final = Path(final)
    if not overwrite and (final.exists() or final.is_symlink()):
        raise OutputExistsError(
            f"{final}: wanted a new path to write to; found something there; give another --out, or --overwrite to replace it"
        )


def remove(path: Path) -> None:
    """Delete a file, a link or a whole folder; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Make ``target`` the same file as ``source``, by a hard link; a copy where there can be none (another file system, say).

    For files that nobody writes into: whoever has something new puts another file in their place.
    """
    remove(target)  # a copy onto a link would write into what it is linked to
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


@contextmanager
def atomic_file(final: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary path beside ``final`` to write; move it into place only when the block succeeds.

    Raises:
        OutputExistsError: ``final`` exists and ``overwrite`` is false.
        StorageError: the file system refused.
    """
    final = Path(final)
    refuse_existing(final, overwrite=overwrite)
    partial = final.with_name(f".{final.name}.partial-{uuid4().hex[:8]}")
    with storage_errors(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            with open(partial, "rb") as handle:
                os.fsync(handle.fileno())
            os.replace(partial, final)
        finally:
            remove(partial)


@contextmanager
def atomic_folder(final: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """As ``atomic_file``, for a folder: it appears under its final name whole or not at all."""
    final = Path(final)
    refuse_existing(final, overwrite=overwrite)
    partial = final.with_name(f".{final.name}.partial-{uuid4().hex[:8]}")
    with storage_errors(final):
        partial.mkdir(parents=True)
        try:
            yield partial
            if final.exists():
                retired = final.with_name(f".{final.name}.retired-{uuid4().hex[:8]}")
                os.replace(final, retired)
                os.replace(partial, final)
                remove(retired)
            else:
                os.replace(partial, final)
        except PositionBiasError as error:
            if str(partial) not in str(error):
                raise
            # the temporary name, which will be gone, tells the reader nothing
            raise type(error)(str(error).replace(str(partial), str(final))) from error
        finally:
            remove(partial)


def sha256_file(path: Path | str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


class _ZstdReader(io.RawIOBase):
    """Decompresses a zstd stream, and says so when it ends before its last frame does (the library's reader does not)."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._frame: Any = None
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressed:
            between_frames = self._frame is None or self._frame.eof
            data = (self._frame.unused_data if self._frame is not None and self._frame.eof else b"") or self._raw.read(1 << 16)
            if not data:
                if between_frames:
                    return 0
                raise EOFError("Compressed file ended before its last frame")
            if between_frames:
                import zstandard

                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._decompressed = memoryview(self._frame.decompress(data))
        count = min(len(buffer), len(self._decompressed))
        buffer[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def open_bytes(path: Path | str) -> IO[bytes]:
    """Open for reading, decompressed, plain, ``.gz`` or ``.zst`` told apart by the first bytes."""
    path = Path(path)
    try:
        raw: IO[bytes] = open(path, "rb")  # noqa: SIM115 (the caller closes what we return)
        magic = raw.read(4)
        raw.seek(0)
    except OSError as error:
        raise bad_input(path, wanted="a readable file", found=error.strerror or str(error), do="check the path") from error
    if magic[:2] == b"\x1f\x8b":
        raw.close()
        return gzip.open(path)  # type: ignore[return-value]
    if magic == b"\x28\xb5\x2f\xfd":
        raw = io.BufferedReader(_ZstdReader(raw), 1 << 16)
    return raw


def decompressed(stream: io.BufferedReader) -> IO[bytes]:
    """What a stream holds, decompressed where its first bytes say ``.gz`` or ``.zst``; it stays the caller's to close."""
    magic = stream.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_ZstdReader(stream), 1 << 16)
    return stream


def open_text(path: Path | str) -> IO[str]:
    """Open UTF-8 text for reading, plain, ``.gz`` or ``.zst``; read it under ``input_errors``.

    Raises:
        InputError: there is no such file, or it is a folder.
    """
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8", newline="\n")


@contextmanager
def input_errors(path: Path | str, *, wanted: str) -> Iterator[None]:
    """Turn what goes wrong while reading text from ``path`` (not UTF-8, a damaged or cut archive) into one clear line."""
    try:
        yield
    except UnicodeDecodeError as error:
        line, byte = _first_undecodable(path) or (None, error.object[error.start])
        raise bad_input(
            path, line=line, wanted=f"{wanted} in UTF-8", found=f"the byte 0x{byte:02x}, which is not", do="convert the file"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise bad_input(path, wanted=f"{wanted}, whole", found=str(error), do="fetch the file again") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "zstandard":  # known only where a .zst file was opened
            raise
        raise bad_input(path, wanted=f"{wanted}, whole", found=str(error), do="fetch the file again") from error


def _first_undecodable(path: Path | str) -> tuple[int, int] | None:
    """The first line that is not UTF-8, from 1, and its first bad byte; a decoder reads ahead and cannot tell."""
    with open_bytes(path) as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, line[error.start]
    return None


@contextmanager
def byte_writer(path: Path | str, *, compress: bool) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, gzipped with ``compress``: without name and time, so that content decides the bytes."""
    with open(path, "wb") as raw:
        if compress:
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield raw


def read_json(path: Path | str, *, what: str = "a JSON file") -> Any:
    """Read one JSON document.

    Raises:
        InputError: no such file, empty, not UTF-8, or not JSON (with the line where it breaks).
    """
    path = Path(path)
    with input_errors(path, wanted=what), open_text(path) as handle:
        text = handle.read()
    if not text.strip():
        raise bad_input(path, wanted=what, found="an empty file", do="check the path, or fetch it again")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise bad_input(
            path,
            line=error.lineno,
            wanted=what,
            found=f"{error.msg} at column {error.colno}",
            do="check that the file is complete, or fetch it again",
        ) from error
    except (RecursionError, ValueError) as error:
        # nested beyond Python's stack, or a number of thousands of digits
        raise bad_input(path, wanted=what, found=str(error), do="check the file") from error


def write_json(path: Path | str, value: Any, *, overwrite: bool = True) -> None:
    """Write one JSON document atomically: indented, keys as given, a newline at the end."""
    with atomic_file(path, overwrite=overwrite) as partial:
        partial.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
