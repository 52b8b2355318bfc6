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
often. The curve is summed over the answers that are left.) ``identity=false`` excludes c = 0, so an
answer cannot stay at s: each answer's curve then lacks that one start, a share of at most
1/(n−L+1). This does not hold for sentence-wise rotation.

With only the first (or last) of an answer's k matches counted, the first one is early even in
unbiased text. Its expected curve follows from the same rotation: over all n cuts, the place of the
first match that is not cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from positionbias.positions.settings import Matches

# the last three columns of a table of moments, after the bins
TENTH, FIFTH, MEAN = -3, -2, -1


@dataclass(frozen=True, slots=True)
class Spans:
    """Answer spans as integer arrays of equal length, in words: first word, length, words of the
    passage.

    ``group`` numbers the counted units from 0, increasing: a span, or an answer of whose matches
    one is chosen. ``passage`` numbers the passages from 0.
    """

    first: np.ndarray
    length: np.ndarray
    words: np.ndarray
    group: np.ndarray
    passage: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, index: np.ndarray) -> Spans:
        """Return the spans at ``index``."""
        return Spans(
            self.first[index],
            self.length[index],
            self.words[index],
            self.group[index],
            self.passage[index],
        )

    def widened(self) -> Spans:
        """Return the spans in int64, for arithmetic."""
        return Spans(*(getattr(self, name).astype(np.int64) for name in self.__slots__))

    def group_starts(self) -> np.ndarray:
        """Return the index of each group's first span."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))


def moments(
    first: np.ndarray, length: np.ndarray, words: np.ndarray, bins: int, midpoint: bool
) -> np.ndarray:
    """Return the contribution of each span to the histogram and its summaries,
    ``(spans, bins + 3)``.

    1 in its bin; then 1 if it lies in the first tenth, and in the first fifth; then its relative
    position: first word / words, or the middle of the span, (first + length/2) / words [our reading
    of "midpoint"]. Bins are computed in integers.
    """
    doubled, scale = (2 * first + length if midpoint else 2 * first), 2 * words
    table = np.zeros((len(first), bins + 3))
    table[np.arange(len(first)), doubled * bins // scale] = 1
    table[:, TENTH] = doubled * 10 < scale
    table[:, FIFTH] = doubled * 5 < scale
    table[:, MEAN] = doubled / scale
    return table


def expected_moments(spans: Spans, bins: int, midpoint: bool, matches: Matches) -> np.ndarray:
    """Return the expectation of ``moments`` for each group, ``(groups, bins + 3)``, with every
    start equally likely.
    """
    starts = spans.group_starts()
    single = spans.take(starts)
    table = _uniform_moments(single.length, single.words, bins, midpoint)
    sizes = np.diff(np.append(starts, len(spans)))
    for group in np.flatnonzero(sizes > 1):
        members = slice(starts[group], starts[group] + sizes[group])
        words = int(spans.words[members][0])
        chosen, lengths = _chosen_after_every_cut(
            spans.first[members], spans.length[members], words, matches
        )
        table[group] = moments(chosen, lengths, np.full(len(chosen), words), bins, midpoint).mean(
            axis=0
        )
    return table


def _uniform_moments(
    length: np.ndarray, words: np.ndarray, bins: int, midpoint: bool
) -> np.ndarray:
    possible = words - length + 1
    offset = length if midpoint else np.zeros_like(length)

    def share_below(part: int, whole: int) -> np.ndarray:
        # starts s with (2s + offset) / 2n < part / whole: s below the ceiling of (2n·part −
        # offset·whole) / (2·whole)
        below = -(-(2 * words * part - offset * whole) // (2 * whole))
        return np.clip(below, 0, possible) / possible

    below = np.stack([share_below(edge, bins) for edge in range(bins + 1)], axis=1)
    table = np.empty((len(length), bins + 3))
    table[:, :bins] = np.diff(below, axis=1)
    table[:, TENTH] = share_below(1, 10)
    table[:, FIFTH] = share_below(1, 5)
    table[:, MEAN] = (words - length + offset) / (2 * words)
    return table


def _chosen_after_every_cut(
    first: np.ndarray, length: np.ndarray, words: int, matches: Matches
) -> tuple[np.ndarray, np.ndarray]:
    # (cuts, matches): the start of each match after each cut; beyond words − count the match is cut
    moved = (first[None, :] - np.arange(words)[:, None]) % words
    whole = moved <= words - length[None, :]
    moved, whole = moved[whole.any(axis=1)], whole[whole.any(axis=1)]
    if matches == "first":
        at = np.where(whole, moved, words).argmin(axis=1)
    else:
        at = np.where(whole, moved, -1).argmax(axis=1)
    return moved[np.arange(len(moved)), at], length[at]


def select(spans: Spans, whole: np.ndarray, matches: Matches) -> np.ndarray:
    """Return the index of each group's counted span among the ``whole`` ones; groups without any
    are skipped.
    """
    index = np.flatnonzero(whole)
    if matches == "first":
        index = index[np.lexsort((spans.first[index], spans.group[index]))]
    elif matches == "last":
        index = index[np.lexsort((-spans.first[index], spans.group[index]))]
    return index[np.flatnonzero(np.diff(spans.group[index], prepend=-1))]


def rotated_histograms(
    spans: Spans,
    expected: np.ndarray,
    bins: int,
    midpoint: bool,
    matches: Matches,
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
    found, left = np.empty((draws, bins)), np.zeros((draws, len(expected)))
    for draw in range(draws):
        cut = (generator.random(passages)[spans.passage] * spans.words).astype(np.int64)
        first = (spans.first - cut) % spans.words
        moved = Spans(first, spans.length, spans.words, spans.group, spans.passage)
        whole = moved.take(select(moved, first <= spans.words - spans.length, matches))
        doubled = 2 * whole.first + whole.length if midpoint else 2 * whole.first
        found[draw] = np.bincount(doubled * bins // (2 * whole.words), minlength=bins)
        left[draw, whole.group] = 1
    return found, left @ expected[:, :bins]
