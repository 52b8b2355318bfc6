"""Build documents of a query's evidence and fillers, cut into chunks, with the evidence at any place.

The fillers of a query form a circle, cut where the evidence stands [decision]: with n words of fillers, of which m stand before the evidence, a document is

    fillers[n − m:] + evidence + fillers[:n − m]

So all documents of a query have the same words and length, and the evidence can start at any word, always beside the same whole sentences.
The circle begins at a drawn sentence, and is cut to n words within the sentences farthest from the evidence. A document may begin and end
within a sentence, as chunks do. Chunk k holds the words that begin at [k·step, k·step + size), step = size − overlap, counted in words or in a
model's tokens; the last chunk ends with the document and may be shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.results.chunk_grid import Within

__all__ = ["Circle", "Document", "Measured", "Span", "Window", "words_within"]

Span = tuple[int, int]  # [first, end) words
_WORD = re.compile(r"\S+")


class Window(NamedTuple):
    """Chunks of ``size`` words or tokens; neighbours share ``overlap``."""

    size: int
    overlap: int

    @property
    def step(self) -> int:
        """The distance between the starts of neighbouring chunks."""
        return self.size - self.overlap

    def count(self, total: int) -> int:
        """Return the number of chunks of a document of ``total`` words or tokens.

        >>> Window(256, 0).count(1_024), Window(256, 128).count(1_024), Window(256, 0).count(1_025)
        (4, 7, 5)
        """
        return 1 + max(0, -(-(total - self.size) // self.step))

    def whole(self, total: int) -> int:
        """Return the number of chunks of full size."""
        return 1 + (total - self.size) // self.step if total >= self.size else 0

    def spans(self, starts: np.ndarray) -> list[Span]:
        """Return the words of each chunk; ``starts (words + 1,)`` counts the words or tokens before each word, and ends with the document's length."""
        first = np.arange(self.count(int(starts[-1]))) * self.step
        low, high = (np.searchsorted(starts[:-1], bound, side="left").tolist() for bound in (first, first + self.size))
        return [(begin, end) for begin, end in zip(low, high, strict=True) if begin < end]

    def fitted(self, length: int) -> int:
        """Return the longest length up to ``length`` at which all chunks have full size; 0 if none does."""
        whole = self.whole(length)
        return self.size + (whole - 1) * self.step if whole else 0

    def start_of(self, within: Within, place: float, length: int, evidence: int) -> tuple[float, float, float] | None:
        """Return the start of evidence of a size in a document of a length, and the lowest and highest start that keep its place; None if it has none.

        ``place`` 0 is the first chunk, ½ the middle one, 1 the last, in a ``fitted`` document of two chunks or more; for ``CUT`` the same holds of
        borders. For ``ANYWHERE`` it is a share of the document.
        """
        if within is Within.ANYWHERE:
            return place * (length - evidence), 0, length
        cut = within is Within.CUT
        whole = self.whole(length)
        last = whole - 2 if cut else whole - 1
        if whole < 2 or last < (2 if place == 0.5 else place):
            return None
        begin, room = self.step * {0.0: 0, 0.5: last // 2, 1.0: last}[place], self.size - evidence
        if cut:
            low, high = begin + room + 1, begin + self.step - 1
            return ((low + high) / 2, low, high) if low <= high else None
        wanted = {Within.START: begin, Within.MIDDLE: begin + room / 2, Within.END: begin + room}[within]
        return wanted, begin, begin + room


class Measured(NamedTuple):
    """Words with their sizes, ``(words,)`` int64."""

    words: Sequence[str]
    sizes: np.ndarray

    @property
    def size(self) -> int:
        """The total size."""
        return int(self.sizes.sum())


@dataclass(frozen=True, slots=True)
class Document:
    """A document's words, the number of words or tokens before each, ``starts (words + 1,)``, and the words of the evidence."""

    words: Sequence[str]
    starts: np.ndarray
    evidence: Span

    def text(self, span: Span) -> str:
        """Return the text of some words."""
        return " ".join(self.words[span[0] : span[1]])

    def held(self, span: Span, chunks: Iterable[Span]) -> int:
        """Return the number of chunks that hold a span whole."""
        return sum(first <= span[0] and span[1] <= end for first, end in chunks)

    def read_to(self, chunks: Iterable[Span]) -> list[str]:
        """Return the text of each chunk with the evidence's first word, up to that word."""
        at = self.evidence[0]
        return [self.text((first, at + 1)) for first, end in chunks if first <= at < end]


class Circle:
    """The sentences that fill a query's documents of up to one length."""

    def __init__(self, sentences: Sequence[Measured], length: int) -> None:
        self.sentences, self.length = sentences, length
        self._ends = np.cumsum([sentence.size for sentence in sentences])
        self._fillers: dict[int, Measured] = {}
        self._shorter: dict[int, Circle] = {}

    def shorter(self, length: int) -> Circle:
        """Return the circle for shorter documents."""
        if length not in self._shorter:
            self._shorter[length] = Circle(self.sentences, length)
        return self._shorter[length]

    def fillers(self, piece: Measured) -> Measured:
        """Return the circle around a piece: whole sentences for about half of it, then others, cut at the front to fill the rest exactly."""
        room = self.length - piece.size
        if room not in self._fillers:
            self._fillers[room] = self._filling(room)
        return self._fillers[room]

    def _filling(self, room: int) -> Measured:
        count = int(np.searchsorted(self._ends, room, side="left")) + 1
        half = int(np.searchsorted(self._ends, room / 2, side="left"))
        behind, before = _joined(self.sentences[:half]), _joined(self.sentences[half:count])
        sizes = np.concatenate([[0], np.cumsum(before.sizes[::-1])])
        start = len(before.words) + 1 - int(np.searchsorted(sizes, room - behind.size, side="right"))
        return Measured([*behind.words, *before.words[start:]], np.concatenate([behind.sizes, before.sizes[start:]]))

    def before(self, piece: Measured, wanted: float, least: float, most: float) -> int | None:
        """Return the number of words before a piece that starts nearest to a wanted word or token; None if none is within the bounds."""
        found = np.concatenate([[0], np.cumsum(self.fillers(piece).sizes[::-1])])
        distance = np.where((found >= least) & (found <= most), np.abs(found - wanted), np.inf)
        best = int(np.argmin(distance))
        return best if np.isfinite(distance[best]) else None

    def document(self, piece: Measured, before: int) -> Document:
        """Return the document with a piece after so many words."""
        words, sizes = self.fillers(piece)
        turn = len(words) - before
        every = [*words[turn:], *piece.words, *words[:turn]]
        lengths = np.concatenate([sizes[turn:], piece.sizes, sizes[:turn]])
        return Document(every, np.concatenate([[0], np.cumsum(lengths)]), (before, before + len(piece.words)))


def _joined(sentences: Sequence[Measured]) -> Measured:
    sizes = [sentence.sizes for sentence in sentences]
    return Measured(
        [word for sentence in sentences for word in sentence.words], np.concatenate(sizes) if sizes else np.zeros(0, np.int64)
    )


def words_within(text: str, span: Span) -> Span:
    """Return the words, separated by spaces, that a span of characters touches.

    >>> words_within("In 1066 (Hastings) he won", (9, 17))
    (2, 3)
    """
    words = [found.span() for found in _WORD.finditer(text)]
    first = sum(end <= span[0] for _, end in words)
    return first, max(first + 1, sum(start < span[1] for start, _ in words))
