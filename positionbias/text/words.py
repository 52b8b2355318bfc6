"""Split texts into words with character offsets: by BlingFire (the paper's), by rules that run on
any machine, or by white space.

BlingFire is called through its C function, which gives byte offsets; slicing by offsets keeps every
character. Where its library cannot be loaded, our rules over Unicode letters, digits and marks
take its place (``text.splitter``). Whichever splits, a word in a script without spaces is split
further into clusters (``text.clusters``).

Sentences end where BlingFire (or our rules) ends them; also behind the marks of other scripts
(``_MARKS``), and in a text without any upper-case letter behind [.!?] and a space, where BlingFire
waits for a capital [decision].
"""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from positionbias.core.errors import DependencyError
from positionbias.text.clusters import has_unspaced, split_unspaced
from positionbias.text.splitter import USUAL_WORDS, load_blingfire

if TYPE_CHECKING:
    import numpy as np
WordMethod = Literal["blingfire", "unicode", "whitespace"]
WORD_METHODS: tuple[WordMethod, ...] = ("blingfire", "unicode", "whitespace")
WORDS_HELP = (
    "What a word is. BlingFire runs on x86-64 alone, our rules over Unicode's letters anywhere. "
    "White space never parts a word from its punctuation, and is faster."
)
_KEPT = 1 << 18  # bytes of output buffer kept for the next call; rare larger ones are freed
_PIECE = 1 << 18  # bytes of a long text that are split into sentences at once
_CAPITAL = re.compile(rb"[A-Z]")
_NOT_BLANK = re.compile(rb"[!-~]")  # in nearly every text that has words
_SURROGATE = re.compile("[\ud800-\udfff]")  # BlingFire is given a question mark instead
_WHITESPACE_WORD = re.compile(r"\S+")
_MARKS = "。！？｡।॥።؟۔։។៕။།༎"
_MARK = re.compile("|".join(_MARKS).encode())
_CLOSING = "[\"'”’»)\\]」』）】》〉〕]*"
_MARKED = re.compile(rf"[{_MARKS}]+{_CLOSING}\s*")  # ends a sentence, whatever follows
_STOPPED = re.compile(rf"[.!?]+{_CLOSING}\s+")  # ends one too in a text without capitals


def words_function() -> Callable[..., int]:
    """Return BlingFire's C function, called with addresses as integers: text, its length in bytes,
    output, starts, inclusive ends, room.

    It returns the length of the output, words separated by one space with a final NUL; starts and
    ends are in bytes. Output and both int32 arrays must hold ``room`` elements, three times the
    text's bytes and 16 more.

    Raises:
        DependencyError: BlingFire's library cannot be loaded here.
    """
    return _function("TextToWordsWithOffsets")


def _function(name: str) -> Callable[..., int]:
    library = load_blingfire()
    if isinstance(library, str):
        raise DependencyError(
            "--words blingfire: wanted BlingFire's library, which is made for x86-64; found that "
            f"it cannot be loaded here ({library}); give --words unicode"
        )
    # a separate prototype leaves the library's shared function object alone; keeping the
    # interpreter's lock makes calls cheaper
    pointer, number = ctypes.c_void_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(number, pointer, number, pointer, pointer, pointer, number)
    return prototype((name, library))


class _Buffers(threading.local):
    """BlingFire's output buffers, one set a thread, reused because making them costs more than most
    calls.
    """

    def __init__(self) -> None:
        self.functions = {
            name: _function(name)
            for name in ("TextToWordsWithOffsets", "TextToSentencesWithOffsets")
        }
        self.room = 0

    def call(
        self, name: str, data: bytes, separator: bytes
    ) -> tuple[bytes, np.ndarray, np.ndarray]:
        """Return the joined pieces, and the byte starts and inclusive ends of each, int32, which
        the next call overwrites.
        """
        room = len(data) * 3 + 16
        if room > self.room or room <= _KEPT < self.room:
            np = _numpy()
            self.room = max(room, 1 << 12)
            self.output = bytearray(self.room)
            # the C function may write one offset per byte of output room, not one a piece
            self.starts, self.ends = np.empty(self.room, np.int32), np.empty(self.room, np.int32)
            self.places = (
                np.frombuffer(self.output, np.uint8).ctypes.data,
                self.starts.ctypes.data,
                self.ends.ctypes.data,
            )
        length = self.functions[name](data, len(data), *self.places, room)
        joined = bytes(self.output[: length - 1]) if 1 < length <= room else b""
        pieces = joined.count(separator) + 1 if joined else 0
        return joined, self.starts[:pieces], self.ends[:pieces]


