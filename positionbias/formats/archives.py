"""Tar archives and nested compression as streams; nothing is unpacked to disk."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from positionbias.core.errors import bad_input
from positionbias.core.files import decompressed, input_errors
from positionbias.formats.unix_compress import MAGIC as LZW
from positionbias.formats.unix_compress import open_lzw

_HEAD_BYTES = 1 << 12
_DEEPEST = 6  # layers of archives and compressions [decision]
_READ = 1 << 16
_TAR_BUFFER = 1 << 20
_EXTENDED = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)  # headers that the library reads whole
_LONGEST_HEADER = 1 << 20
_ENDINGS = (".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.z")


def _is_compressed(head: bytes) -> bool:
    return head[:2] in (LZW, b"\x1f\x8b") or head[:4] == b"\x28\xb5\x2f\xfd"


def _is_tar(head: bytes, name: str) -> bool:
    # the oldest tar format has no signature: go by the name
    return head[257:262] == b"ustar" or (
        name.lower().endswith(_ENDINGS) and len(head) >= tarfile.BLOCKSIZE
    )


def streams_in(
    stream: IO[bytes], source: str, depth: int = 0
) -> Iterator[tuple[str, bytes, IO[bytes]]]:
    """Yield each plain file in ``stream``: its place ("ARCHIVE:MEMBER"), its first 4 KB, and its
    stream. Read each before the next.

    ``.gz``, ``.zst``, ``.z`` and tar are identified by content and may be nested.

    Raises:
        InputError: a damaged or truncated archive, or more than 6 layers of packing.
    """
    if depth > _DEEPEST:
        raise bad_input(
            source,
            wanted=f"at most {_DEEPEST} layers of packing",
            found="more",
            do="unpack it first",
        )
    with archive_errors(source):
        head = stream.read(_HEAD_BYTES)
        whole: io.BufferedReader = io.BufferedReader(_Joined(head, stream, source), _READ)
        if head[:2] == LZW:
            with open_lzw(whole, source) as plain:
                yield from streams_in(plain, source, depth + 1)
        elif _is_compressed(head):
            yield from streams_in(decompressed(whole, source), source, depth + 1)
        elif _is_tar(head, source):
            for name, member in tar_files(whole, source):
                yield from streams_in(member, f"{source}:{name}", depth + 1)
        else:
            yield source, head, whole


class _Joined(io.RawIOBase):
    """A stream whose first bytes were already read; reading errors become one clear line."""

    def __init__(self, head: bytes, rest: IO[bytes], source: str) -> None:
        self._head, self._rest, self._source = head, rest, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        if not data:
            with archive_errors(self._source):
                data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Member(tarfile.TarInfo):
    """A member's header. Unlike tarfile's own, a broken header is an error, and a long one is not
    kept in memory.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _EXTENDED and member.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {member.size:,} bytes")
        return member

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # the proper end: a block of zeros
                raise
            raise tarfile.ReadError(str(error)) from error


def tar_files(stream: IO[bytes], source: Path | str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the names and files of a tar archive, without folders and links, to be read in order
    under ``archive_errors``.
    """
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member, bufsize=_TAR_BUFFER) as archive:
        for info in archive:
            # the library keeps every header it has seen
            archive.members.clear()  # type: ignore[attr-defined]
            if info.issparse():  # a few bytes may stand for terabytes of zeros
                name = info.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                raise bad_input(
                    source,
                    wanted="files without holes",
                    found=f"{name!r}, a sparse one",
                    do="unpack it first",
                )
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None:
                yield (
                    info.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
                    member,
                )
    while stream.read(_TAR_BUFFER):  # to the end, where the compression's checksum stands
        pass


@contextmanager
def archive_errors(
    source: Path | str, *, wanted: str = "a compressed file or archive"
) -> Iterator[None]:
    """Turn errors while reading an archive into one clear line."""
    try:
        with input_errors(source, wanted=wanted):
            yield
    except (tarfile.TarError, ValueError, OverflowError) as error:
        found = " ".join(str(error).split()) or type(error).__name__
        raise bad_input(
            source, wanted="a complete tar archive", found=found, do="fetch the file again"
        ) from error
