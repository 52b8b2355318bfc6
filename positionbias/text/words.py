"""Words with their character offsets: BlingFire's (the paper's) and whitespace's.

BlingFire is called through its C function, which gives byte offsets; slicing by offsets keeps every character.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

__all__ = ["WORD_METHODS", "WordMethod", "sentence_starts", "tokenize", "word_spans", "words_function"]

WordMethod = Literal["blingfire", "whitespace"]
WORD_METHODS: tuple[WordMethod, ...] = ("blingfire", "whitespace")
_WHITESPACE_WORD = re.compile(r"\S+")


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    import blingfire

    library = blingfire.blingfire
    for name in ("TextToWordsWithOffsets", "TextToSentencesWithOffsets"):
        getattr(library, name).restype = ctypes.c_int
    return library


def words_function() -> Callable[..., int]:
    """BlingFire's C function, to be called with addresses as integers: text, its length in bytes, output, starts, inclusive ends, room.

    It returns the length of the output, with words parted by one space and a final NUL; starts and ends are in bytes. Output and both
    int32 arrays must hold ``room`` elements, three times the text's bytes and 16 more.
    """
    # a prototype of its own: the library's shared function object stays as it is; keeping the interpreter's lock makes calls cheaper
    pointer, number = ctypes.c_void_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(number, pointer, number, pointer, pointer, pointer, number)
    return prototype(("TextToWordsWithOffsets", _library()))


def _call(name: str, data: bytes) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Call one of BlingFire's functions: the joined output, and byte starts and inclusive ends of its pieces."""
    function = getattr(_library(), name)
    room = len(data) * 3 + 16
    output = ctypes.create_string_buffer(room)
    # the C function may write one offset for each byte of output it has room for, not one a piece
    starts, ends = np.empty(room, np.int32), np.empty(room, np.int32)
    as_pointer = ctypes.POINTER(ctypes.c_int)
    length = function(
        ctypes.c_char_p(data),
        ctypes.c_int(len(data)),
        ctypes.byref(output),
        starts.ctypes.data_as(as_pointer),
        ends.ctypes.data_as(as_pointer),
        ctypes.c_int(room),
    )
    if length <= 0 or length > room:
        return b"", starts[:0], ends[:0]
    return output.raw[: length - 1], starts, ends


def _spans(name: str, separator: bytes, text: str) -> list[tuple[int, int]]:
    data = text.encode("utf-8", "replace")
    joined, starts, ends = _call(name, data)
    count = joined.count(separator) + 1 if joined else 0
    starts, ends = starts[:count], ends[:count]
    if len(data) != len(text):
        # the character index of each byte: how many characters have begun by then, less one
        characters = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80) - 1
        starts, ends = characters[starts], characters[ends]
    return list(zip(starts.tolist(), (ends + 1).tolist(), strict=True))


def word_spans(text: str, method: WordMethod = "blingfire") -> list[tuple[int, int]]:
    """The character span ``[start, end)`` of every word, in order, never overlapping.

    >>> word_spans("Hello, world!")
    [(0, 5), (5, 6), (7, 12), (12, 13)]
    >>> word_spans("Hello, world!", "whitespace")
    [(0, 6), (7, 13)]
    """
    if method == "whitespace":
        return [match.span() for match in _WHITESPACE_WORD.finditer(text)]
    return _spans("TextToWordsWithOffsets", b" ", text) if text.strip() else []


def sentence_starts(text: str) -> list[int]:
    """The character offset at which each of BlingFire's sentences begins."""
    return [start for start, _ in _spans("TextToSentencesWithOffsets", b"\n", text)] if text.strip() else []


def tokenize(text: str, method: WordMethod = "blingfire") -> list[str]:
    """The words themselves, case kept, as slices of the text."""
    return [text[start:end] for start, end in word_spans(text, method)]
