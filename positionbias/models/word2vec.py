"""word2vec's binary form: a line ``count dimension``, then records of a word, a space and
little-endian float32 values.

The original program ends each record with a newline, others do not: both are read. Records of
unwanted words are skipped without parsing their numbers.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from positionbias.core.errors import InputError, bad_input
from positionbias.models.wanted_vectors import WantedVectors

_CHUNK = 1 << 22
_LONGEST_WORD = 1 << 14  # bytes; a longer word is damage, and is not held in memory
_FIX = "fetch the file again"


def collect_binary(stream: BinaryIO, wanted: WantedVectors) -> int:
    """Give ``wanted`` its words' vectors from a stream at its first byte; return the number in the
    file.

    Raises:
        InputError: another width, another number of records than the header says, or a value that
            is not finite.
    """
    count, dimension = map(int, stream.readline().split())
    if dimension != wanted.dimension:
        raise wanted.wrong_width(dimension, line=1)
    size = 4 * dimension
    data, place, record = b"", 0, 0
    while record < count:
        space = data.find(b" ", place, place + _LONGEST_WORD)
        end = space + 1 + size
        if space < 0 and len(data) - place >= _LONGEST_WORD:
            raise _damaged(wanted, record + 1, f"a word of over {_LONGEST_WORD:,} bytes")
        if space < 0 or end > len(data):
            more = stream.read(_CHUNK)
            if not more:
                raise _damaged(
                    wanted, record + 1, f"the end of the file, {count - record:,} records early"
                )
            data, place = data[place:] + more, 0
            continue
        record += 1
        _take(data, data[place:space].lstrip(b"\n"), space + 1, record, wanted)
        place = end
    if (data[place:] + stream.read(_CHUNK)).strip(b"\n"):
        raise _damaged(wanted, count, "more after it")
    return count


def _take(data: bytes, word: bytes, start: int, record: int, wanted: WantedVectors) -> None:
    try:
        key = wanted.asks_for(word.decode())
    except UnicodeDecodeError:
        wanted.unreadable += 1
        return
    if key is not None:
        wanted.give(key, np.frombuffer(data, "<f4", wanted.dimension, start), record=record)


def _damaged(wanted: WantedVectors, record: int, found: str) -> InputError:
    return bad_input(
        wanted.path,
        wanted="as many whole records as the header says",
        found=f"at record {record:,} {found}",
        do=_FIX,
    )
