"""From text to BM25's terms: words, lower-cased, without English stop words, stemmed."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

__all__ = ["ANALYSIS", "Analyzer", "TermLists"]

# An apostrophe inside a word belongs to it, so that the stemmer can take a possessive off ("Rome's" → "rome").
_WORD = re.compile(r"\w+(?:'\w+)*")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})
ANALYSIS = r"lower case; words \w+ with inner apostrophes; bm25s English stop words; Snowball English stemmer"


class Analyzer:
    """Turns texts into lists of terms; each distinct word is stemmed once.

    The steps are those of Lucene's EnglishAnalyzer (lower case, possessives, stop words, stemming), and words of one
    character are kept, as there. Lucene stems by the older Porter rules, so a few terms differ (a decision of ours).
    """

    def __init__(self) -> None:
        import Stemmer
        from bm25s.stopwords import STOPWORDS_EN

        self._stem = Stemmer.Stemmer("english", 0).stemWord  # 0: no cache of its own, ours is below
        self._terms: dict[str, str | None] = dict.fromkeys(STOPWORDS_EN)

    def __call__(self, text: str) -> list[str]:
        terms, known = [], self._terms
        for word in _WORD.findall(text.lower().translate(_APOSTROPHES)):
            if word in known:
                term = known[word]
            else:
                term = known[word] = self._stem(word) or None
            if term is not None:
                terms.append(term)
        return terms


class TermLists:
    """The passages as lists of term numbers, held in one flat array; iterating gives one list a passage.

    Numbers follow first appearance, so the same passages in the same order always get the same ones.
    """

    def __init__(self, texts: Iterable[str], analyzer: Analyzer) -> None:
        self.vocab: dict[str, int] = {}
        numbers, lengths = array("i"), array("i")
        for text in texts:
            found = [self.vocab.setdefault(term, len(self.vocab)) for term in analyzer(text)]
            numbers.extend(found)
            lengths.append(len(found))
        self._numbers = np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32)
        self._ends = np.cumsum(np.frombuffer(lengths, np.int32), dtype=np.int64) if lengths else np.empty(0, np.int64)

    @property
    def ids(self) -> TermLists:
        """What bm25s calls the token ids of the corpus; this object is its own sequence."""
        return self

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for end in self._ends.tolist():
            yield self._numbers[start:end].tolist()
            start = end
