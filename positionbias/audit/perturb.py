"""Texts made for an audit: one sentence at every place of its passage, and a passage in thirds. Pure functions of strings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from positionbias.text.words import WordMethod, sentence_starts, word_spans

__all__ = ["NOT_ONE_SENTENCE", "TOO_FEW", "Needle", "move_sentence", "sentences", "thirds"]

TOO_FEW = "passage of fewer than three sentences"
NOT_ONE_SENTENCE = "answer in more than one sentence"
LEAST_SENTENCES = 3


class Needle(NamedTuple):
    """A passage with one of its sentences at every place: ``texts[i]`` has it as sentence ``i``; ``own`` is where it stood."""

    texts: list[str]
    own: int


def sentences(text: str) -> list[str]:
    """The sentences of a text without the white space between them.

    >>> sentences("One came. Two left. Three stayed.")
    ['One came.', 'Two left.', 'Three stayed.']
    """
    starts = sentence_starts(text)
    return [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def move_sentence(text: str, start: int, end: int) -> Needle | str:
    """The sentence that holds characters ``[start, end)`` moved through its passage, the others in order; or why that cannot be.

    Sentences are joined by one space, also where the needle is at its own place, so that all versions hold the same words [decision].

    >>> move_sentence("One came. Two left. Three stayed.", 10, 13).texts[0]
    'Two left. One came. Three stayed.'
    """
    starts = sentence_starts(text)
    if len(starts) < LEAST_SENTENCES:
        return TOO_FEW
    own = max(0, bisect_right(starts, start) - 1)
    if bisect_right(starts, max(start, end - 1)) - 1 != own:
        return NOT_ONE_SENTENCE
    parts = sentences(text)
    needle, rest = parts[own], [*parts[:own], *parts[own + 1 :]]
    return Needle([" ".join([*rest[:place], needle, *rest[place:]]) for place in range(len(parts))], own)


def thirds(text: str, words: WordMethod = "blingfire") -> list[str]:
    """The first, middle and last third of a text's words, as slices of it; fewer where it has fewer than three words.

    >>> thirds("a b c d e f g")
    ['a b', 'c d', 'e f g']
    """
    spans = word_spans(text, words)
    edges = _edges(len(spans))
    return [text[spans[low][0] : spans[high - 1][1]] for low, high in edges]


def _edges(count: int) -> Sequence[tuple[int, int]]:
    if count < 3:
        return [(index, index + 1) for index in range(count)]
    cuts = [0, count // 3, 2 * count // 3, count]
    return list(pairwise(cuts))
