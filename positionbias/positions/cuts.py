"""Where many passages are cut, found in bulk: the cuts of ``positions.rotate``, in bytes, over a block of UTF-8.

White-space words are found by array operations over the whole block. BlingFire's C function is called once a passage with
buffers that are made once a block; what it costs is nearly all of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise, repeat
from typing import NamedTuple

import numpy as np

from positionbias.core.seeds import below_many, keys64
from positionbias.positions.rotate import PURPOSE, Rotation, draw_cut, unit_starts
from positionbias.text.words import word_spans, words_function

__all__ = [
    "DRAWN_AS_IT_WAS",
    "ONE_SENTENCE",
    "ONE_WORD",
    "ROTATED",
    "UNSPLIT",
    "WORDLESS",
    "Cuts",
    "byte_cuts",
    "fates",
    "possible_fates",
]

# what can happen to a passage; UNSPLIT counts again those of ONE_WORD in which BlingFire finds several words
ROTATED, DRAWN_AS_IT_WAS, WORDLESS = "rotated", "drawn_as_it_was", "without_words"
ONE_WORD, UNSPLIT = "one_word", "without_white_space_inside"
ONE_SENTENCE = "without_inner_sentence_boundary"

# bytes of text, or of room for BlingFire's output, whose arrays stay in a processor's cache
_PORTION, _ROOM = 1 << 20, 1 << 17
_SPACE = 0x20


class Cuts(NamedTuple):
    """Of n passages: where each is cut, in bytes from its start (0 leaves it as it is), and its words or sentences; (n,) int64 each."""

    offsets: np.ndarray
    units: np.ndarray


def byte_cuts(data: bytes, starts: np.ndarray, ends: np.ndarray, passage_ids: Sequence[bytes], rotation: Rotation) -> Cuts:
    """Where the passages ``data[start:end]``, UTF-8, are cut; the same places as ``Rotation.cut`` gives in characters.

    ``starts`` and ``ends`` are (n,) int64, rising and not overlapping; ``passage_ids`` are the n ids in UTF-8.
    """
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if rotation.mode == "sentences":
        return _by_sentences(data, starts, ends, passage_ids, rotation)
    draws = keys64(rotation.seed, PURPOSE, passage_ids)
    cuts_of = _by_blingfire if rotation.words == "blingfire" else _by_white_space
    parts = list(cuts_of(data, starts, ends, draws, passage_ids, rotation)) if len(starts) else []
    if not parts:
        return Cuts(np.empty(0, np.int64), np.empty(0, np.int64))
    return Cuts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _portions(starts: np.ndarray, ends: np.ndarray, size: int) -> Iterator[tuple[int, int]]:
    """Runs of passages of about ``size`` bytes each."""
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + size))
        last = min(max(last, first + 1), len(starts))
        yield first, last
        first = last


class _Words(NamedTuple):
    """The words of n passages: how many each has, where each one's begin in ``places``, and those places, from the passage's start."""

    units: np.ndarray
    first: np.ndarray
    places: np.ndarray
    origin: np.ndarray


def _draw(words: _Words, draws: np.ndarray, ids: Sequence[bytes], rotation: Rotation) -> Cuts:
    skipped = 0 if rotation.identity else 1
    drawn = skipped + below_many(words.units - skipped, draws, rotation.seed, PURPOSE, ids)
    offsets = np.zeros(len(words.units), np.int64)
    # the first word may follow white space; drawing it still means "as it is"
    cut = np.flatnonzero((words.units > 1) & (drawn > 0))
    offsets[cut] = words.places[words.first[cut] + drawn[cut]] - words.origin[cut]
    return Cuts(offsets, words.units)


def _by_white_space(
    data: bytes, starts: np.ndarray, ends: np.ndarray, draws: np.ndarray, ids: Sequence[bytes], rotation: Rotation
) -> Iterator[Cuts]:
    """The cuts of one portion after another."""
    for i, j in _portions(starts, ends, _PORTION):
        yield _draw(_white_space_words(data, starts[i:j], ends[i:j]), draws[i:j], ids[i:j], rotation)


def _white_space_words(data: bytes, starts: np.ndarray, ends: np.ndarray) -> _Words:
    begin, end = int(starts[0]), int(ends[-1])
    block = np.frombuffer(data, np.uint8, end - begin, begin) if end > begin else np.empty(0, np.uint8)
    starts, ends = starts - begin, ends - begin
    space = _white_space(block)
    word = ~space
    word[1:] &= space[:-1]
    inside = starts[starts < ends]
    word[inside] = ~space[inside]  # what stands before a passage is no part of it
    places = np.flatnonzero(word)
    first = np.searchsorted(places, starts)
    return _Words(np.searchsorted(places, ends) - first, first, places, starts)


def _white_space(block: np.ndarray) -> np.ndarray:
    """Which bytes belong to a character that ``\\s`` matches, (n,) bool."""
    space = block <= _SPACE
    if space.any() and ((block < 9) | ((block > 13) & (block < 28))).any():  # control characters that are no space
        space &= ((block >= 9) & (block <= 13)) | (block >= 28)
    if block.size and block.max() >= 0xC2:
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
    space: np.ndarray, block: np.ndarray, lead: int, matches: Callable[[np.ndarray, np.ndarray], np.ndarray], width: int
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
    data: bytes, starts: np.ndarray, ends: np.ndarray, draws: np.ndarray, ids: Sequence[bytes], rotation: Rotation
) -> Iterator[Cuts]:
    """The cuts of one portion after another; all portions share their buffers, as fresh memory costs more than the calls' overhead."""
    sizes = ends - starts
    # The C function may write one offset for each byte of output that it has room for, and clears all of that room; its output is
    # two bytes for a byte of text at most: each character a word, and a space.
    rooms = 2 * sizes + 16
    widths = -(-rooms // 64) * 64  # so that the words of a passage can be counted 64 bytes at a time
    bounds = np.array([0, *(last for _, last in _portions(np.cumsum(widths) - widths, np.cumsum(widths), _ROOM))])
    begin = np.cumsum(widths) - widths
    begin -= np.repeat(begin[bounds[:-1]], np.diff(bounds))
    room = int((begin + widths).max())
    output, places, last = np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32)
    addresses = (
        (np.frombuffer(data, np.uint8).ctypes.data if data else 0) + starts,
        sizes,
        output.ctypes.data + begin,
        places.ctypes.data + places.itemsize * begin,
    )
    lengths_of = map(words_function(), *(column.tolist() for column in addresses), repeat(last.ctypes.data), rooms.tolist())
    for i, j in pairwise(bounds.tolist()):
        written = output[: begin[j - 1] + widths[j - 1]]
        written.fill(0)
        lengths = np.fromiter(islice(lengths_of, j - i), np.int64, j - i)
        if (lengths > rooms[i:j]).any():
            raise RuntimeError("BlingFire wrote more than two bytes for a byte of text: report this, with the text")
        # words are parted by one space; a NUL ends the output
        spaces = np.bitwise_count(np.packbits(written == _SPACE).view(np.uint64))
        units = np.add.reduceat(spaces, begin[i:j] // 64, dtype=np.int64) + (lengths > 1)
        for number in np.flatnonzero(units == 1).tolist():
            units[number] = bool(data[starts[i + number] : ends[i + number]].decode().strip())
        origin = np.zeros(j - i, np.int64)  # the C function counts from the passage's start
        yield _draw(_Words(units, begin[i:j], places, origin), draws[i:j], ids[i:j], rotation)


def _by_sentences(data: bytes, starts: np.ndarray, ends: np.ndarray, ids: Sequence[bytes], rotation: Rotation) -> Cuts:
    offsets, units = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    for number, (start, end, passage_id) in enumerate(zip(starts.tolist(), ends.tolist(), ids, strict=True)):
        text = data[start:end].decode()
        places = unit_starts(text, rotation.words, rotation.mode)
        cut = draw_cut(places, passage_id.decode(), seed=rotation.seed, identity=rotation.identity)
        offsets[number], units[number] = len(text[:cut].encode()), len(places)
    return Cuts(offsets, units)


def fates(data: bytes, starts: np.ndarray, ends: np.ndarray, cuts: Cuts, rotation: Rotation) -> Counter[str]:
    """How many of these passages were rotated, were drawn as they were, or could not be cut."""
    one = cuts.units == 1
    counts = Counter(
        {
            ROTATED: int((cuts.offsets > 0).sum()),
            DRAWN_AS_IT_WAS: int(((cuts.offsets == 0) & (cuts.units > 1)).sum()),
            WORDLESS: int((cuts.units == 0).sum()),
            ONE_SENTENCE if rotation.mode == "sentences" else ONE_WORD: int(one.sum()),
        }
    )
    if rotation.mode == "words" and rotation.words == "whitespace":
        texts = (data[starts[i] : ends[i]].decode() for i in np.flatnonzero(one).tolist())
        counts[UNSPLIT] = sum(len(word_spans(text)) > 1 for text in texts)
    return counts


def possible_fates(rotation: Rotation) -> tuple[str, ...]:
    """The counts that ``fates`` gives under these settings, in the order in which they are shown."""
    if rotation.mode == "sentences":
        return ROTATED, DRAWN_AS_IT_WAS, WORDLESS, ONE_SENTENCE
    return (ROTATED, DRAWN_AS_IT_WAS, WORDLESS, ONE_WORD, *((UNSPLIT,) if rotation.words == "whitespace" else ()))
