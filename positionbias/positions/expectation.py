"""Compute the distribution of unbiased answer positions; arrays in and arrays out.

An answer of L words cannot start in the last L − 1 words of its passage of n words, so a flat
histogram is the wrong reference [our decision]. Unbiased means that every start in {0 … n−L} is
equally likely.

Rotation has exactly this effect. Cut the passage before word c, uniform on {0 … n−1} (Eq. 7 with c
= r − 1). The L − 1 values s < c < s+L cut through an answer at words s … s+L−1. The other n−L+1
values leave it whole and move its start to s − c for c = 0 … s, that is to s … 0, and to s + n − c
for c = s+L … n−1, that is to n−L … s+1: each start in {0 … n−L} once. So, unless it was cut, the
start of a rotated answer is uniform on {0 … n−L}, whatever it was before, and one expected curve
serves original and rotated collections. (The *mixture* does change: long answers are cut more
often. The curve is summed over the answers that are left.) ``--no-identity`` excludes c = 0, so an
answer cannot stay at s: each answer's curve then lacks that one start, a share of at most
1/(n−L+1). This does not hold for sentence-wise rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# the last three columns of a table of moments, after the bins
TENTH, FIFTH, MEAN = -3, -2, -1


@dataclass(frozen=True, slots=True)
class Spans:
    """Answer spans as integer arrays of equal length, in words: first word, length, words of the
    passage. ``passage`` numbers the passages from 0.
    """

    first: np.ndarray
    length: np.ndarray
    words: np.ndarray
    passage: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, index: np.ndarray) -> Spans:
        """Return the spans at ``index``."""
        return Spans(
            self.first[index],
            self.length[index],
            self.words[index],
            self.passage[index],
        )

    def widened(self) -> Spans:
        """Return the spans in int64, for arithmetic."""
        return Spans(*(getattr(self, name).astype(np.int64) for name in self.__slots__))


def moments(first: np.ndarray, words: np.ndarray, bins: int) -> np.ndarray:
    """Return the contribution of each span to the histogram and its summaries,
    ``(spans, bins + 3)``.

    1 in its bin; then 1 if it lies in the first tenth, and in the first fifth; then its relative
    position, first word / words. Bins are computed in integers.
    """
    table = np.zeros((len(first), bins + 3))
    table[np.arange(len(first)), first * bins // words] = 1
    table[:, TENTH] = first * 10 < words
    table[:, FIFTH] = first * 5 < words
    table[:, MEAN] = first / words
    return table


def expected_moments(spans: Spans, bins: int) -> np.ndarray:
    """Return the expectation of ``moments`` for each span, ``(spans, bins + 3)``, with every start
    equally likely.
    """
    length, words = spans.length, spans.words
    possible = words - length + 1

    def share_below(part: int, whole: int) -> np.ndarray:
        # starts s with s / n < part / whole: s below the ceiling of n·part / whole
        below = -(-words * part // whole)
        return np.clip(below, 0, possible) / possible

    below = np.stack([share_below(edge, bins) for edge in range(bins + 1)], axis=1)
    table = np.empty((len(length), bins + 3))
    table[:, :bins] = np.diff(below, axis=1)
    table[:, TENTH] = share_below(1, 10)
    table[:, FIFTH] = share_below(1, 5)
    table[:, MEAN] = (words - length) / (2 * words)
    return table


def rotated_histograms(
    spans: Spans,
    expected: np.ndarray,
    bins: int,
    *,
    draws: int,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return histograms of the same spans with every passage rotated, and the expectation of the
    spans left whole.

    Two arrays ``(draws, bins)`` of sums, to estimate a histogram's deviation from its expectation
    by chance; questions that share a passage move together. A draw that cuts through every span is
    a row of zeros.
    """
    passages = int(spans.passage.max()) + 1
    found, left = np.empty((draws, bins)), np.empty((draws, len(expected)))
    for draw in range(draws):
        cut = (generator.random(passages)[spans.passage] * spans.words).astype(np.int64)
        first = (spans.first - cut) % spans.words
        whole = first <= spans.words - spans.length
        found[draw] = np.bincount(first[whole] * bins // spans.words[whole], minlength=bins)
        left[draw] = whole
    return found, left @ expected[:, :bins]
