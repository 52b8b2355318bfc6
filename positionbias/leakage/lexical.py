"""Near-duplicates by surface: the same words, or many of the same terms.

With A the distinct terms of a training query and B those of a test text (``firststage.terms``: stemmed, without stop words):

    Jaccard = |A ∩ B| / |A ∪ B|        containment = |A ∩ B| / |B|

0 where nothing is shared. Containment looks one way only [decision]: a training query that holds the whole test text asks it more closely;
two words of a long description are no leak of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from positionbias.core.errors import SettingError
from positionbias.firststage.terms import Analyzer

__all__ = ["LexicalHit", "LexicalSettings", "TermIndex", "TextTerms", "containment", "jaccard", "read_terms"]

RENEW = 1 << 18  # training queries after which the stemmer's memory of words starts anew, so that it does not grow with them


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of two sets' members that both have: |A ∩ B| / |A ∪ B|, 0 of empty sets."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def containment(train: frozenset[str], test: frozenset[str]) -> float:
    """The share of the test text's terms that the training query has: |A ∩ B| / |B|, 0 of an empty B."""
    return len(train & test) / len(test) if test else 0.0


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """A pair is found where its words are the same, or Jaccard or containment reaches its threshold.

    Containment counts from ``shared`` common terms on. The defaults are ours [decision]: on hand-labelled pairs Jaccard from 0.6 was
    right in nine of ten.

    Raises:
        SettingError: a number outside its range.
    """

    jaccard: float = 0.6
    containment: float = 1.0
    shared: int = 2

    def __post_init__(self) -> None:
        for name in ("jaccard", "containment"):
            if not 0 < getattr(self, name) <= 1:
                raise SettingError(f"--{name}: wanted a share above 0, to 1; found {getattr(self, name)}; give one of these")
        if self.shared < 1:
            raise SettingError(f"--shared: wanted at least 1 term; found {self.shared}; 2 is the default")


class TextTerms(NamedTuple):
    """What is compared of a text: its words, lower-cased and parted by one space, and its distinct terms."""

    normalised: str
    terms: frozenset[str]


def read_terms(text: str, analyzer: Analyzer) -> TextTerms:
    """A text's words and terms."""
    words = analyzer.words(text)
    return TextTerms(" ".join(words), frozenset(term for word in words if (term := analyzer.term(word)) is not None))


class LexicalHit(NamedTuple):
    """A training query (its number) and a test text (its place in the index); ``exact``: the same words in the same order."""

    train: int
    test: int
    exact: bool
    jaccard: float
    containment: float


class TermIndex:
    """Test texts by their rarest terms, which a stream of training queries is held against.

    A pair that reaches a threshold shares at least ⌈t·|B|⌉ terms, t the lower of both thresholds; so it shares one of the
    |B| − ⌈t·|B|⌉ + 1 rarest, and these alone are looked up (prefix filtering: Chaudhuri, Ganti, Kaushik 2006).
    """

    def __init__(self, texts: Sequence[str], settings: LexicalSettings | None = None) -> None:
        self.settings = settings or LexicalSettings()
        analyzer = Analyzer()
        self.texts = [read_terms(text, analyzer) for text in texts]
        self._exact: dict[str, list[int]] = {}
        self._rare: dict[str, list[int]] = {}
        holding = Counter(term for text in self.texts for term in text.terms)
        lowest = min(self.settings.jaccard, self.settings.containment)
        for place, (normalised, terms) in enumerate(self.texts):
            if normalised:
                self._exact.setdefault(normalised, []).append(place)
            rarest = sorted(terms, key=lambda term: (holding[term], term))
            # less a hair, as 0.6 · 5 is a little above 3
            for term in rarest[: len(terms) - math.ceil(lowest * len(terms) - 1e-9) + 1]:
                self._rare.setdefault(term, []).append(place)

    def search(self, queries: Iterable[tuple[int, str]]) -> Iterator[LexicalHit]:
        """The pairs of each training query (number, text), streamed; what is held does not grow with the queries."""
        analyzer = Analyzer()
        for count, (number, text) in enumerate(queries, 1):
            if count % RENEW == 0:
                analyzer = Analyzer()
            yield from self._hits(number, read_terms(text, analyzer))

    def _hits(self, number: int, train: TextTerms) -> Iterator[LexicalHit]:
        exact = self._exact.get(train.normalised, ())
        places = set(exact)
        for term in train.terms:
            places.update(self._rare.get(term, ()))
        for place in sorted(places):
            test = self.texts[place]
            alike, contained = jaccard(train.terms, test.terms), containment(train.terms, test.terms)
            if place in exact or self._reached(train.terms, test.terms, alike, contained):
                yield LexicalHit(number, place, place in exact, alike, contained)

    def _reached(self, train: frozenset[str], test: frozenset[str], alike: float, contained: float) -> bool:
        chosen = self.settings
        return alike >= chosen.jaccard or (contained >= chosen.containment and len(train & test) >= chosen.shared)
