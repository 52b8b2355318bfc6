"""A stream of a file of word vectors: plain, ``.gz``, ``.zst``, or a member of a ``.zip``, never
unpacked.
"""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from positionbias.core.errors import bad_input
from positionbias.core.files import check_ratio, input_errors, open_bytes

_BUFFER = 1 << 20
_WANTED = "a zip of one file of word vectors"


@contextmanager
def open_vectors(path: Path, dimension: int) -> Iterator[BinaryIO]:
    """Open a file of vectors, decompressed; in a zip of several files, the one named for
    ``dimension``.

    Raises:
        InputError: no such file, a damaged archive (also during reading), or a zip in which the
            file is ambiguous.
    """
    with input_errors(path, wanted="word vectors"), _zip_errors(path):
        with open_bytes(path) as raw:
            zipped = raw.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
        if zipped:
            with zipfile.ZipFile(path) as archive:
                chosen = _member(path, archive, dimension)
                check_ratio(path, chosen.compress_size, chosen.file_size)
                with archive.open(chosen) as member:
                    yield _buffered(member)
        else:
            with open_bytes(path) as raw:
                yield _buffered(raw)


def _buffered(raw: IO[bytes]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, _BUFFER))  # type: ignore[type-var]


def _member(path: Path, archive: zipfile.ZipFile, dimension: int) -> zipfile.ZipInfo:
    """Return the only file, or the only text, or the one with the dimension in its name (GloVe's:
    ``glove.6B.300d.txt``).
    """
    files = [
        item
        for item in archive.infolist()
        if not item.is_dir() and not item.filename.startswith("__MACOSX/")
    ]
    texts = [item for item in files if item.filename.lower().endswith((".txt", ".vec"))]
    named = [item for item in texts or files if f".{dimension}d." in item.filename]
    for choice in (files, texts, named):
        if len(choice) == 1:
            if choice[0].flag_bits & 1:
                raise bad_input(
                    path,
                    wanted=_WANTED,
                    found="one under a password",
                    do="unpack it, and give the file",
                )
            return choice[0]
    shown = ", ".join(item.filename for item in files[:5]) + " …" * (len(files) > 5)
    raise bad_input(
        path,
        wanted=_WANTED,
        found=shown or "no file in it",
        do="unpack it, and give the file that you want",
    )


@contextmanager
def _zip_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        lzma.LZMAError,
        zlib.error,
        EOFError,
    ) as error:
        raise bad_input(
            path,
            wanted="word vectors, whole",
            found=str(error) or "an early end",
            do="fetch the file again",
        ) from error
