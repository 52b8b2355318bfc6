"""Make texts for an audit: the evidence sentence at other places of its passage, and a passage in
thirds. Pure functions of strings.

Two sentences of a passage are exchanged: the evidence and a *placebo*, a sentence without the
answer that begins and ends like the evidence (so that a fragment is only exchanged with a
fragment). A piece without an end gets a full stop if another follows it. Nothing else differs
between the two texts. A scorer that takes the best of its sentences or short windows, whatever
their place, therefore gives both the same score on average, and one that adds up its sentences
exactly the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from positionbias.positions.rotate import rotate_at
from positionbias.text.sentences import Parts, parts_of, with_own_at
from positionbias.text.words import (
    USUAL_WORDS,
    WordMethod,
    sentence_starts,
    split_words,
    word_spans,
)

__all__ = [
    "NO_PLACEBO",
    "Exchange",
    "Needle",
    "exchanged_halves",
    "exchanges",
    "fillers",
    "has_end",
    "move_sentence",
    "nearest_in_words",
    "placebos",
    "replaced",
    "thirds",
    "turned",
]

LEAST_AROUND = 2  # sentences around the two exchanged ones; with fewer, the middle is an end
NO_PLACEBO = "no other sentence begins and ends like the evidence"
_CLOSING = "\"'”’)]}»"
_ENDING = ".!?…。！？"


class Needle(NamedTuple):
    """A passage with one of its sentences at every place: it is sentence ``i`` of ``texts[i]``, and
    ``own`` is its original place.
    """

    texts: list[str]
    own: int


class Exchange(NamedTuple):
    """Two texts that differ by the exchange of evidence and placebo; the effect is
    ``score(after) − score(before)``.

    ``middle`` False: the evidence is last in ``after`` and first in ``before``. True: it is in the
    middle in ``after``, and at one end in ``before``.
    """

    middle: bool
    before: str
    after: str


def move_sentence(text: str, start: int, end: int) -> Needle | str:
    """Move the sentence with characters ``[start, end)`` through its passage, with the others in
    order, or return why that is impossible.

    >>> move_sentence("One came. Two left. Three stayed.", 10, 13).texts[0]
    'Two left. One came. Three stayed.'
    """
    found = parts_of(text, start, end)
    if isinstance(found, str):
        return found
    return Needle([with_own_at(found, place) for place in range(len(found.sentences))], found.own)


def placebos(parts: Parts) -> list[int]:
    """Return the sentences that may be exchanged with the evidence, because they begin and end like
    it.

    >>> placebos(Parts(["and so on.", "One came.", "Two left.", "Three sta"], 1))
    [2]
    """
    kind = _edges_of(parts.sentences[parts.own])
    return [
        place
        for place, text in enumerate(parts.sentences)
        if place != parts.own and _edges_of(text) == kind
    ]


def _edges_of(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence begins in lower case, as after a cut, and whether it ends as a
    sentence.
    """
    return sentence.strip()[:1].islower(), has_end(sentence)


def has_end(sentence: str) -> bool:
    """Return True if a text ends like a sentence, perhaps within quotes or brackets."""
    return sentence.strip().rstrip(_CLOSING)[-1:] in tuple(_ENDING)


