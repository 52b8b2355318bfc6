"""Our own format of word vectors: safetensors, which holds no code and can be read at any offset.

    vectors  (n, dimension) float32
    words    (bytes,) uint8: the n words in UTF-8, joined by newlines

Its manifest is beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from positionbias.core.errors import bad_input
from positionbias.core.seal import verified
from positionbias.models.tensors import save_tensors
from positionbias.models.wanted_vectors import WantedVectors

_FIX = "distil the vectors again, or fetch the file again"
_BLOCK = 1 << 14  # rows read at a time
_LONGEST_HEADER = 100_000_000  # bytes; the format's own limit


def save_vectors(path: Path, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write words and their vectors ``(len(words), dim)``; the same input gives the same bytes.

    Raises:
        ValueError: the numbers of words and vectors differ, or a word cannot be in the list.
        StorageError: the file system refused.
    """
    if len(words) != len(vectors) or any("\n" in word for word in words):
        raise ValueError("as many words as vectors, none with a line break")
    listed = np.frombuffer(bytearray("\n".join(words).encode()), np.uint8)
    values = np.ascontiguousarray(vectors, np.float32)
    save_tensors(path, {"vectors": torch.from_numpy(values), "words": torch.from_numpy(listed)})


def is_vector_file(head: bytes) -> bool:
    """Return True if a file with this head is safetensors: a header length, and the header's first
    brace.
    """
    return (
        len(head) > 8 and head[8:9] == b"{" and struct.unpack("<Q", head[:8])[0] < _LONGEST_HEADER
    )


def collect_file(path: Path, wanted: WantedVectors) -> int:
    """Give ``wanted`` its words' vectors; return the number in the file.

    Raises:
        InputError: damaged, not a file of word vectors, of another width, or with a value that is
            not finite.
    """
    try:
        with safe_open(verified(path), framework="numpy") as tensors:
            shape = _checked_shape(path, tensors)
            if shape[1] != wanted.dimension:
                raise wanted.wrong_width(shape[1])
            words = _words(path, tensors.get_tensor("words"), shape[0])
            vectors = tensors.get_slice("vectors")
            for start in range(0, len(words), _BLOCK):
                # a slice beyond the end is refused
                block = vectors[start : min(start + _BLOCK, len(words))]
                for row, word in enumerate(words[start : start + _BLOCK]):
                    if (key := wanted.asks_for(word)) is not None:
                        wanted.give(key, block[row], record=start + row + 1)
    except SafetensorError as error:
        raise bad_input(
            path, wanted="a whole safetensors file", found=str(error).splitlines()[0], do=_FIX
        ) from error
    return shape[0]


def _checked_shape(path: Path, tensors: Any) -> tuple[int, int]:
    names = sorted(tensors.keys())
    if names != ["vectors", "words"]:
        found = f"{', '.join(names[:3])}{' …' * (len(names) > 3)}" or "no tensor"
        raise bad_input(
            path,
            wanted="word vectors (the tensors vectors and words)",
            found=found,
            do="check the path",
        )
    slices = {name: tensors.get_slice(name) for name in names}
    shapes = {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    ((shape, kind), (bytes_shape, bytes_kind)) = shapes["vectors"], shapes["words"]
    if len(shape) != 2 or kind != "F32" or len(bytes_shape) != 1 or bytes_kind != "U8":
        found = f"vectors {shape} {kind}, words {bytes_shape} {bytes_kind}"
        raise bad_input(
            path, wanted="vectors (n, dimension) F32 and words (bytes) U8", found=found, do=_FIX
        )
    return shape


def _words(path: Path, listed: np.ndarray, count: int) -> list[str]:
    try:
        text = listed.tobytes().decode()
    except UnicodeDecodeError as error:
        raise bad_input(
            path, wanted="words in UTF-8", found=f"a byte that is not: {error.reason}", do=_FIX
        ) from error
    words = text.split("\n") if text else []
    if len(words) != count:
        raise bad_input(
            path, wanted=f"{count:,} words for as many vectors", found=f"{len(words):,}", do=_FIX
        )
    return words
