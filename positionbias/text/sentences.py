"""Split a text into sentences, find the one with a span, and move it. Pure functions of strings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from positionbias.text.words import sentence_starts

TOO_FEW = "passage of fewer than three sentences"
NO_MARKS = "passage in Thai or Lao, which mark no end of a sentence"
NOT_ONE_SENTENCE = "answer in more than one sentence"
LEAST_SENTENCES = 3
_CLOSING, _ENDING = "\"'”’)]}»", ".!?…。！？"
_THAI_OR_LAO = re.compile("[\u0e01-\u0e30\u0e40-\u0e46\u0e81-\u0eb0\u0ec0-\u0edf]")  # letters


class Parts(NamedTuple):
    """The sentences of a passage, and the number of the one with the answer."""

    sentences: list[str]
    own: int


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the characters ``[start, end)`` of each sentence, without the white space between
    them.

    >>> sentence_spans("One came.  Two left.")
    [(0, 9), (11, 20)]
    """
    edges = [*sentence_starts(text), len(text)]
    return [_stripped(text, start, end) for start, end in pairwise(edges)]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(piece.strip())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the white space between them.

    >>> sentences("One came. Two left. Three stayed.")
    ['One came.', 'Two left.', 'Three stayed.']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def has_end(sentence: str) -> bool:
    """Return True if a text ends like a sentence, perhaps within quotes or brackets."""
    return sentence.strip().rstrip(_CLOSING)[-1:] in tuple(_ENDING)


def ended(text: str) -> str:
    """Return a text with a full stop if it has no end."""
    return text if has_end(text) else f"{text}."


def parts_of(text: str, start: int, end: int) -> Parts | str:
    """Return the sentences of a text and the one with characters ``[start, end)``, or the reason
    why it cannot be moved.

    >>> parts_of("One came. Two left. Three stayed.", 10, 13).own
    1
    """
    own = sentence_holding(text, sentence_starts(text), [(start, end)])
    return own if isinstance(own, str) else Parts(sentences(text), own)


def sentence_holding(
    text: str, starts: Sequence[int], spans: Iterable[tuple[int, int]]
) -> int | str:
    """Return the sentence with all characters of ``spans`` (at least one), given the sentence
    ``starts`` of a text, or why it cannot be moved.

    >>> text = "One came. Two left. Three stayed."
    >>> (
    ...     sentence_holding(text, [0, 10, 20], [(10, 13), (14, 18)]),
    ...     sentence_holding(text, [0, 10, 20], [(8, 13)]),
    ... )
    (1, 'answer in more than one sentence')
    >>> sentence_holding("ร้านเปิดเก้าโมง ปิดหกโมง", [0], [(0, 4)])
    'passage in Thai or Lao, which mark no end of a sentence'
    """
    if len(starts) < LEAST_SENTENCES:
        return (
            NO_MARKS
            if 2 * len(_THAI_OR_LAO.findall(text)) > sum(map(str.isalpha, text))
            else TOO_FEW
        )
    own, *others = {
        max(0, bisect_right(starts, at) - 1)
        for start, end in spans
        for at in (start, max(start, end - 1))
    }
    return NOT_ONE_SENTENCE if others else own


def with_own_at(parts: Parts, place: int) -> str:
    """Return the passage with its own sentence as sentence ``place`` and the others in order.

    Sentences are joined by one space, even if none moves, so that all versions have the same words
    [decision].

    >>> with_own_at(Parts(["One came.", "Two left.", "Three stayed."], 1), 0)
    'Two left. One came. Three stayed.'
    """
    rest = [*parts.sentences[: parts.own], *parts.sentences[parts.own + 1 :]]
    return " ".join([*rest[:place], parts.sentences[parts.own], *rest[place:]])
