"""Make texts for an audit: the evidence sentence at other places of its passage, and neutral words
that separate sentences. Pure functions of strings.

The evidence is exchanged with a *placebo*, a sentence without the answer that begins and ends like
it. Nothing else differs between the two texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from positionbias.audit.answers import Contrast
from positionbias.core.seeds import choose
from positionbias.text.sentences import Parts
from positionbias.text.words import split_words

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

NO_PLACEBO = "no other sentence begins and ends like the evidence"
LEAST_AROUND = 2  # sentences around the two exchanged ones; with fewer, the middle is an end
FILLER_WORDS = 20
SAMPLE = 500  # passages
COMMON = 100  # words
LEAST_FILLER = 5  # distinct words of a filler
_CLOSING, _ENDING = "\"'”’)]}»", ".!?…。！？"
_TRIED = 4  # candidate words per wanted word
_PREFIX = 4  # first characters of a filler word that no word of the query or the passage shares
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLAIN = (
    "further sundry remarks various notes perhaps later among several unrelated matters".split()
)


class Comparison(NamedTuple):
    """Two texts; the contrast is the score of ``after`` less that of ``before``."""

    contrast: Contrast
    before: str
    after: str


def placebos(parts: Parts) -> list[int]:
    """Return the sentences that begin and end like the evidence, so may be exchanged with it.

    >>> placebos(Parts(["and so on.", "One came.", "Two left.", "Three sta"], 1))
    [2]
    """
    edges = [_edges_of(text) for text in parts.sentences]
    own = parts.own
    return [place for place, each in enumerate(edges) if place != own and each == edges[own]]


def _edges_of(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence begins in lower case, as after a cut, and whether it ends."""
    return sentence.strip()[:1].islower(), has_end(sentence)


def has_end(sentence: str) -> bool:
    """Return True if a text ends like a sentence, perhaps within quotes or brackets."""
    return sentence.strip().rstrip(_CLOSING)[-1:] in tuple(_ENDING)


def ended(text: str) -> str:
    """Return a text with a full stop if it has no end."""
    return text if has_end(text) else f"{text}."


def exchanges(
    parts: Parts, fill: str, orders: int, draw: Callable[[int, int, str], list[int]]
) -> list[Comparison]:
    """Exchange evidence and placebo of one query in an even number of ``orders`` of the other
    sentences, mirrored pairs.

    ``draw(count, size, purpose)`` draws ``size`` different numbers below ``count``. Let e be the
    evidence, p the placebo, r = a b the others in a drawn order, split in two halves, and f the
    filler. An order gives e r p → p r e and e a f p b → p a f e b. The next order gives the first
    with r reversed, and the second, read backwards, with a and b exchanged, so that neighbours and
    broken transitions are the same on both sides. In the middle a sentence has two neighbours, at
    an end one: the filler stands for the second [decision].

    Raises:
        ValueError: no sentence can be the placebo.
    """
    texts, candidates, made = parts.sentences, placebos(parts), list[Comparison]()
    if not candidates:
        raise ValueError(NO_PLACEBO)
    evidence, larger = texts[parts.own], draw(2, 1, "half")[0]
    for order in range(0, orders, 2):
        place = candidates[draw(len(candidates), 1, f"placebo {order}")[0]]
        others = [text for number, text in enumerate(texts) if number not in (parts.own, place)]
        drawn = [others[number] for number in draw(len(others), len(others), f"order {order}")]
        around = [*drawn, *[fill] * (LEAST_AROUND - len(drawn))]
        half = (len(around) + (larger + order // 2) % 2) // 2
        near, far, pair = around[:half], around[half:], (evidence, texts[place])
        for rest, left, right, step in ((drawn, near, far, 1), (drawn[::-1], far, near, -1)):
            ends = (_joined(first, *rest, last) for first, last in (pair, pair[::-1]))
            middle = (
                _joined(*[first, *left, fill, second, *right][::step])
                for first, second in (pair, pair[::-1])
            )
            made += [Comparison(Contrast.ENDS, *ends), Comparison(Contrast.MIDDLE, *middle)]
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
    words, edges = len(split_words(sentence).words), _edges_of(sentence)

    def distance(other: str) -> tuple[int, bool]:
        return abs(len(split_words(other).words) - words), _edges_of(other) != edges

    return min(others, key=distance, default="")


def _joined(*texts: str) -> str:
    """Join the pieces by a space, each but the last ended, so that they stay separate sentences
    [decision].
    """
    return " ".join([*map(ended, texts[:-1]), *texts[-1:]])


def known_words(passages: Collection, seed: int) -> list[str]:
    """Return the words, of two characters or more, in at least two of 500 passages drawn by the
    seed; sorted, without the 100 most common, which a scorer may ignore.
    """
    rows = np.sort(np.array(choose(len(passages), SAMPLE, seed, "known words"), dtype=np.int64))
    counts: Counter[str] = Counter()
    for text in passages.texts_at(rows):
        counts.update({match.group().casefold() for match in _WORD.finditer(text)})
    common = sorted(counts, key=lambda word: (-counts[word], word))[:COMMON]
    return sorted({word for word, held in counts.items() if held > 1}.difference(common))


def filler(
    avoided: str, known: Sequence[str], seed: int, *of: str, words: int = FILLER_WORDS
) -> str:
    """Return a sentence of ``words`` known words, drawn by the seed and ``of``, none sharing its
    first four characters with a word of ``avoided``. Too few words are repeated; fewer than five
    are replaced by fixed English words.

    >>> known = ["boats", "rivers", "carts", "doors", "ovens", "winds"]
    >>> filler("What is the river?", known, 1, words=6)
    'Carts boats ovens doors winds carts.'
    """
    beginnings = {word.casefold()[:_PREFIX] for word in split_words(avoided).words}
    free = list[str]()
    for tried in (_TRIED * words, len(known)):  # many words begin alike only if few are known
        drawn = [known[place] for place in choose(len(known), tried, seed, "filler", *of)]
        free = [word for word in drawn if word[:_PREFIX] not in beginnings][:words]
        if len(free) == words:
            break
    if len(free) < min(LEAST_FILLER, words):
        free = [word for word in _PLAIN if word[:_PREFIX] not in beginnings] or _PLAIN
    chosen = " ".join(free[place % len(free)] for place in range(words))
    return f"{chosen[:1].upper()}{chosen[1:]}."