def exchanges(
    parts: Parts, fill: str, orders: int, choose: Callable[[int, int, str], list[int]]
) -> list[Exchange]:
    """Make the exchanges of one query in ``orders`` orders of the other sentences, which come in
    mirrored pairs.

    ``choose(count, size, purpose)`` draws ``size`` different numbers below ``count``. Let e be the
    evidence, p the placebo and r = a b the others in a drawn order, split in two halves (of an odd
    number, a is the larger one in every second pair). An order gives e r p → p r e  and  e a f p b
    → p a f e b. The next order gives the first with r reversed, and the second, read backwards,
    with a and b exchanged. Neighbours and broken transitions are then the same on both sides. f is
    the filler ``fill``. A window may reach into the neighbours, and a sentence has two in the
    middle but one at an end, so without filler a scorer that takes the best window seems to prefer
    the middle. Filler stands on one side of the middle place only, so that the ends are the
    passage's own ends. The first exchange needs none: filler would also hide the effect of a
    neighbour's words on the evidence [decision]. With fewer than two other sentences, fillers
    replace them in the second.

    Raises:
        ValueError: no sentence can be the placebo.
    """
    texts, candidates, made = parts.sentences, placebos(parts), list[Exchange]()
    if not candidates:
        raise ValueError(NO_PLACEBO)
    evidence = texts[parts.own]
    larger = choose(2, 1, "half")[0]
    for order in range(orders):
        if order % 2 == 0:
            place = candidates[choose(len(candidates), 1, f"placebo {order}")[0]]
            others = [text for number, text in enumerate(texts) if number not in (parts.own, place)]
            drawn = [
                others[number] for number in choose(len(others), len(others), f"order {order}")
            ]
            around = [*drawn, *[fill] * (LEAST_AROUND - len(drawn))]
            half = (len(around) + (larger + order // 2) % 2) // 2
            near, far = around[:half], around[half:]
        else:
            drawn, near, far = drawn[::-1], far, near
        placebo = texts[place]
        made.append(
            Exchange(False, _joined(evidence, *drawn, placebo), _joined(placebo, *drawn, evidence))
        )
        sides = [
            [one, *near, fill, other, *far]
            for one, other in ((evidence, placebo), (placebo, evidence))
        ]
        before, after = (_joined(*(side if order % 2 == 0 else side[::-1])) for side in sides)
        made.append(Exchange(True, before, after))
    return made


def fillers(others: int) -> int:
    """Return the number of fillers of a middle text with so many other sentences."""
    return 1 + max(0, LEAST_AROUND - others)


def turned(parts: Parts) -> tuple[str, str]:
    """Rotate the passage at sentence boundaries just before and just after the evidence, which is
    then first, and last.

    >>> turned(Parts(["a.", "b.", "c."], 1))
    ('b. c. a.', 'c. a. b.')
    """
    texts, own = parts.sentences, parts.own
    rest = [*texts[own + 1 :], *texts[:own]]
    return _joined(texts[own], *rest), _joined(*rest, texts[own])


def replaced(parts: Parts, other: str) -> tuple[str, str]:
    """Return the passage with another sentence in the evidence's place, and the passage itself.

    >>> replaced(Parts(["a.", "b.", "c."], 1), "x.")
    ('a. x. c.', 'a. b. c.')
    """
    texts = parts.sentences
    return _joined(*texts[: parts.own], other, *texts[parts.own + 1 :]), _joined(*texts)


def nearest_in_words(sentence: str, others: Iterable[str]) -> str:
    """Return the one of several sentences nearest in its number of words, of several the first that
    begins and ends alike; "" of none.

    >>> nearest_in_words("One came.", ["Two.", "all left.", "Two left.", "Three stayed."])
    'Two left.'
    """
    words, kind = len(split_words(sentence).words), _edges_of(sentence)
    nearest, least = "", (math.inf, True)
    for other in others:
        apart = abs(len(split_words(other).words) - words), _edges_of(other) != kind
        if apart < least:
            nearest, least = other, apart
        if apart == (0, False):  # none is nearer
            break
    return nearest


def exchanged_halves(text: str, words: WordMethod = USUAL_WORDS) -> str:
    """Exchange a passage's halves at the sentence boundary nearest to its middle word, or in a
    single sentence at the word boundary there.

    Of two equally near boundaries the first is used [decision]. A text of fewer than two words is
    unchanged.

    >>> exchanged_halves("One came. Two left. Three of them stayed here.")
    'Three of them stayed here. One came. Two left.'
    >>> exchanged_halves("one two three")
    'two three one '
    """
    spans = [place for place, _ in word_spans(text, words)]
    starts = [place for place in sentence_starts(text) if place > min(spans, default=0)]
    # a stop stays with its word
    spaced = [place for place in spans[1:] if text[place - 1].isspace()] or spans[1:]
    cut = min(
        starts or spaced,
        key=lambda place: abs(2 * bisect_left(spans, place) - len(spans)),
        default=0,
    )
    return _joined(text[cut:].strip(), text[:cut].strip()) if starts else rotate_at(text, cut)


def _joined(*texts: str) -> str:
    """Join the pieces by a space, and end each but the last with a full stop if needed, so that
    they stay separate sentences [decision].
    """
    return " ".join([*(text if has_end(text) else f"{text}." for text in texts[:-1]), *texts[-1:]])


def thirds(text: str, words: WordMethod = USUAL_WORDS) -> list[str]:
    """Return the first, middle and last third of a text's words, as slices of it; fewer if it has
    fewer than three words.

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
