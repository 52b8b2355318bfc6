"""Learn word pieces from counted words, as the vocabulary of a small encoder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

CONTINUED = "##"  # before a piece that continues a word
ALPHABET = 1_000  # characters at most, as in BERT's own vocabulary
LEAST = 2  # a single occurrence of a pair is no pattern

Pair = tuple[str, str]


def learn_pieces(counts: Mapping[str, int], size: int) -> list[str]:
    """Learn at most ``size`` pieces: the characters, then repeatedly the merge of the most frequent
    pair of neighbouring pieces.

    A character within a word is another piece (``##a``) than one that begins it. Pairs of equal
    count are ordered by their characters, so that the pieces are a function of the counts
    [decision: the trainer of the tokenizers package numbers its pieces by chance]. Of more than
    1,000 characters the most frequent are kept; words with others are not learned from.

    Source: Sennrich, Haddow & Birch (2016), "Neural machine translation of rare words with subword
    units", §3.2, with the marks of WordPiece.
    """
    characters: defaultdict[str, int] = defaultdict(int)
    for word, count in counts.items():
        for character in _spelled(word):
            characters[character] += count
    kept = sorted(characters, key=lambda character: (-characters[character], character))[
        : min(ALPHABET, size)
    ]
    pieces = dict.fromkeys(kept)
    known = set(kept)
    words = [
        (spelled, counts[word])
        for word in sorted(counts)
        if known.issuperset(spelled := _spelled(word))
    ]
    merging = _Merging(words)
    while len(pieces) < size and (pair := merging.most_frequent()) is not None:
        pieces[merging.merge(pair)] = None
    return list(pieces)


def _spelled(word: str) -> list[str]:
    return [
        character if place == 0 else CONTINUED + character for place, character in enumerate(word)
    ]


class _Merging:
    """Words as pieces, and the count of each pair of neighbours in them."""

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
            if -negated == self.counts[pair] >= LEAST:  # otherwise an outdated count
                return pair
        return None

    def merge(self, pair: Pair) -> str:
        """Merge the pair in every word, and return the new piece."""
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
