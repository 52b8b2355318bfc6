"""Word pieces learned from counted words: the vocabulary of a small encoder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

__all__ = ["CONTINUED", "learn_pieces"]

CONTINUED = "##"  # before a piece that goes on within a word
ALPHABET = 1_000  # letters at most, as in BERT's own vocabulary
LEAST = 2  # a pair that stands once is no pattern

Pair = tuple[str, str]


def learn_pieces(counts: Mapping[str, int], size: int) -> list[str]:
    """At most ``size`` pieces: the letters, then what the most frequent pair of neighbouring pieces makes, again and again.

    A letter within a word is another piece (``##a``) than one that begins it. Pairs of equal count come in order of their letters, so that
    the pieces are a function of the counts [decision: the trainer of the tokenizers package numbers its pieces by chance]. Of more than
    1,000 letters the most frequent are kept; words with others are not learned from.

    Source: Sennrich, Haddow & Birch (2016), "Neural machine translation of rare words with subword units", §3.2, with the marks of
    WordPiece.
    """
    letters: defaultdict[str, int] = defaultdict(int)
    for word, count in counts.items():
        for letter in _spelled(word):
            letters[letter] += count
    kept = sorted(letters, key=lambda letter: (-letters[letter], letter))[: min(ALPHABET, size)]
    pieces = dict.fromkeys(kept)
    known = set(kept)
    words = [(spelled, counts[word]) for word in sorted(counts) if known.issuperset(spelled := _spelled(word))]
    merging = _Merging(words)
    while len(pieces) < size and (pair := merging.most_frequent()) is not None:
        pieces[merging.merge(pair)] = None
    return list(pieces)


def _spelled(word: str) -> list[str]:
    return [letter if place == 0 else CONTINUED + letter for place, letter in enumerate(word)]


class _Merging:
    """Words as pieces, and how often each pair of neighbours stands in them."""

    def __init__(self, words: list[tuple[list[str], int]]) -> None:
        self.words = words
        self.counts: defaultdict[Pair, int] = defaultdict(int)
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place in range(len(words)):
            self._count(place, +1)
        self.heap = [(-count, pair) for pair, count in self.counts.items()]
        heapify(self.heap)

    def most_frequent(self) -> Pair | None:
        while self.heap:
            negated, pair = heappop(self.heap)
            if -negated == self.counts[pair] >= LEAST:  # else a count of before
                return pair
        return None

    def merge(self, pair: Pair) -> str:
        """Make the pair one piece in every word; give back the piece."""
        piece = pair[0] + pair[1].removeprefix(CONTINUED)
        changed: set[Pair] = set()
        for place in self.places.pop(pair):
            changed |= self._count(place, -1)
            self.words[place] = (_joined(self.words[place][0], pair, piece), self.words[place][1])
            changed |= self._count(place, +1)
        del self.counts[pair]
        for other in changed - {pair}:
            heappush(self.heap, (-self.counts[other], other))
        return piece

    def _count(self, place: int, sign: int) -> set[Pair]:
        pieces, count = self.words[place]
        pairs = list(pairwise(pieces))
        for pair in pairs:
            self.counts[pair] += sign * count
            self.places[pair].add(place)
        return set(pairs)


def _joined(pieces: list[str], pair: Pair, piece: str) -> list[str]:
    joined: list[str] = []
    for part in pieces:
        if joined and (joined[-1], part) == pair:
            joined[-1] = piece
        else:
            joined.append(part)
    return joined
