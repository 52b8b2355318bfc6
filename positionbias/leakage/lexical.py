"""Find lexical near-duplicates: the same words, or shared terms with a large share of the texts'
weight.

With A the distinct terms of a training query, B those of a test text, and w the sum of the weights
of terms:

    Jaccard = w(A ∩ B) / w(A ∪ B)        containment = w(A ∩ B) / w(B)
    weight of a term = ln(1 + N / n)

for n of the N queries read with the term (inverse document frequency: Spärck Jones 1972); 0 if
nothing is shared. Containment works one way only [decision]: a training query that contains the
whole test text is more specific, but two words of a long description do not leak it.

Terms are words without plural endings and without the stop words of bm25s' longer English list,
which includes question words. No stemmer is used [decision]: Snowball's makes one term of
"marinate" and "marine". Two adjacent terms in both texts may name one entity ("lyme disease"),
about which queries on different topics may ask: if nothing else is shared, this is not a pair,
unless the texts have all terms in common [decision].
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from bm25s.stopwords import STOPWORDS_EN_PLUS

from positionbias.firststage.terms import words

JACCARD, CONTAINMENT = 0.6, 1.0  # the lowest of a pair
_HAIR = 1e-9  # tolerance, as 0.6 · 5 is slightly above 3
_APOSTROPHES = str.maketrans("’‘`´", "''''")
_JOINED = re.compile(r"(?<=[^\W\d_])[-‐‑–—/_,;:](?=[^\W\d_])")  # between letters: "food/drug"
# signs that are part of a word: C++, C#, 50%, $5
_BEFORE = re.compile(r"(?<!\S)[^\w\s+#%&@$€£¥]+")
# tried once per run of signs
_BEHIND = re.compile(r"(?<![^\w\s+#%&@$€£¥])[^\w\s+#%&@$€£¥]++(?!\S)")


def comparable(text: str) -> str:
    """Return a text in one case, without punctuation around its words, its words separated by one
    space [decision].

    Dashes and slashes between letters separate words. Signs that distinguish words (+ # % & @ and
    currencies) stay.

    >>> comparable('What is the "post–polio" syndrome?'), comparable("C++ or C#?")
    ('what is the post polio syndrome', 'c++ or c#')
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    return " ".join(_BEHIND.sub("", _BEFORE.sub("", _JOINED.sub(" ", folded))).split())


class Rarity:
    """Term weights by the number of queries with the term; call it with terms to get the sum of
    their weights.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.queries = 0
        self._holding: Counter[str] = Counter()
        for text in texts:
            self.queries += 1
            self._holding.update(set(filter(None, _terms(text))))

    def __call__(self, terms: Iterable[str]) -> float:
        return math.fsum(map(self.weight, terms))

    def weight(self, term: str) -> float:
        """Return ln(1 + N / n), with N and n at least 1."""
        return math.log1p(max(self.queries, 1) / max(self._holding[term], 1))


def coefficients(
    train: frozenset[str], test: frozenset[str], weight: Callable[[frozenset[str]], float] = len
) -> tuple[float, float]:
    """Return Jaccard and containment of two texts' terms, 0 if nothing is shared; by default terms
    count equally.
    """
    shared = weight(train & test)
    return (shared / weight(train | test), shared / weight(test)) if shared else (0.0, 0.0)


class TextTerms(NamedTuple):
    """A text to compare: its words in comparable form, its distinct terms, and its pairs of
    adjacent terms.
    """

    normalised: str
    terms: frozenset[str]
    neighbours: frozenset[frozenset[str]] = frozenset()


def read_terms(text: str) -> TextTerms:
    """Read a text's words and terms."""
    terms = _terms(text)
    beside = frozenset(frozenset(pair) for pair in pairwise(terms) if "" not in pair)
    return TextTerms(comparable(text), frozenset(filter(None, terms)), beside)


def _terms(text: str) -> list[str]:
    """Return the terms of a text in order, "" for each stop word."""
    stop_words = _stop_words()
    return ["" if word in stop_words else _singular(word) for word in words(text)]


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(STOPWORDS_EN_PLUS)


def _singular(word: str) -> str:
    """Strip a word's plural ending or possessive (the "S stemmer": Harman 1991, How Effective Is
    Suffixing?).

    An e after ch, sh, ss, x and zz is removed too, so that "taxes" and "tax" are one term
    [decision].
    """
    word = word.removesuffix("'s")
    if word.endswith("ies") and not word.endswith(("aies", "eies")):
        word = f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith(("us", "ss", "aes", "ees", "oes")):
        word = word[:-1]
    return word[:-1] if word.endswith(("che", "she", "sse", "xe", "zze")) else word


def one_entity(train: TextTerms, test: TextTerms) -> bool:
    """Return True if all shared terms may name one entity: one term, or two adjacent terms in both
    texts.
    """
    shared = train.terms & test.terms
    return len(shared) == 1 or (
        len(shared) == 2 and shared in train.neighbours and shared in test.neighbours
    )


class TermIndex:
    """Test texts indexed by their rarest terms, for a stream of training queries.

    A pair that reaches a threshold shares terms with weight t·w(B) or more, t the lower threshold.
    All but the rarest terms together weigh less, so one of the rarest is shared, and only these are
    looked up (prefix filtering: Chaudhuri, Ganti, Kaushik 2006).
    """

    def __init__(self, texts: Sequence[str], rarity: Rarity) -> None:
        self.rarity = rarity
        self.texts = [read_terms(text) for text in texts]
        self._exact: dict[str, list[int]] = {}
        self._rare: dict[str, list[int]] = {}
        for place, text in enumerate(self.texts):
            if text.normalised:
                self._exact.setdefault(text.normalised, []).append(place)
            left = rarity(text.terms)
            enough = min(JACCARD, CONTAINMENT) * left - _HAIR
            for term in sorted(text.terms, key=lambda term: (-rarity.weight(term), term)):
                if left < enough:
                    break
                self._rare.setdefault(term, []).append(place)
                left -= rarity.weight(term)

    def search(self, queries: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
        """Yield the number of each training query (number, text) with the place of each test text
        like it; memory does not grow with the queries.
        """
        for number, text in queries:
            train = read_terms(text)
            exact = self._exact.get(train.normalised, ())
            shared = (place for term in train.terms for place in self._rare.get(term, ()))
            for place in sorted({*exact, *shared}):
                if place in exact or self._alike(train, place):
                    yield number, place

    def scores(self, train: TextTerms, place: int) -> tuple[float, float]:
        """Return Jaccard and containment with the test text at this place."""
        return coefficients(train.terms, self.texts[place].terms, self.rarity)

    def _alike(self, train: TextTerms, place: int) -> bool:
        test = self.texts[place]
        if train.terms != test.terms and one_entity(train, test):
            return False
        jaccard, containment = self.scores(train, place)
        return jaccard >= JACCARD - _HAIR or containment >= CONTAINMENT - _HAIR
