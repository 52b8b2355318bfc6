"""Find the cuts of Python strings in bulk, for raw formats other than TSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from positionbias.positions.cuts import byte_cuts, fates, laid_out
from positionbias.positions.rotate import Rotation

__all__ = ["cuts_of"]


def cuts_of(texts: Sequence[str], keys: Sequence[bytes], rotation: Rotation) -> tuple[list[int], Counter[str]]:
    """Return the character at which each text is cut (0: no cut), and counts of texts by fate.

    Raises:
        UnicodeEncodeError: a text holds half a surrogate pair.
    """
    encoded = [text.encode() for text in texts]
    data, starts, ends = laid_out(encoded)
    cuts = byte_cuts(data, starts, ends, keys, rotation)
    places = [
        cut if len(item) == len(text) else len(item[:cut].decode())
        for text, item, cut in zip(texts, encoded, cuts.offsets.tolist(), strict=True)
    ]
    return places, fates(cuts, rotation)
