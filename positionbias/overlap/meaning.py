"""Texts of one meaning: the cosine of an encoder's vectors is at least a threshold; all training texts are compared with all test texts, exactly.

Encoding takes milliseconds a text, so that a large corpus takes days. With ``settings.encode`` "candidates" only training texts are encoded that the words
propose: they have at least ``CANDIDATE`` of a test text's distinct words, or the other way round [decision]. ``candidate_recall`` measures on a sample what that misses.

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

__all__ = ["CANDIDATE", "candidates", "meaning"]

CANDIDATE = 0.5  # of a text's distinct words


def meaning(tests: Texts, settings: OverlapSettings, encode: Encode) -> Search:
    """Prepare the search by cosine; with candidates only, among those."""
    assert settings.threshold is not None
    numbers = np.flatnonzero(tests.words.counts > 0)
    compare = (
        AtLeast(_vectors([tests.texts[number] for number in numbers.tolist()], encode), settings.threshold)
        if len(numbers)
        else None
    )
    propose = candidates(tests) if settings.encode == CANDIDATES else None

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


def candidates(tests: Texts) -> Callable[[Texts], np.ndarray]:
    """Return a function that says which of a batch of training texts are candidates ``(n,)`` bool."""
    search = ShingleSearch(ShingleTable(tests.words, 1, np.arange(len(tests)), CANDIDATE))

    def propose(batch: Texts) -> np.ndarray:
        found = np.zeros(len(batch), bool)
        found[search(batch).train] = True
        return found

    return propose


def _vectors(texts: Sequence[str], encode: Encode) -> np.ndarray:
    return np.concatenate(
        [encoded(texts[start : start + ENCODE_TEXTS], encode) for start in range(0, len(texts), ENCODE_TEXTS)]
    )
