"""Words that part the evidence from its neighbours: taken from another passage of the collection, so that a model knows them."""

from __future__ import annotations

import re
from typing import Protocol

import numpy as np

from positionbias.core.seeds import below
from positionbias.text.words import split_words

__all__ = ["FILLER_WORDS", "PassageTexts", "draw_filler", "filler"]

FILLER_WORDS = 20
PASSAGES = 20  # read for one filler at most
_PREFIX = 4  # letters that a word of filler must not share with a word of the query
_WORD = re.compile(r"[^\W\d_]{2,}")
# for a collection that has too few words
_PLAIN = (
    "Further remarks, sundry notes, various observations follow elsewhere, perhaps later, perhaps sooner, among several unrelated "
    "matters, miscellaneous topics, additional details, minor asides, occasional digressions, assorted comments, incidental thoughts, "
    "supplementary hints, optional reminders, general musings"
)


class PassageTexts(Protocol):
    """The part of a collection that filler is drawn from."""

    def __len__(self) -> int: ...

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of these rows."""
        ...


def draw_filler(passages: PassageTexts, query_id: str, query: str, own: str, seed: int, *, words: int = FILLER_WORDS) -> str:
    """Filler for a query from a passage that the seed and the query's id draw, and the ones after it until there are words enough; ``own`` is the text of the
    query's passage, which is skipped."""
    start = below(len(passages), seed, "filler", query_id)
    sources: list[str] = []
    found = ""
    for step in range(min(PASSAGES, len(passages))):
        text = passages.texts_at(np.array([(start + step) % len(passages)]))[0]
        if text == own:
            continue
        sources.append(text)
        found = " ".join(sources)
        if len(_words(found, query)) >= words:
            break
    return filler(query, found, words=words)


def filler(query: str, source: str = "", *, words: int = FILLER_WORDS) -> str:
    """The first ``words`` words of ``source`` that do not begin like a word of the query, as a sentence; fixed words where the source has too few.

    Words are of two letters or more. Two begin alike when their first four letters are equal.

    >>> filler("What is a tree?", "The oil of 3 big trees, a man, in it.", words=5)
    'The oil of big man.'
    >>> len(filler("What is oil?").split())
    20
    """
    free = _words(source, query)
    if len(free) < words:
        free = _words(_PLAIN, query) or _words(_PLAIN, "")
    chosen = " ".join(free[place % len(free)] for place in range(words))
    return f"{chosen[:1].upper()}{chosen[1:]}."


def _words(text: str, query: str) -> list[str]:
    known = {word.casefold()[:_PREFIX] for word in split_words(query).words}
    found = (match.group() for match in _WORD.finditer(text))
    return [word for word in found if word.casefold()[:_PREFIX] not in known]
