"""Read files of Unix ``compress`` (LZW, ``.Z`` or ``.z``), as on TREC's discs, with the
``ncompress`` package.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TypeVar, cast

import ncompress

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import check_ratio

T = TypeVar("T")
MAGIC = b"\x1f\x9d"
_IN_MEMORY = 64 << 20


@dataclass(slots=True)
class _Counted:
    """A stream that counts the bytes read."""

    stream: IO[bytes]
    count: int = 0

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.count += len(data)
        return data


@dataclass(slots=True)
class _Unpacked:
    """An output for the unpacked content that enforces the ratio budget."""

    plain: IO[bytes]
    packed: _Counted
    source: str
    count: int = 0

    def write(self, data: bytes) -> int:
        self.count += len(data)
        check_ratio(self.source, self.packed.count, self.count)
        return self.plain.write(data)


def with_own_stack(work: Callable[[], T]) -> T:
    """Do ``work`` in a thread of its own.

    ncompress puts its tables on the stack, 0.7 MB. A Java machine in this process, as of Lucene,
    leaves the main thread's stack about 1 MB, and what goes beyond ends the process.
    """
    with ThreadPoolExecutor(1, "own stack") as thread:
        return thread.submit(work).result()


def open_lzw(stream: IO[bytes], source: str) -> IO[bytes]:
    """Decompress ``stream``; beyond 64 MB the content goes to a temporary file.

    The format has no length and no checksum, so only the content can show that a file was
    truncated.

    Raises:
        InputError: not in this form, damaged, or over the ratio budget.
    """
    # the caller reads and closes it
    plain = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    try:
        packed = _Counted(stream)
        with_own_stack(lambda: ncompress.decompress(packed, _Unpacked(plain, packed, source)))
    except InputError:
        plain.close()
        raise
    except (ValueError, RuntimeError) as error:
        plain.close()
        found = str(error).partition(" - ")[0].partition("\n")[0]
        raise bad_input(
            source, wanted="a file made by Unix compress", found=found, do="fetch the file again"
        ) from None
    plain.seek(0)
    return cast(IO[bytes], plain)
