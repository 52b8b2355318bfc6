"""Find the cuts of many passages in bulk: those of ``positions.rotate``, in bytes, over a block of
UTF-8.

White-space words are found by array operations over the whole block. BlingFire's C function, which
takes nearly all of the time, is called once for several passages where that gives the same words as
separate calls. Our own rules run passage by passage, and so does what a passage in a script without
spaces takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import below_many, keys64
from positionbias.positions.rotate import PURPOSE, Rotation, draw_cut
from positionbias.text.clusters import unspaced_characters
from positionbias.text.words import (
    WordMethod,
    byte_offsets,
    sentence_places,
    word_spans,
    words_function,
)

# fates of a passage
ROTATED, DRAWN_AS_IT_WAS, WORDLESS = "rotated", "drawn_as_it_was", "without_words"
ONE_WORD = "one_word"
ONE_SENTENCE = "without_inner_sentence_boundary"

# bytes of text at a time whose arrays fit in the processor's cache: for array operations, of which
# few and long ones let threads work side by side, and for one call of BlingFire
_PORTION, _CALL = 1 << 21, 1 << 14
_PIECE = 1 << 18  # bytes of a long passage per call: BlingFire's buffers take 40 bytes per byte
_PARTING = np.isin(np.arange(256), [ord(" "), ord("\t"), ord("\n"), ord("\r")])
_SPACE, _DOT = 0x20, 0x2E
# possible characters after a final abbreviation: white space, quotes and, to be safe, control
# characters
_TRAILING = np.isin(np.arange(256), [*range(0x21), 0x7F, ord("'"), ord('"')])


class Cuts(NamedTuple):
    """The cut of each of n passages, in bytes from its start (0: none), and its number of words or
    sentences, each (n,) int64.
    """

    offsets: np.ndarray
    units: np.ndarray


def byte_cuts(
    data: bytes,
    starts: np.ndarray,
    ends: np.ndarray,
    passage_ids: Sequence[bytes],
    rotation: Rotation,
) -> Cuts:
    """Return the cuts of the UTF-8 passages ``data[start:end]``, at the same places as
    ``Rotation.cut`` gives in characters.

    ``starts`` and ``ends`` are (n,) int64, increasing and not overlapping; ``passage_ids`` are the
    n ids in UTF-8.
    """
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if rotation.mode == "sentences":
        return _by_sentences(data, starts, ends, passage_ids, rotation)
    draws = keys64(rotation.seed, PURPOSE, passage_ids)
    parts = (
        list(_CUTS[rotation.words](data, starts, ends, draws, passage_ids, rotation))
        if len(starts)
        else []
    )
    if not parts:
        return Cuts(np.empty(0, np.int64), np.empty(0, np.int64))
    return Cuts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def laid_out(texts: Sequence[bytes]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Join texts into one block and return it with their starts and ends, each (n,) int64. Newlines
    separate them, so that BlingFire can split neighbours in one call."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = np.cumsum(sizes + 1) - (sizes + 1)
    return b"\n".join(texts), starts, starts + sizes


def _portions(starts: np.ndarray, ends: np.ndarray, size: int) -> Iterator[tuple[int, int]]:
    """Yield index ranges of consecutive passages of about ``size`` bytes."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + size))
        last = min(max(last, first + 1), len(starts))
        yield first, last
        first = last


class _Words(NamedTuple):
    """The words of n passages: the count of each, the number of its first word, the places of all
    words, and what to take from a place to have it from the passage's start.
    """

    units: np.ndarray
    first: np.ndarray
    places: np.ndarray | _Marks
    origin: np.ndarray


class _Marks:
    """Places that are marked in a mask, kept as bits. They are numbered from 0, counted and looked
    up without listing them, as only one word of a passage is asked for.
    """

    def __init__(self, mask: np.ndarray) -> None:
        packed = np.packbits(mask, bitorder="little")
        padding = np.zeros(16 - len(packed) % 8, np.uint8)  # so that the end is within a number
        self._bits = np.concatenate([packed, padding]).view("<u8")
        counts = np.cumsum(np.bitwise_count(self._bits), dtype=np.int64)
        self._before = np.concatenate([[0], counts])  # how many are marked before each number

    def __len__(self) -> int:
        return int(self._before[-1])

    def count_before(self, places: np.ndarray) -> np.ndarray:
        """Return how many marks are before these places."""
        number, bit = np.divmod(places, 64)
        lower = self._bits[number] & ((np.uint64(1) << bit.astype(np.uint64)) - np.uint64(1))
        return self._before[number] + np.bitwise_count(lower)

    def __getitem__(self, marks: np.ndarray) -> np.ndarray:
        """Return the places of these marks."""
        number = np.searchsorted(self._before, marks, side="right") - 1
        bits, left = self._bits[number], marks - self._before[number]
        places = 64 * number
        for width in (32, 16, 8, 4, 2, 1):  # whether the mark is among the lower or the upper bits
            lower = bits & np.uint64((1 << width) - 1)
            count = np.bitwise_count(lower)
            above = left >= count
            left = left - above * count
            bits = np.where(above, bits >> np.uint64(width), lower)
            places += width * above
        return places


