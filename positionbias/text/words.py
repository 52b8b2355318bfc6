"""Words with their character offsets: BlingFire's (the paper's) and whitespace's.

BlingFire is called through its C function, which gives byte offsets; slicing by offsets keeps every character.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

__all__ = ["WORD_METHODS", "WordMethod", "sentence_starts", "tokenize", "word_spans", "words_function"]

WordMethod = Literal["blingfire", "whitespace"]
WORD_METHODS: tuple[WordMethod, ...] = ("blingfire", "whitespace")
_KEPT = 1 << 18  # room that stays for the next call, in bytes of output; a rare long text's does not
_WHITESPACE_WORD = re.compile(r"\S+")


def words_function() -> Callable[..., int]:
    """BlingFire's C function, to be called with addresses as integers: text, its length in bytes, output, starts, inclusive ends, room.

    It returns the length of the output, with words parted by one space and a final NUL; starts and ends are in bytes. Output and both
    int32 arrays must hold ``room`` elements, three times the text's bytes and 16 more.
    """
    return _function("TextToWordsWithOffsets")


def _function(name: str) -> Callable[..., int]:
    import blingfire

    # a prototype of its own: the library's shared function object stays as it is; keeping the interpreter's lock makes calls cheaper
    pointer, number = ctypes.c_void_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(number, pointer, number, pointer, pointer, pointer, number)
    return prototype((name, blingfire.blingfire))


class _Buffers(threading.local):
    """What BlingFire writes into, kept from call to call (making it costs more than most calls), for each thread its own."""

    def __init__(self) -> None:
        self.functions = {name: _function(name) for name in ("TextToWordsWithOffsets", "TextToSentencesWithOffsets")}
        self.room = 0

    def call(self, name: str, data: bytes, separator: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Byte starts and inclusive ends of the pieces, int32; copies are the caller's to take."""
        room = len(data) * 3 + 16
        if room > self.room or room <= _KEPT < self.room:
            self.room = max(room, 1 << 12)
            self.output = bytearray(self.room)
            # the C function may write one offset for each byte of output it has room for, not one a piece
            self.starts, self.ends = np.empty(self.room, np.int32), np.empty(self.room, np.int32)
            self.places = (np.frombuffer(self.output, np.uint8).ctypes.data, self.starts.ctypes.data, self.ends.ctypes.data)
        length = self.functions[name](data, len(data), *self.places, room)
        pieces = self.output.count(separator, 0, length - 1) + 1 if 1 < length <= room else 0
        return self.starts[:pieces], self.ends[:pieces]


@lru_cache(maxsize=1)
def _buffers() -> _Buffers:
    return _Buffers()


def _spans(name: str, separator: bytes, text: str) -> list[tuple[int, int]]:
    data = text.encode("utf-8", "replace")
    starts, ends = _buffers().call(name, data, separator)
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
