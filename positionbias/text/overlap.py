"""Scorers that know nothing but surface: where the query's words sit, and how many there are. Baselines, not models."""

from __future__ import annotations

from functools import lru_cache

from positionbias.text.vocabulary import words_of
from positionbias.text.words import sentence_starts

__all__ = ["STOP_WORDS", "content_words", "position_only", "word_overlap"]

STOP_WORDS = frozenset(
    "a an and are as at be by did do does for from had has have how in is it its of on or that the their there these this to "
    "was were what when where which who whom whose why will with".split()
)


def content_words(text: str) -> frozenset[str]:
    """The distinct lower-cased words with a letter or digit that are no stop words."""
    return frozenset(w for w in words_of(text) if w not in STOP_WORDS and any(map(str.isalnum, w)))


def word_overlap(query: str, passage: str) -> float:
    """The share of the query's content words that stand in the passage, in [0, 1]."""
    wanted = content_words(query)
    return len(wanted & content_words(passage)) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=16_384)  # candidates of many queries share passages; reading one costs far more than scoring it
def _sentences(passage: str) -> tuple[tuple[int, frozenset[str]], ...]:
    """Each sentence's start and its content words; a leading fragment counts as a sentence."""
    starts = sentence_starts(passage)
    ends = [*starts[1:], len(passage)]  # a sentence ends where the next begins
    return tuple((start, content_words(passage[start:end])) for start, end in zip(starts, ends, strict=False))


def position_only(query: str, passage: str) -> float:
    """How far in front the query is met: 1 − (where the best sentence starts, relative), in [0, 1].

    The best sentence holds the most of the query's content words (the first of several). How many it holds does not enter the
    score: this scorer knows position and nothing else. A passage without any of the words scores 0.
    """
    wanted = content_words(query)
    matches = [(len(wanted & words), start) for start, words in _sentences(passage)]
    best = max((count for count, _ in matches), default=0)
    return 1.0 - next(start for count, start in matches if count == best) / len(passage) if best else 0.0
