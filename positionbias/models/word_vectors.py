"""Read word vectors to initialise TK: GloVe's and word2vec's formats and our own, streamed, keeping
only the wanted words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection as Container
from collections.abc import Iterator, Sequence
from itertools import count as numbers_from
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

import numpy as np

from positionbias.core.errors import bad_input
from positionbias.core.files import LINE
from positionbias.core.seeds import generator
from positionbias.models.vector_file import collect_file, is_vector_file
from positionbias.models.vector_stream import open_vectors
from positionbias.models.wanted_vectors import WantedVectors, WordVectors
from positionbias.models.word2vec import collect_binary
from positionbias.text.vocabulary import PADDING, UNKNOWN, Vocabulary

_HEAD = 1 << 18  # bytes that identify a file's format
_HEADER = re.compile(rb"\d+ \d+[ \r]*\n")
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|nan|inf)", re.IGNORECASE)


def read_word_vectors(path: Path | str, words: Container[str], dimension: int) -> WordVectors:
    """Read the vectors of ``words`` (lower-cased) that the file has; its content identifies the
    format:

    GloVe's text, word2vec's text or binary form, each plain, ``.gz``, ``.zst`` or in a ``.zip``, or
    what ``posbias model vectors`` writes.

    A line's last ``dimension`` columns are the vector, and all before them is the word (GloVe's
    largest files have words with spaces). Only the wanted words' values are read. A word gets its
    lower-case entry, else its first with capitals [decision].

    Raises:
        InputError: another width, a wanted word's value that is not finite, none of the words
            found, or a cut or damaged file.
    """
    path = Path(path)
    wanted = WantedVectors(path, words, dimension)
    with open_vectors(path, dimension) as stream:
        head = stream.read(_HEAD)
    if is_vector_file(head):
        return wanted.done(collect_file(path, wanted))
    with open_vectors(path, dimension) as stream:
        if _HEADER.match(head) and not _is_text(head[head.index(b"\n") + 1 :]):
            return wanted.done(collect_binary(stream, wanted))
        return wanted.done(_collect_text(stream, head, wanted))


def _is_text(record: bytes) -> bool:
    """Return True if word2vec's text form follows its header: the first line ends with a written
    number.
    """
    fields = record.partition(b"\n")[0].split()
    return not record or (len(fields) > 1 and _NUMBER.fullmatch(fields[-1]) is not None)


def _collect_text(stream: BinaryIO, head: bytes, wanted: WantedVectors) -> int:
    """Give ``wanted`` its words' vectors; return the number of words in the file."""
    # a wanted word with a space is found by the part before the space
    spaced = any(" " in word for word in wanted.words)
    firsts = {word.partition(" ")[0] for word in wanted.words} if spaced else wanted.words
    count = _check_width(head, wanted)
    if count is not None:
        stream.readline()
    blank, number = 0, 0
    start = 1 if count is None else 2
    for number, line in _lines(stream, wanted.path, start):
        try:
            first = line[: line.find(b" ")].decode()
        except UnicodeDecodeError:
            wanted.unreadable += 1
            continue
        if first.lower() in firsts:
            _take(line, number, wanted)
        elif line.isspace():
            blank += 1
    found = max(0, number - start + 1 - blank)
    if count is not None and found < count:
        raise bad_input(
            wanted.path,
            wanted=f"{count:,} words, as its first line says",
            found=f"the end of the file after {found:,}",
            do="fetch the file again",
        )
    return found


def _lines(stream: BinaryIO, path: Path, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a stream with their newline, numbered from ``first``; refuse one over the
    budget.
    """
    limit = LINE.limit
    for number in numbers_from(first):
        line = stream.readline(limit + 1)
        if len(line) > limit and not line.endswith(b"\n"):
            do = "check that it has word vectors, "
            raise LINE.exceeded(path, line=number, found="a longer line", do=do)
        if not line:
            return
        yield number, line


def _check_width(head: bytes, wanted: WantedVectors) -> int | None:
    """Return the number of words in word2vec's header, if any; raises if the header or most of the
    first lines have another width.
    """
    if _HEADER.match(head):
        count, dimension = map(int, head.partition(b"\n")[0].split())
        if dimension != wanted.dimension:
            raise wanted.wrong_width(dimension, line=1)
        return count
    lines = head.split(b"\n")
    if len(head) == _HEAD and len(lines) > 1:
        lines.pop()  # its rest is not in the head
    widths = [_trailing_numbers(line.split()[1:]) for line in lines if line.strip()]
    if widths:
        ((width, times), *_) = Counter(widths).most_common(1)
        if width != wanted.dimension and times > widths.count(wanted.dimension):
            raise wanted.wrong_width(width, line=widths.index(width) + 1)
    return None


def _trailing_numbers(fields: Sequence[bytes]) -> int:
    return sum(1 for _ in takewhile(_NUMBER.fullmatch, reversed(fields)))


def _take(line: bytes, number: int, wanted: WantedVectors) -> None:
    """Keep the vector of a line whose first word starts a wanted one."""
    word, *values = line.rstrip().rsplit(b" ", wanted.dimension)
    before = word.split(b" ")[1:]  # of a word with spaces, or too many numbers
    if len(values) < wanted.dimension or (before and all(map(_NUMBER.fullmatch, before))):
        raise bad_input(
            wanted.path,
            line=number,
            wanted=f"a word and {wanted.dimension} numbers",
            found=f"{len(before) + len(values)} numbers",
            do="fix or drop the line, or give --dimension",
        )
    key = wanted.asks_for(word.decode("utf-8", "replace"))
    if key is not None:
        wanted.give(key, _values(values), line=number)


def _values(fields: Sequence[bytes]) -> np.ndarray:
    try:
        return np.array([float(field) for field in fields])
    except ValueError:
        return np.full(len(fields), math.nan)


def embedding_matrix(vocabulary: Vocabulary, given: WordVectors, *, seed: int) -> np.ndarray:
    """Return ``(len(vocabulary), dim)``: given vectors; other words normal with their mean and
    deviation; padding zero.
    """
    stacked = np.stack(list(given.vectors.values()))
    random = generator(seed, "words without a vector")
    shape = (len(vocabulary), given.dimension)
    matrix = random.normal(stacked.mean(), stacked.std(), size=shape).astype(np.float32)
    for word, vector in given.vectors.items():
        if (number := vocabulary.number(word)) != UNKNOWN:
            matrix[number] = vector
    matrix[PADDING] = 0.0
    return matrix
