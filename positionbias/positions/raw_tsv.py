"""Rotate raw TSV, one passage a line: id, tab, text (MS MARCO's collection.tsv). Later tabs are
text.

All other bytes stay: ids, a CR before the newline, a last line without a newline. A byte-order mark
at the start is dropped, as in all readers.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from positionbias.core.blocks import Block
from positionbias.positions.cuts import byte_cuts, fates
from positionbias.positions.raw_output import Edits
from positionbias.positions.rotate import Rotation

_BOM = b"\xef\xbb\xbf"
_TAB, _NEWLINE, _CR = 9, 10, 13
_PORTION = 1_000  # lines at a time


class _Lines(NamedTuple):
    """Offsets of ids, texts and line ends in n lines, in bytes of the block; each (n,) int64."""

    starts: np.ndarray
    texts: np.ndarray
    ends: np.ndarray


def rotate_tsv(rotation: Rotation, block: Block) -> tuple[Edits, Counter[str]]:
    """Return the cuts of the block's passages, and the passages counted by fate.

    Raises:
        InputError: not UTF-8, or a line without a tab or an id (with its line in the source).
    """
    data = block.read()
    lines = _lines(block, data)
    _check_utf8(block, data, lines)
    ids = [
        data[start : text - 1]
        for start, text in zip(lines.starts.tolist(), lines.texts.tolist(), strict=True)
    ]
    cuts = byte_cuts(data, lines.texts, lines.ends, ids, rotation)
    counts = fates(cuts, rotation)
    begin = int(lines.starts[0]) if len(lines.starts) else len(data)
    cut = np.flatnonzero(cuts.offsets)
    starts = lines.texts[cut]
    columns = (
        column.astype(np.int32) for column in (starts, starts + cuts.offsets[cut], lines.ends[cut])
    )
    return Edits(begin, *columns), counts


def _check_utf8(block: Block, data: bytes, lines: _Lines) -> None:
    if data.isascii():
        return
    view, bounds = memoryview(data), [*lines.starts[::_PORTION].tolist(), len(data)]
    try:
        for start, end in pairwise(bounds):
            str(view[start:end], "utf-8")
    except UnicodeDecodeError:
        block.text()  # raises an error with the place
        raise


def _lines(block: Block, data: bytes) -> _Lines:
    array = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(array == _NEWLINE)
    begin = len(_BOM) if block.start == 0 and data.startswith(_BOM) else 0
    starts = np.concatenate(([begin], newlines + 1))
    ends = np.concatenate((newlines, [len(data)]))
    if starts[-1] >= len(data):  # nothing after the last newline is a line
        starts, ends = starts[:-1], ends[:-1]
    tabs = np.append(np.flatnonzero(array == _TAB), len(data))
    first_tabs = tabs[np.searchsorted(tabs, starts)]
    bad = np.flatnonzero((first_tabs >= ends) | (first_tabs == starts))
    if bad.size:
        number = int(bad[0])
        found = "no tab" if first_tabs[number] >= ends[number] else "no id before the tab"
        raise block.bad_line(
            number,
            wanted="a passage id, a tab and a text",
            found=found,
            do="fix the file, or give its --format",
        )
    texts = first_tabs + 1
    before = np.maximum(ends - 1, 0)
    # a CR is part of the line's end
    ends = ends - ((array[before] == _CR) & (ends > texts) & (ends < len(data)))
    return _Lines(starts, texts, ends)
