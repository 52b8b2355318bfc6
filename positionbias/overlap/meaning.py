"""Texts of one meaning: the cosine of an encoder's vectors is at least a threshold; all training texts are compared with all test texts, exactly.

Encoding takes milliseconds a text, so that a large corpus takes days. With ``settings.encode`` "candidates" only training texts
are encoded that words propose [decision]: those that share a tenth of the runs of 3 words, with test texts of fewer than
``settings.n`` words half of the words, seen from either text. ``recall.candidate_recall`` measures on a sample what that
misses. On 12,000 passages of MS MARCO against 3,000 others it encodes a fifth, and keeps 92 % of the pairs with minilm's own
threshold; half of the words would keep as much and take twenty times as long.

Texts are encoded in their comparable form, as queries are by ``leakage find``. Texts without a word have no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from positionbias.core.nearest import AtLeast
from positionbias.leakage.nearest import ENCODE_TEXTS, encoded
from positionbias.overlap.detectors import Encode, Hits, Search, Texts
from positionbias.overlap.scan import ShingleSearch
from positionbias.overlap.settings import CANDIDATES, OverlapSettings
from positionbias.overlap.table import ShingleTable

__all__ = ["candidates", "meaning"]

_SHORT, _LONG = (1, 0.5), (3, 0.1)  # words of a run, and the share of a text's runs


def meaning(tests: Texts, settings: OverlapSettings, encode: Encode) -> Search:
    """Prepare the search by cosine; with candidates only, among those."""
    assert settings.threshold is not None
    numbers = np.flatnonzero(tests.words.counts > 0)
    compare = (
        AtLeast(_vectors([tests.texts[number] for number in numbers.tolist()], encode), settings.threshold)
        if len(numbers)
        else None
    )
    propose = candidates(tests, settings) if settings.encode == CANDIDATES else None

    def search(batch: Texts) -> Hits:
        asked = batch.words.counts > 0
        if propose is not None:
            asked &= propose(batch)
        places = np.flatnonzero(asked)
        if compare is None or not len(places):
            return Hits.none()
        rows, test, cosine = compare(_vectors([batch.texts[place] for place in places.tolist()], encode))
        return Hits(places[rows], numbers[test], {"cosine": cosine})

    return search


def candidates(tests: Texts, settings: OverlapSettings) -> Callable[[Texts], np.ndarray]:
    """Return a function that says which of a batch of training texts are candidates ``(n,)`` bool."""
    short = tests.words.counts < settings.n
    sides = ((_SHORT, short), (_LONG, ~short))
    searches = [
        ShingleSearch(ShingleTable(tests.words, n, np.flatnonzero(own), share)) for (n, share), own in sides if own.any()
    ]

    def propose(batch: Texts) -> np.ndarray:
        found = np.zeros(len(batch), bool)
        for search in searches:
            found[search(batch).train] = True
        return found

    return propose


def _vectors(texts: Sequence[str], encode: Encode) -> np.ndarray:
    return np.concatenate(
        [encoded(texts[start : start + ENCODE_TEXTS], encode) for start in range(0, len(texts), ENCODE_TEXTS)]
    )
