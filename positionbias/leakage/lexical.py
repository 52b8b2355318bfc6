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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from positionbias.firststage.terms import words
from positionbias.leakage.comparable import comparable
from positionbias.leakage.settings import LexicalSettings

__all__ = [
    "LexicalHit",
    "Rarity",
    "TermIndex",
    "TextTerms",
    "containment",
    "jaccard",
    "one_entity",
    "read_terms",
]

Weight = Callable[[frozenset[str]], float]
_HAIR = 1e-9  # tolerance, as 0.6 · 5 is slightly above 3


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


def jaccard(first: frozenset[str], second: frozenset[str], weight: Weight = len) -> float:
    """Return the share of two sets' weight that both have: w(A ∩ B) / w(A ∪ B), 0 if nothing is
    shared; by default members count equally.
    """
    return weight(first & second) / weight(first | second) if first & second else 0.0


def containment(train: frozenset[str], test: frozenset[str], weight: Weight = len) -> float:
    """Return the share of the test text's weight that the training query has: w(A ∩ B) / w(B), 0 if
    nothing is shared.
    """
    return weight(train & test) / weight(test) if train & test else 0.0


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
    from bm25s.stopwords import STOPWORDS_EN_PLUS

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


class LexicalHit(NamedTuple):
    """A training query (its number) and a test text (its place in the index); ``exact``: the same
    words in the same order.
    """

    train: int
    test: int
    exact: bool
    jaccard: float
    containment: float


class TermIndex:
    """Test texts indexed by their rarest terms, for a stream of training queries.

    A pair that reaches a threshold shares terms with weight t·w(B) or more, t the lower threshold.
    All but the rarest terms together weigh less, so one of the rarest is shared, and only these are
    looked up (prefix filtering: Chaudhuri, Ganti, Kaushik 2006).
    """

    def __init__(
        self,
        texts: Sequence[str],
        settings: LexicalSettings | None = None,
        rarity: Rarity | None = None,
    ) -> None:
        self.settings = settings or LexicalSettings()
        self.rarity = rarity or Rarity(texts)
        self.texts = [read_terms(text) for text in texts]
        self._exact: dict[str, list[int]] = {}
        self._rare: dict[str, list[int]] = {}
        lowest = min(self.settings.jaccard, self.settings.containment)
        for place, text in enumerate(self.texts):
            if text.normalised:
                self._exact.setdefault(text.normalised, []).append(place)
            left = self.rarity(text.terms)
            wanted = lowest * left - _HAIR
            for term in sorted(text.terms, key=lambda term: (-self.rarity.weight(term), term)):
                if left < wanted:
                    break
                self._rare.setdefault(term, []).append(place)
                left -= self.rarity.weight(term)

    def search(self, queries: Iterable[tuple[int, str]]) -> Iterator[LexicalHit]:
        """Yield the pairs of each training query (number, text); memory does not grow with the
        queries.
        """
        for number, text in queries:
            yield from self._hits(number, read_terms(text))

    def scores(self, train: TextTerms, place: int) -> tuple[float, float]:
        """Return Jaccard and containment of a training query's terms with the test text at this
        place.
        """
        test = self.texts[place]
        return jaccard(train.terms, test.terms, self.rarity), containment(
            train.terms, test.terms, self.rarity
        )

    def _hits(self, number: int, train: TextTerms) -> Iterator[LexicalHit]:
        exact = self._exact.get(train.normalised, ())
        places = set(exact)
        for term in train.terms:
            places.update(self._rare.get(term, ()))
        for place in sorted(places):
            alike, contained = self.scores(train, place)
            if place in exact or self._reached(train, self.texts[place], alike, contained):
                yield LexicalHit(number, place, place in exact, alike, contained)

    def _reached(self, train: TextTerms, test: TextTerms, alike: float, contained: float) -> bool:
        if train.terms != test.terms and one_entity(train, test):
            return False
        chosen = self.settings
        return alike >= chosen.jaccard - _HAIR or contained >= chosen.containment - _HAIR
