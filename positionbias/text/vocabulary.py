"""A model's vocabulary: 0 is padding, 1 is unknown, the rest in a fixed order. Look-up is
lower-cased.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from positionbias.core.collection import Collection
from positionbias.core.progress import track
from positionbias.text.words import tokenize

PADDING = 0
UNKNOWN = 1
FIRST_WORD = 2


def words_of(text: str) -> list[str]:
    """Return lower-cased BlingFire words, the input of word-level models."""
    return [word.lower() for word in tokenize(text)]


def count_words(texts: Iterable[str], texts_with: Counter[str] | None = None) -> Counter[str]:
    """Count each word in these texts; ``texts_with``, if given, also counts the texts with it."""
    counts: Counter[str] = Counter()
    for text in texts:
        words = words_of(text)
        counts.update(words)
        if texts_with is not None:
            texts_with.update(set(words))
    return counts


def known_words(
    collections: Sequence[Collection],
    splits: Sequence[str] | None,
    passages_with: Counter[str] | None = None,
) -> Counter[str]:
    """Count each word in the passages and in the queries of ``splits``, for word-level models.

    ``splits`` None: the split train of the collections that have one. ``passages_with``, if given,
    also counts the passages with each word.
    """
    counts: Counter[str] = Counter()
    for collection in collections:
        read = (passage.text for passage in collection.passages())
        texts = track(
            read, f"counting words of {collection.name}", len(collection), unit="passages"
        )
        counts.update(count_words(texts, passages_with))
        for split in (
            [name for name in collection.splits if name == "train"] if splits is None else splits
        ):
            counts.update(count_words(text for _, text in collection.query_texts(split)))
    return counts


class Vocabulary:
    """Words and their numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        if len(set(words)) != len(words):
            raise ValueError("a vocabulary holds every word once")
        self.words = list(words)
        self._numbers = {word: number for number, word in enumerate(self.words, FIRST_WORD)}

    @staticmethod
    def build(
        counts: Counter[str], *, minimum: int = 2, vectored: frozenset[str] | set[str] = frozenset()
    ) -> Vocabulary:
        """Select words seen at least ``minimum`` times or with a given vector [decision]; most
        frequent first, then by spelling.
        """
        kept = [word for word, count in counts.items() if count >= minimum or word in vectored]
        return Vocabulary(sorted(kept, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        """Return the rows of an embedding table: the words, padding and unknown."""
        return len(self.words) + FIRST_WORD

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def number(self, word: str) -> int:
        """Return the number of a (lower-cased) word, or ``UNKNOWN``."""
        return self._numbers.get(word, UNKNOWN)

    def word(self, number: int) -> str:
        """Return the word of a number; padding and unknown have names in brackets."""
        return (
            ("[padding]", "[unknown]")[number]
            if number < FIRST_WORD
            else self.words[number - FIRST_WORD]
        )

    def encode(self, text: str, limit: int) -> list[int]:
        """Return the numbers of a text's first ``limit`` words."""
        numbers = self._numbers
        return [numbers.get(word, UNKNOWN) for word in words_of(text)[:limit]]
