"""Surface-only baseline scorers: the position of the query's words in a passage."""

from __future__ import annotations

from functools import lru_cache

from positionbias.text.vocabulary import words_of
from positionbias.text.words import sentence_starts

STOP_WORDS = frozenset(
    "a an and are as at be by did do does for from had has have how in is it its of on or that the "
    "their there these this to was were what when where which who whom whose why will with".split()
)


def content_words(text: str) -> frozenset[str]:
    """Return the distinct lower-cased words with a letter or digit that are not stop words."""
    return frozenset(w for w in words_of(text) if w not in STOP_WORDS and any(map(str.isalnum, w)))


# queries share candidates, and reading a passage costs far more than scoring it
@lru_cache(maxsize=16_384)
def _sentences(passage: str) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return each sentence's start and content words; a leading fragment counts as a sentence."""
    starts = sentence_starts(passage)
    ends = [*starts[1:], len(passage)]  # a sentence ends where the next begins
    return tuple(
        (start, content_words(passage[start:end])) for start, end in zip(starts, ends, strict=False)
    )


def position_only(query: str, passage: str) -> float:
    """Score by how early the query's words appear: 1 − the relative start of the best sentence, in
    [0, 1].

    The best sentence has the most of the query's content words (the first of several). Their number
    does not affect the score, which depends on position alone. A passage without any of the words
    scores 0.
    """
    wanted = content_words(query)
    matches = [(len(wanted & words), start) for start, words in _sentences(passage)]
    best = max((count for count, _ in matches), default=0)
    return (
        1.0 - next(start for count, start in matches if count == best) / len(passage)
        if best
        else 0.0
    )