def _draw(words: _Words, draws: np.ndarray, ids: Sequence[bytes], rotation: Rotation) -> Cuts:
    skipped = 0 if rotation.identity else 1
    drawn = skipped + below_many(words.units - skipped, draws, rotation.seed, PURPOSE, ids)
    offsets = np.zeros(len(words.units), np.int64)
    # the first word may follow white space; if drawn, it still means no cut
    cut = np.flatnonzero((words.units > 1) & (drawn > 0))
    offsets[cut] = words.places[words.first[cut] + drawn[cut]] - words.origin[cut]
    return Cuts(offsets, words.units)


def _by_white_space(
    data: bytes,
    starts: np.ndarray,
    ends: np.ndarray,
    draws: np.ndarray,
    ids: Sequence[bytes],
    rotation: Rotation,
) -> Iterator[Cuts]:
    """Yield the cuts of one portion after another."""
    for i, j in _portions(starts, ends, _PORTION):
        words = _with_clusters(
            _white_space_words(data, starts[i:j], ends[i:j]),
            data,
            starts[i:j],
            ends[i:j],
            rotation,
        )
        yield _draw(words, draws[i:j], ids[i:j], rotation)


def _white_space_words(data: bytes, starts: np.ndarray, ends: np.ndarray) -> _Words:
    begin, end = int(starts[0]), int(ends[-1])
    block = (
        np.frombuffer(data, np.uint8, end - begin, begin) if end > begin else np.empty(0, np.uint8)
    )
    starts, ends = starts - begin, ends - begin
    space = _white_space(block)
    word = ~space
    word[1:] &= space[:-1]
    inside = starts[starts < ends]
    word[inside] = ~space[inside]  # the byte before a passage is not part of it
    places = _Marks(word)
    first = places.count_before(starts)
    return _Words(places.count_before(ends) - first, first, places, starts)


def _white_space(block: np.ndarray) -> np.ndarray:
    """Return the mask of bytes of characters that ``\\s`` matches, (n,) bool."""
    space = block <= _SPACE
    if not block.size:
        return space
    # control characters that are not spaces
    if block.min() < 9 or (block - np.uint8(14) < 14).any():  # below 14, the difference wraps
        space &= ((block >= 9) & (block <= 13)) | (block >= 28)
    if block.max() >= 0xC2:
        _mark(space, block, 0xC2, lambda second, third: (second == 0x85) | (second == 0xA0), 2)
        _mark(space, block, 0xE1, lambda second, third: (second == 0x9A) & (third == 0x80), 3)
        _mark(space, block, 0xE2, _in_general_punctuation, 3)
        _mark(space, block, 0xE3, lambda second, third: (second == 0x80) & (third == 0x80), 3)
    return space