@lru_cache(maxsize=1)
def _buffers() -> _Buffers:
    return _Buffers()


class Words(NamedTuple):
    """The words of a text, and the character offsets ``[start, end)`` of each."""

    words: list[str]
    starts: list[int]
    ends: list[int]


def split_words(text: str, method: WordMethod = USUAL_WORDS) -> Words:
    """Split a text into words, case kept, in order, never overlapping: ``word_spans`` and
    ``tokenize`` at once.

    >>> split_words("Hello, world!")
    Words(words=['Hello', ',', 'world', '!'], starts=[0, 5, 7, 12], ends=[5, 6, 12, 13])
    """
    if method != "blingfire" or has_unspaced(text):
        spans = word_spans(text, method)
        return Words(
            [text[start:end] for start, end in spans],
            [start for start, _ in spans],
            [end for _, end in spans],
        )
    if not text.strip():
        return Words([], [], [])
    joined, starts, ends = _words(text)
    words = joined.decode().split(" ") if joined else []
    if text.isascii() or not _SURROGATE.search(text):
        return Words(words, starts, ends)
    return Words([text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends)


def _numpy() -> Any:
    """Return numpy, which texts in ASCII never need."""
    import numpy

    return numpy


def _words(text: str) -> tuple[bytes, list[int], list[int]]:
    """Return BlingFire's words, joined by spaces, and the character starts and ends of each."""
    data = text.encode("utf-8", "replace")
    joined, starts, ends = _buffers().call("TextToWordsWithOffsets", data, b" ")
    if len(data) != len(text):
        np = _numpy()
        # number of continuation bytes up to each position
        inside = np.cumsum(np.frombuffer(data, np.int8) < -64)
        starts, ends = starts - inside[starts], ends - inside[ends]
    return joined, starts.tolist(), (ends + 1).tolist()


def word_spans(text: str, method: WordMethod = USUAL_WORDS) -> list[tuple[int, int]]:
    """Return the character span ``[start, end)`` of every word, in order, never overlapping.

    >>> word_spans("Hello, world!")
    [(0, 5), (5, 6), (7, 12), (12, 13)]
    >>> word_spans("Hello, world!", "whitespace")
    [(0, 6), (7, 13)]
    """
    if method == "whitespace":
        spans = [match.span() for match in _WHITESPACE_WORD.finditer(text)]
    elif method == "unicode":
        spans = unicode_word_spans(text)
    else:
        _, starts, ends = _words(text) if text.strip() else ("", [], [])
        spans = list(zip(starts, ends, strict=True))
    return split_unspaced(text, spans) if has_unspaced(text) else spans


def word_count(text: str) -> int:
    """Count a text's words by the usual splitter; of BlingFire's that is cheaper than their
    spans.
    """
    if USUAL_WORDS == "unicode" or has_unspaced(text):
        return len(word_spans(text))
    return (
        len(_buffers().call("TextToWordsWithOffsets", text.encode("utf-8", "replace"), b" ")[1])
        if text.strip()
        else 0
    )


def sentence_starts(text: str) -> list[int]:
    """Return the character offset of each sentence, by BlingFire where it can be loaded.

    >>> (
    ...     sentence_starts("one came. two left."),
    ...     sentence_starts("今天。明天！"),
    ...     sentence_starts("वह आया। वह गया।"),
    ... )
    ([0, 10], [0, 3], [0, 8])
    """
    if USUAL_WORDS == "unicode":
        starts = unicode_sentence_starts(text)
    else:
        data = text.encode("utf-8", "replace")
        starts = list(_blingfire_places(data))
        if len(data) != len(text):
            np = _numpy()
            inside = np.frombuffer(data, np.int8) < -64  # continuation bytes
            before = np.cumsum(np.add.reduceat(inside, [0, *starts], dtype=np.int64))
            starts = [
                start - skipped for start, skipped in zip(starts, before.tolist(), strict=False)
            ]
    marked = [] if text.isascii() else [match.span() for match in _MARKED.finditer(text)]
    stopped = [match.span() for match in _STOPPED.finditer(text)] if text == text.lower() else []
    if not (ends := marked + stopped):
        return starts
    # BlingFire parts a mark from the bracket behind it
    in_mark = {at for start, end in ends for at in range(start + 1, end)}
    return sorted(
        {at for at in starts if at not in in_mark} | {end for _, end in ends if end < len(text)}
    )


def sentence_places(data: bytes, size: int = _PIECE) -> Iterator[int]:
    """Yield the byte offset of each sentence of a UTF-8 text, as ``sentence_starts`` does; a blank
    text has none.

    A long text is split in pieces of about ``size`` bytes, as BlingFire takes 50 bytes of memory
    for each byte of a call.

    A sentence's bounds depend on what stands near them, so pieces overlap by four sentences, and
    the last two of a piece are left to the next.
    """
    if USUAL_WORDS == "unicode" or not _CAPITAL.search(data) or _MARK.search(data):
        text = data.decode()
        yield from byte_offsets(text, sentence_starts(text))
    else:
        yield from _blingfire_places(data, size)


def _blingfire_places(data: bytes, size: int = _PIECE) -> Iterator[int]:
    if not _NOT_BLANK.search(data) and not data.decode().strip():
        return
    at, taken, done = 0, size, -1
    while at < len(data):
        end = at + taken
        while end < len(data) and data[end] & 0xC0 == 0x80:  # inside a character
            end += 1
        _, starts, _ = _buffers().call("TextToSentencesWithOffsets", data[at:end], b"\n")
        found = (starts + at).tolist()
        known = found if end >= len(data) else found[:-2]
        yield from (start for start in known if start > done)
        if end >= len(data):
            return
        done = max([done, *known[-1:]])
        at, taken = (found[-6], size) if len(found) > 6 else (at, 2 * taken)


def byte_offsets(text: str, offsets: list[int]) -> list[int]:
    """Return the places of rising character offsets in the text's UTF-8.

    >>> byte_offsets("é b", [0, 2])
    [0, 3]
    """
    if text.isascii():
        return offsets
    edges = pairwise([0, *offsets])
    return list(accumulate(len(text[start:end].encode()) for start, end in edges))


def tokenize(text: str, method: WordMethod = USUAL_WORDS) -> list[str]:
    """Return the words as slices of the text, case kept."""
    return [text[start:end] for start, end in word_spans(text, method)]


# -- our rules over Unicode ------------------------------------------------------------------------

# They follow BlingFire's published ones where they are short [decision]: marks of punctuation are
# words, "U.S." and "3.5" are one, and English clitics ("'s", "n't") are split off. A change of the
# rules changes their version in ``core.manifest``.

_LETTER = r"[^\W\d_]"
_APOSTROPHE = "['’]"
_ENDS = ".!?…。！？"
_QUOTES = "\"'”’»)\\]"
_OPENING = "\"'“‘«(\\["
_NOTE = r":\d[\d,–-]*|\[citation needed\]"  # a reference after the dot
_ABBREVIATIONS = (  # after which a sentence goes on; lower case, without the dot
    "adm|apr|aug|ave|brig|bros|capt|cf|co|col|corp|dec|dept|dr|etc|feb|fig|figs|ft|gen|gov|hon|inc|"
    "jan|jr|jul|jun|lt|ltd|maj|mar|messrs|mr|mrs|ms|mt|no|nos|nov|oct|op|pp|prof|rep|rev|sen|sep|"
    "sept|sgt|sr|st|ste|viz|vol|vols|vs"
)
_BREAK = re.compile(
    rf"(?P<end>[{_ENDS}]+[{_QUOTES}]*)(?:{_NOTE})*(?:\s+(?=[{_OPENING}]*(?P<next>\S))|\s*\Z)|"
    rf"\n\s*\n\s*|(?P<wide>[。！？]+[{_QUOTES}]*)"
)
_GOES_ON = re.compile(
    rf"(?:(?<!\w)(?:{_ABBREVIATIONS})|(?<![^\W_]){_LETTER}|(?<!\w)(?:{_LETTER}\.)+{_LETTER})\Z",
    re.IGNORECASE,
)
_LONGEST = 24  # characters before a dot that are looked at


@cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word; made where it is first used, as finding Unicode's marks takes a
    tenth of a second.
    """
    inside = rf"[\w{_marks()}\u200d]"
    return re.compile(
        rf"""
        (?:{_LETTER}\.){{2,}}(?!\w)              # U.S.
        | (?<!\w)\.\w+                           # .907
        | \w(?:\.\w)+(?!\w)                      # a.b.c
        | \d+(?:,\d{{3}})+(?:\.\d+)?(?!\w)       # 1,000.5
        | \d+(?:\.\d+)+\w*                       # 3.5, 2.4m
        | [A-Z]+&[A-Z]+\w*                       # R&D
        | (?<!{_APOSTROPHE})\b[DdLlOo]{_APOSTROPHE}(?={_LETTER}{{2}})   # O'Neill
        | (?i:can)(?=(?i:not)\b)
        | {inside}+?(?=[nN]{_APOSTROPHE}[tT]\b)        # does|n't
        | (?<=\w){_APOSTROPHE}(?i:s|d|ll|re|ve)\b
        | [nN]{_APOSTROPHE}[tT]\b
        | {_LETTER}\w*\++(?!\w)                  # C++
        | {inside}+
        | [^\s\x00-\x1f\x7f\u00ad\u200b-\u200f\u2060\ufeff]
        """,
        re.VERBOSE,
    )


def _marks() -> str:
    """Return the characters that belong to the letter before them, as ranges of a character
    class.
    """
    found = [
        number
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number))[0] == "M"
    ]
    firsts = [
        number for number, before in zip(found, [-1, *found], strict=False) if number != before + 1
    ]
    lasts = [
        number for number, after in zip(found, [*found[1:], -1], strict=True) if number + 1 != after
    ]
    return "".join(
        f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts, lasts, strict=True)
    )


def unicode_word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character span ``[start, end)`` of every word, in order, never overlapping.

    >>> text = "The U.S. doesn't pay 3.5%."
    >>> [text[start:end] for start, end in unicode_word_spans(text)]
    ['The', 'U.S.', 'does', "n't", 'pay', '3.5', '%', '.']
    """
    return [match.span() for match in _word_pattern().finditer(text)]


def unicode_sentence_starts(text: str) -> list[int]:
    """Return the character offset of each sentence.

    >>> unicode_sentence_starts("Dr. Hart came. J. A. Hobson left!  Why?")
    [0, 15, 35]
    """
    starts = [len(text) - len(text.lstrip())]
    starts.extend(match.end() for match in _BREAK.finditer(text) if _ends(text, match))
    return [start for start in starts if start < len(text)]


def _ends(text: str, match: re.Match[str]) -> bool:
    """Return True if a sentence ends here: not after an abbreviation or an initial, nor before a
    small letter.
    """
    end, following = match["end"], match["next"]
    if end is None or following is None:
        return True
    if following.islower():
        return False
    return not (
        end == "." and _GOES_ON.search(text[max(0, match.start() - _LONGEST) : match.start()])
    )
