"""Split a text into BM25's terms: words in lower case, without English stop words, stemmed; bigrams
in scripts without spaces.

Lucene's CJKAnalyzer indexes Han and Kana by bigrams of characters; so are all scripts without
spaces here, by bigrams of clusters [decision]. Hangul has spaces, and stays in words.
"""

from __future__ import annotations

import re

from bm25s.stopwords import STOPWORDS_EN
from Stemmer import Stemmer

from positionbias.text.clusters import bigrams, with_clusters

# A word keeps an inner apostrophe, so that the stemmer can remove a possessive ("Rome's" → "rome").
_WORD = re.compile(r"\w+(?:'\w+)*")
ANALYSIS = (
    r"lower case; words \w+ with inner apostrophes; bigrams of clusters in scripts without spaces; "
    r"bm25s English stop words; Snowball English stemmer"
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, including stop words.

    >>> words("Rome’s 東京都")
    ["rome's", '東京', '京都']
    """
    return with_clusters(text.lower().replace("’", "'").replace("‘", "'"), _WORD, bigrams)


class Analyzer:
    """An analyser of texts into lists of terms; it stems each distinct word once.

    The steps are those of Lucene's EnglishAnalyzer (lower case, possessives, stop words, stemming),
    and words of one character are kept, as there. Lucene stems by the older Porter rules, so a few
    terms differ (a decision of ours).
    """

    def __init__(self) -> None:
        self._stem = Stemmer("english", 0).stemWord  # 0: no cache, as ours is below
        self._terms: dict[str, str | None] = dict.fromkeys(STOPWORDS_EN)

    def words(self, text: str) -> list[str]:
        """Return the words of a text, as the function ``words`` does."""
        return words(text)

    def term(self, word: str) -> str | None:
        """Return the term of a word from ``words``; None for a stop word."""
        known = self._terms
        if word not in known:
            known[word] = self._stem(word) or None
        return known[word]

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        return [term for word in self.words(text) if (term := self.term(word)) is not None]


class TermNumbers(dict[str, int]):
    """Numbers of words' terms, −1 for a stop word; a new term gets the next number.

    The dictionary fills itself: ``map(numbers.__getitem__, words)`` maps a text without a Python
    call per word.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self.analyzer = analyzer
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        term = self.analyzer.term(word)
        number = -1 if term is None else self.terms.setdefault(term, len(self.terms))
        self[word] = number
        return number
