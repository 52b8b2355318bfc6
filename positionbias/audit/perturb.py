"""Make texts for an audit: the evidence sentence at other places of its passage. Pure functions of
strings.

Two sentences of a passage are exchanged: the evidence and a *placebo*, a sentence without the
answer that begins and ends like the evidence (so that a fragment is only exchanged with a
fragment). A piece without an end gets a full stop if another follows it. Nothing else differs
between the two texts. A scorer that takes the best of its sentences or short windows, whatever
their place, therefore gives both the same score on average, and one that adds up its sentences
exactly the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from positionbias.text.sentences import Parts
from positionbias.text.words import split_words

__all__ = [
    "NO_PLACEBO",
    "Exchange",
    "exchanges",
    "fillers",
    "has_end",
    "nearest_in_words",
    "placebos",
    "replaced",
    "turned",
]

LEAST_AROUND = 2  # sentences around the two exchanged ones; with fewer, the middle is an end
NO_PLACEBO = "no other sentence begins and ends like the evidence"
_CLOSING = "\"'”’)]}»"
_ENDING = ".!?…。！？"


class Exchange(NamedTuple):
    """Two texts that differ by the exchange of evidence and placebo; the effect is
    ``score(after) − score(before)``.

    ``middle`` False: the evidence is last in ``after`` and first in ``before``. True: it is in the
    middle in ``after``, and at one end in ``before``.
    """

    middle: bool
    before: str
    after: str


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


def _joined(*texts: str) -> str:
    """Join the pieces by a space, and end each but the last with a full stop if needed, so that
    they stay separate sentences [decision].
    """
    return " ".join([*(text if has_end(text) else f"{text}." for text in texts[:-1]), *texts[-1:]])
