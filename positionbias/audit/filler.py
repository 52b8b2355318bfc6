"""Words that say nothing, to part the evidence from its neighbours: the most common words of the collection, so that a model knows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from positionbias.core.seeds import choose
from positionbias.text.words import split_words

__all__ = ["FILLERS", "FILLER_WORDS", "TextsByRow", "common_words", "filler"]

FILLER_WORDS = 20
FILLERS = 4  # in a text of the middle
SAMPLE = 500  # passages
KEPT = 100  # words
LEAST = 5  # different words of a filler
_PREFIX = 4  # letters that a word of filler must not share with a word of the query
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLAIN = "further sundry remarks various notes perhaps later among several unrelated matters".split()


class TextsByRow(Protocol):
    """The part of a collection that common words are counted in."""

    def __len__(self) -> int: ...

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of these rows."""
        ...


def common_words(passages: TextsByRow, seed: int) -> list[str]:
    """The 100 words that most of 500 passages hold, drawn by the seed; the most common first, ties by the word. Words have two letters or more."""
    rows = np.sort(np.array(choose(len(passages), SAMPLE, seed, "common words"), dtype=np.int64))
    counts: Counter[str] = Counter()
    for text in passages.texts_at(rows):
        counts.update({match.group().casefold() for match in _WORD.finditer(text)})
    return sorted(counts, key=lambda word: (-counts[word], word))[:KEPT]


def filler(query: str, common: Sequence[str] = (), *, words: int = FILLER_WORDS) -> str:
    """So many of these words as a sentence, but for those that begin like a word of the query: alike in their first four letters.

    They are repeated where there are too few. Fewer than five different ones are replaced by fixed English words.

    >>> filler("What is the river?", ["the", "of", "rivers", "and", "to", "in", "on"], words=6)
    'Of and to in on of.'
    >>> len(filler("What is oil?").split())
    20
    """
    known = {word.casefold()[:_PREFIX] for word in split_words(query).words}
    free = [word for word in common if word[:_PREFIX] not in known]
    if len(free) < LEAST:
        free = [word for word in _PLAIN if word[:_PREFIX] not in known] or _PLAIN
    chosen = " ".join(free[place % len(free)] for place in range(words))
    return f"{chosen[:1].upper()}{chosen[1:]}."
