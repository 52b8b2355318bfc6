"""Raw TSV, one passage a line: its id, a tab, its text (MS MARCO's collection.tsv). The first tab parts them; later ones are text.

Every byte but those of the texts stays: ids, a CR before the newline, a last line without one. A byte-order mark at the start is
dropped, as the readers of all formats do.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from positionbias.core.blocks import Block
from positionbias.positions.cuts import byte_cuts, fates
from positionbias.positions.rotate import Rotation

__all__ = ["rotate_tsv", "spliced"]

_BOM = b"\xef\xbb\xbf"
_TAB, _NEWLINE, _CR = 9, 10, 13
_PORTION = 1_000  # texts whose pieces stay in a processor's cache: twice as fast as a whole block at once


class _Lines(NamedTuple):
    """Of n lines: where the id, its text, and what ends the line begin, in bytes of the block; (n,) int64 each."""

    starts: np.ndarray
    texts: np.ndarray
    ends: np.ndarray


def rotate_tsv(rotation: Rotation, block: Block) -> tuple[bytes, Counter[str]]:
    """The block with every passage rotated, and how many passages met which fate.

    Raises:
        InputError: not UTF-8, a line without a tab, or without an id; the line in the source is named.
    """
    data = block.read()
    _check_utf8(block, data)
    lines = _lines(block, data)
    ids = [data[start : text - 1] for start, text in zip(lines.starts.tolist(), lines.texts.tolist(), strict=True)]
    cuts = byte_cuts(data, lines.texts, lines.ends, ids, rotation)
    counts = fates(data, lines.texts, lines.ends, cuts, rotation)
    begin = int(lines.starts[0]) if len(lines.starts) else len(data)
    return spliced(data, lines.texts, lines.ends, cuts.offsets, begin), counts


def _check_utf8(block: Block, data: bytes) -> None:
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            block.text()  # says where
            raise


def _lines(block: Block, data: bytes) -> _Lines:
    array = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(array == _NEWLINE)
    begin = len(_BOM) if block.start == 0 and data.startswith(_BOM) else 0
    starts = np.concatenate(([begin], newlines + 1))
    ends = np.concatenate((newlines, [len(data)]))
    if starts[-1] >= len(data):  # what follows the last newline is no line
        starts, ends = starts[:-1], ends[:-1]
    tabs = np.append(np.flatnonzero(array == _TAB), len(data))
    first_tabs = tabs[np.searchsorted(tabs, starts)]
    bad = np.flatnonzero((first_tabs >= ends) | (first_tabs == starts))
    if bad.size:
        number = int(bad[0])
        found = "no tab" if first_tabs[number] >= ends[number] else "no id before the tab"
        raise block.bad_line(
            number, wanted="a passage id, a tab and a text", found=found, do="mend the file, or give its --format"
        )
    texts = first_tabs + 1
    before = np.maximum(ends - 1, 0)
    ends = ends - ((array[before] == _CR) & (ends > texts) & (ends < len(data)))  # a CR belongs to the line's end
    return _Lines(starts, texts, ends)


def spliced(data: bytes, starts: np.ndarray, ends: np.ndarray, offsets: np.ndarray, begin: int = 0) -> bytes:
    """``data[begin:]`` with each text ``data[start:end]`` cut at its offset and its parts exchanged, joined by one space.

    An offset of 0 leaves a text as it is; the texts rise and do not overlap.
    """
    cut = np.flatnonzero(offsets)
    first, place, last = starts[cut].tolist(), (starts[cut] + offsets[cut]).tolist(), ends[cut].tolist()
    joined: list[bytes] = []
    for number in range(0, len(first), _PORTION):
        portion = slice(number, number + _PORTION)
        pieces: list[bytes] = []
        for start, middle, end in zip(first[portion], place[portion], last[portion], strict=True):
            pieces += (data[begin:start], data[middle:end], b" ", data[start:middle])
            begin = end
        joined.append(b"".join(pieces))
    joined.append(data[begin:])
    return b"".join(joined)
