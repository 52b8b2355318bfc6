"""Neutral filler sentences, made of the words of a collection."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from positionbias.core.seeds import choose
from positionbias.text.words import split_words

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

FILLER_WORDS = 20
SAMPLE = 500  # passages
COMMON = 100  # words
LEAST_FILLER = 5  # distinct words of a filler
_TRIED = 4  # candidate words per wanted word
_PREFIX = 4  # first characters of a filler word that no word of the query or the passage shares
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLAIN = (
    "further sundry remarks various notes perhaps later among several unrelated matters".split()
)


def known_words(passages: Collection, seed: int) -> list[str]:
    """Return the words, of two characters or more, in at least two of 500 passages drawn by the
    seed; sorted, without the 100 most common, which a scorer may ignore.
    """
    rows = np.sort(np.array(choose(len(passages), SAMPLE, seed, "known words"), dtype=np.int64))
    counts: Counter[str] = Counter()
    for text in passages.texts_at(rows):
        counts.update({match.group().casefold() for match in _WORD.finditer(text)})
    common = sorted(counts, key=lambda word: (-counts[word], word))[:COMMON]
    return sorted({word for word, held in counts.items() if held > 1}.difference(common))


def filler(
    avoided: str, known: Sequence[str], seed: int, *of: str, words: int = FILLER_WORDS
) -> str:
    """Return a sentence of ``words`` known words, drawn by the seed and ``of``, none sharing its
    first four characters with a word of ``avoided``. Too few words are repeated; fewer than five
    are replaced by fixed English words.

    >>> known = ["boats", "rivers", "carts", "doors", "ovens", "winds"]
    >>> filler("What is the river?", known, 1, words=6)
    'Carts boats ovens doors winds carts.'
    """
    beginnings = {word.casefold()[:_PREFIX] for word in split_words(avoided).words}
    free = list[str]()
    for tried in (_TRIED * words, len(known)):  # many words begin alike only if few are known
        drawn = [known[place] for place in choose(len(known), tried, seed, "filler", *of)]
        free = [word for word in drawn if word[:_PREFIX] not in beginnings][:words]
        if len(free) == words:
            break
    if len(free) < min(LEAST_FILLER, words):
        free = [word for word in _PLAIN if word[:_PREFIX] not in beginnings] or _PLAIN
    chosen = " ".join(free[place % len(free)] for place in range(words))
    return f"{chosen[:1].upper()}{chosen[1:]}."