def _in_general_punctuation(second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """U+2000 … U+200A, U+2028, U+2029, U+202F and U+205F, by the bytes after 0xE2."""
    wide = (third <= 0x8A) | (third == 0xA8) | (third == 0xA9) | (third == 0xAF)
    return ((second == 0x80) & wide) | ((second == 0x81) & (third == 0x9F))


def _mark(
    space: np.ndarray,
    block: np.ndarray,
    lead: int,
    matches: Callable[[np.ndarray, np.ndarray], np.ndarray],
    width: int,
) -> None:
    """Mark the characters that begin with ``lead`` and whose further bytes match."""
    at = np.flatnonzero(block == lead)
    if not at.size:
        return
    at = at[at <= len(block) - width]
    found = at[matches(block[at + 1], block[at + width - 1])]
    for step in range(width):
        space[found + step] = True


def _by_blingfire(
    data: bytes,
    starts: np.ndarray,
    ends: np.ndarray,
    draws: np.ndarray,
    ids: Sequence[bytes],
    rotation: Rotation,
) -> Iterator[Cuts]:
    """Yield the cuts portion by portion; portions share buffers, as new memory costs more than the
    calls.
    """
    calls = _Calls(data)
    for i, j in _portions(starts, ends, _PORTION):
        first = _first_of_calls(data, starts[i:j], ends[i:j]) + i
        last = np.append(first[1:], j) - 1
        places = calls.word_starts(starts[first].tolist(), ends[last].tolist())
        at = np.searchsorted(places, starts[i:j])
        units = np.searchsorted(places, ends[i:j]) - at
        for number in np.flatnonzero(units == 1).tolist():
            units[number] = bool(data[starts[i + number] : ends[i + number]].decode().strip())
        words = _with_clusters(
            _Words(units, at, places, starts[i:j]), data, starts[i:j], ends[i:j], rotation
        )
        yield _draw(words, draws[i:j], ids[i:j], rotation)


def _with_clusters(
    words: _Words, data: bytes, starts: np.ndarray, ends: np.ndarray, rotation: Rotation
) -> _Words:
    """Return the words of some passages; those of passages in scripts without spaces are found one
    by one and stand behind the others.
    """
    begin, end = int(starts[0]), int(ends[-1])
    block = (
        np.frombuffer(data, np.uint8, end - begin, begin) if end > begin else np.empty(0, np.uint8)
    )
    if not len(block) or block.max() < 0xE0:  # the first byte of their lowest character
        return words
    at = np.flatnonzero(block[:-1] >= 0xE0)
    at = at[_may_be_unspaced()[(block[at].astype(np.int64) << 8) | block[at + 1]]] + begin
    if not len(at):
        return words
    numbers = np.searchsorted(starts, at, side="right") - 1
    units, first = words.units.copy(), words.first.copy()
    origin, size = words.origin.copy(), len(words.places)
    found = [words.places[np.arange(size)]]
    for number in np.unique(numbers[at < ends[numbers]]).tolist():
        places = _places(data[starts[number] : ends[number]].decode(), rotation.words)
        units[number], first[number], origin[number] = len(places), size, 0
        found.append(places)
        size += len(places)
    return _Words(units, first, np.concatenate(found), origin)


@cache
def _may_be_unspaced() -> np.ndarray:
    """Return by the first two bytes of a character, as one number, whether a character of a script
    without spaces begins so.
    """
    table = np.zeros(1 << 16, bool)
    table[[int.from_bytes(character.encode()[:2]) for character in unspaced_characters()]] = True
    return table


def _by_rules(
    data: bytes,
    starts: np.ndarray,
    ends: np.ndarray,
    draws: np.ndarray,
    ids: Sequence[bytes],
    rotation: Rotation,
) -> Iterator[Cuts]:
    """Yield the cuts of one portion after another, by ``text.words``."""
    for i, j in _portions(starts, ends, _PORTION):
        texts = [
            data[start:end].decode()
            for start, end in zip(starts[i:j].tolist(), ends[i:j].tolist(), strict=True)
        ]
        found = [_places(text, "unicode") for text in texts]
        units = np.fromiter(map(len, found), np.int64, len(found))
        words = _Words(
            units, np.cumsum(units) - units, np.concatenate(found), np.zeros(j - i, np.int64)
        )
        yield _draw(words, draws[i:j], ids[i:j], rotation)


def _places(text: str, method: WordMethod) -> np.ndarray:
    """Return the bytes at which the words of a text start, ``(n,)`` int64."""
    return np.array(byte_offsets(text, [start for start, _ in word_spans(text, method)]), np.int64)


_CUTS = {"blingfire": _by_blingfire, "unicode": _by_rules, "whitespace": _by_white_space}


class _Calls:
    """A caller of BlingFire's C function on stretches of a block, with reused buffers."""

    def __init__(self, data: bytes) -> None:
        self.function, self.data = words_function(), data
        self.address = np.frombuffer(data, np.uint8).ctypes.data if data else 0
        self.output, self.starts, self.ends = (
            bytearray(),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
        )

    def word_starts(self, firsts: list[int], lasts: list[int]) -> np.ndarray:
        """Return the starts of the words in the stretches ``[first, last)``, in bytes of the block,
        increasing, (n,) int64.
        """
        found = [np.empty(0, np.int64)]
        for first, last in (
            piece
            for stretch in zip(firsts, lasts, strict=True)
            for piece in _pieces(self.data, *stretch)
        ):
            size = last - first
            # The C function may write one offset per byte of its output buffer, and clears all of
            # it. Its output has at most two bytes per byte of text: each character a word, and a
            # space.
            room = 2 * size + 16
            if room > len(self.output):
                self._make(room)
            length = self.function(self.address + first, size, *self.addresses, room)
            if length > room:
                raise RuntimeError(
                    "BlingFire wrote more than two bytes per byte of text: please report this, "
                    "with the text"
                )
            if length > 1:
                # words are separated by one space; a NUL ends the output
                words = self.output.count(b" ", 0, length - 1) + 1
                found.append(self.starts[:words] + np.int64(first))
        return np.concatenate(found)

    def _make(self, room: int) -> None:
        self.output, self.starts, self.ends = (
            bytearray(room),
            np.empty(room, np.int32),
            np.empty(room, np.int32),
        )
        self.addresses = (
            np.frombuffer(self.output, np.uint8).ctypes.data,
            self.starts.ctypes.data,
            self.ends.ctypes.data,
        )


def _first_of_calls(data: bytes, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the first passage of each call, (calls,) int64; neighbours share a call where
    possible.

    In BlingFire's published rules no word holds white space, and the end of a text acts like white
    space, with one exception: the last dot of an abbreviation such as "U.S." at the very end
    becomes a word. A byte-order mark is dropped only at the start of a text. So, except in these
    two cases, passages joined by ASCII white space are split as each would be alone.
    """
    block = np.frombuffer(data or b"\0", np.uint8)
    alone = _may_end_in_abbreviation(block, starts, ends) | (
        block[np.minimum(starts, len(block) - 1)] == 0xEF
    )
    before, after = block[starts[1:] - 1], block[np.minimum(ends[:-1], len(block) - 1)]
    separate = (starts[1:] > ends[:-1]) & (_is_gap(before) & _is_gap(after))
    together = separate & ~alone[1:] & ~alone[:-1] & (np.diff(starts // _CALL) == 0)
    return np.flatnonzero(np.append(True, ~together))


def _pieces(data: bytes, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the stretch ``[first, last)``, a long one in pieces of about ``_PIECE`` bytes with the
    same words.

    It is split at white space where BlingFire finds the same words on both sides (see
    ``_first_of_calls``); a stretch without such white space stays whole.
    """
    while last - first > 2 * _PIECE:
        end = _parting(np.frombuffer(data, np.uint8), first, last)
        yield first, end
        first = min(end + 1, last)
    yield first, last


def _parting(block: np.ndarray, first: int, last: int) -> int:
    """Return the end of the first piece of a long stretch."""
    for at in range(first + _PIECE, last - 1, _CALL):
        places = np.flatnonzero(_PARTING[block[at : min(at + _CALL, last - 1)]]) + at
        good = places[
            ~_may_end_in_abbreviation(block, np.full(len(places), first), places)
            & (block[places + 1] != 0xEF)
        ]
        if good.size:
            return int(good[0])
    return last


def _is_gap(values: np.ndarray) -> np.ndarray:
    return (values >= 0x04) & (values <= _SPACE)


def _may_end_in_abbreviation(block: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the mask of passages that end in a dot, a character and a dot, then white space and
    quotes; (n,) bool, True if unsure.
    """
    last = ends - 1
    for _ in range(4):
        last -= (last >= starts) & _TRAILING[block[np.maximum(last, 0)]]
    value = block[np.maximum(last, 0)]
    dotted = np.zeros(len(starts), bool)
    for back in range(2, 6):  # a character has 1 to 4 bytes
        dotted |= (last - back >= starts) & (block[np.maximum(last - back, 0)] == _DOT)
    return (last >= starts) & ((value >= 0x80) | _TRAILING[value] | ((value == _DOT) & dotted))


def _by_sentences(
    data: bytes, starts: np.ndarray, ends: np.ndarray, ids: Sequence[bytes], rotation: Rotation
) -> Cuts:
    offsets, units = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for number, (start, end, passage_id) in enumerate(
        zip(starts.tolist(), ends.tolist(), ids, strict=True)
    ):
        places = list(sentence_places(data[start:end]))
        offsets[number] = draw_cut(
            places, passage_id.decode(), seed=rotation.seed, identity=rotation.identity
        )
        units[number] = len(places)
    return Cuts(offsets, units)


def fates(cuts: Cuts, rotation: Rotation) -> Counter[str]:
    """Count the passages by fate: rotated, unchanged by the draw, and impossible to cut."""
    masks = (
        cuts.offsets > 0,
        (cuts.offsets == 0) & (cuts.units > 1),
        cuts.units == 0,
        cuts.units == 1,
    )
    return Counter(
        {fate: int(mask.sum()) for fate, mask in zip(possible_fates(rotation), masks, strict=True)}
    )


def possible_fates(rotation: Rotation) -> tuple[str, ...]:
    """Return the fates possible under these settings, in display order."""
    return (
        ROTATED,
        DRAWN_AS_IT_WAS,
        WORDLESS,
        ONE_SENTENCE if rotation.mode == "sentences" else ONE_WORD,
    )
