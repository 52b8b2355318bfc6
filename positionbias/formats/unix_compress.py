"""Files made by Unix ``compress`` (LZW, ``.Z`` or ``.z``), as on TREC's discs, through the ``ncompress`` package."""

from __future__ import annotations

import tempfile
from typing import IO, cast

from positionbias.core.errors import bad_input

__all__ = ["MAGIC", "open_lzw"]

MAGIC = b"\x1f\x9d"
_IN_MEMORY = 64 << 20


def open_lzw(stream: IO[bytes], source: str) -> IO[bytes]:
    """The decompressed content of ``stream``, from its start; beyond 64 MB it stands in a temporary file.

    The form has no length and no checksum: a file that was cut is noticed by what it holds.

    Raises:
        InputError: not in this form, or damaged.
    """
    import ncompress

    plain = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the caller reads and closes it)
    try:
        ncompress.decompress(stream, plain)
    except (ValueError, RuntimeError) as error:
        plain.close()
        found = str(error).partition(" - ")[0].partition("\n")[0]
        raise bad_input(source, wanted="a file made by Unix compress", found=found, do="fetch the file again") from None
    plain.seek(0)
    return cast(IO[bytes], plain)
