"""Read vectors in ``.npy`` files as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError

import numpy as np

from positionbias.core.errors import bad_input
from positionbias.core.seal import verified
from positionbias.dense.nearest import Block


def mapped_array(path: Path) -> np.ndarray:
    """Map the array of a file; a header that claims more than the file holds allocates nothing, and
    objects are refused.

    Raises:
        ValueError, EOFError, OSError: no whole array.
    """
    try:
        return np.load(path, mmap_mode="r")
    except (SyntaxError, TokenError) as error:  # of Python's parser, with which numpy reads headers
        raise ValueError(f"a head that cannot be read ({error})") from error


def stored_blocks(paths: Sequence[Path | str], rows: int = 16_384) -> Iterator[Block]:
    """Yield blocks of vectors ``(n, dim)`` from ``.npy`` files, numbered from 0 through all files
    in order.

    They are read, not mapped, so that none of their pages stay in this process.

    Raises:
        InputError: not such a file, not of two dimensions and floats, or shorter than its header
            says.
    """
    first = 0
    for path in map(Path, paths):
        try:
            mapped = mapped_array(verified(path))
        except (OSError, ValueError, EOFError) as error:
            raise bad_input(
                path,
                wanted="vectors as .npy",
                found=str(error).splitlines()[0],
                do="save them again",
            ) from error
        if (
            not isinstance(mapped, np.memmap)
            or mapped.ndim != 2
            or mapped.dtype.kind != "f"
            or not mapped.flags.c_contiguous
        ):
            found = (
                f"{mapped.dtype} of shape {mapped.shape}"
                if isinstance(mapped, np.ndarray)
                else "an archive"
            )
            raise bad_input(
                path,
                wanted="vectors as .npy, (n, dim) of floats, row by row",
                found=found,
                do="save them again",
            )
        (count, dimension), dtype, offset = mapped.shape, mapped.dtype, mapped.offset
        del mapped
        with open(path, "rb") as handle:
            handle.seek(offset)
            for start in range(0, count, rows):
                size = min(rows, count - start)
                vectors = np.fromfile(handle, dtype, size * dimension).reshape(size, dimension)
                yield np.arange(first + start, first + start + size), vectors
        first += count
