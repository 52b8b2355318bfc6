"""Make known duplicates of test texts, by kind, to measure what a detector finds of them: its recall.

Each drawn test text gives one duplicate of every kind that it allows. The strength of a kind is fixed (``STRENGTHS``) [decision]: recall at
another strength is another number. "Words replaced" takes the place of a paraphrase, which no rule can write: words are exchanged for random ones,
so the meaning is lost, and only detectors by words are measured fairly by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import NamedTuple

from positionbias.core.seeds import drawn_order, key64
from positionbias.text.sentences import sentences

__all__ = ["PURPOSE", "STRENGTHS", "Duplicate", "DuplicateKind", "duplicate", "plan_duplicates"]

PURPOSE = "planted duplicates"
_MARKS = r"[!-/:-@\[-^`{-~“”‘’–—]+"
_EDGES = re.compile(rf"(?<!\w){_MARKS}|{_MARKS}(?!\w)")  # punctuation that does not join two letters
_LEAST_LETTERS = 4  # of a word that gets a typing error


class DuplicateKind(StrEnum):
    """What was done to a test text."""

    EXACT = "exact"
    CASE = "case and punctuation"
    TRUNCATED = "truncated"
    DROPPED = "words dropped"
    SENTENCES = "sentences reordered"
    SWAPPED = "words swapped"
    MERGED = "merged into a longer text"
    SPELLING = "other spelling"
    REPLACED = "words replaced"


STRENGTHS: Mapping[DuplicateKind, float] = {
    DuplicateKind.TRUNCATED: 0.6,  # of the words kept, from the first
    DuplicateKind.DROPPED: 0.1,
    DuplicateKind.SWAPPED: 0.1,  # exchanged with the next word
    DuplicateKind.SPELLING: 0.1,
    DuplicateKind.REPLACED: 0.3,
}


class Duplicate(NamedTuple):
    """A planted training text: its kind, the place of its test text, and its text."""

    kind: DuplicateKind
    test: int
    text: str


def plan_duplicates(texts: Sequence[tuple[str, str]], number: int, seed: int) -> list[Duplicate]:
    """Draw ``number`` of the test texts (id, text), or all if fewer, and make their duplicates, by kind and then in the order of the draw.

    A kind that a text does not allow, as one sentence cannot be reordered, is left out for that text. Texts without a word are never drawn.
    """
    places = {text_id: place for place, (text_id, text) in enumerate(texts) if re.search(r"\w", text)}
    drawn = [places[text_id] for text_id in drawn_order(places, seed, PURPOSE)[:number]]
    found = []
    for kind in DuplicateKind:
        for turn, place in enumerate(drawn):
            text_id, text = texts[place]
            others = [texts[drawn[(turn + step) % len(drawn)]][1] for step in (1, 2)]
            made = duplicate(kind, text, others, Random(key64(seed, PURPOSE, kind.value, text_id)))
            if made is not None:
                found.append(Duplicate(kind, place, made))
    return found


def duplicate(kind: DuplicateKind, text: str, others: Sequence[str], random: Random) -> str | None:
    """Return a duplicate of a text, None where it does not allow this kind; ``others`` are two texts to merge with or take words from."""
    return _MADE[kind](text, others, random)


def _case(text: str, _: Sequence[str], random: Random) -> str:
    changed = random.choice((str.upper, str.lower, str.title))(_EDGES.sub(" ", text))
    return " ".join(changed.split())


def _truncated(text: str, _: Sequence[str], random: Random) -> str | None:
    words = text.split()
    kept = min(round(STRENGTHS[DuplicateKind.TRUNCATED] * len(words)), len(words) - 1)
    return " ".join(words[:kept]) if kept > 0 else None


def _dropped(text: str, _: Sequence[str], random: Random) -> str | None:
    words = text.split()
    gone = _drawn(DuplicateKind.DROPPED, range(len(words)), random)
    return " ".join(word for place, word in enumerate(words) if place not in gone) if len(words) > 1 else None


def _sentences(text: str, _: Sequence[str], random: Random) -> str | None:
    parts = sentences(text)
    turned = random.sample(parts, len(parts))
    if turned == parts:  # one draw in n!; the turn by one is another order wherever there is one
        turned = [*parts[1:], *parts[:1]]
    return " ".join(turned) if turned != parts else None


def _swapped(text: str, _: Sequence[str], random: Random) -> str | None:
    words = text.split()
    for place in _drawn(DuplicateKind.SWAPPED, range(len(words) - 1), random):
        words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words) if words != text.split() else None


def _merged(text: str, others: Sequence[str], random: Random) -> str | None:
    before, after = others
    return f"{before} {text} {after}" if text not in others else None


def _spelling(text: str, _: Sequence[str], random: Random) -> str | None:
    words = text.split()
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) >= _LEAST_LETTERS]
    chosen = _drawn(DuplicateKind.SPELLING, long, random)
    for place in chosen:
        words[place] = _mistyped(words[place], random)
    return " ".join(words) if chosen else None


def _mistyped(word: str, random: Random) -> str:
    """Return a word with one letter dropped, doubled, or exchanged with the one before it (doubled where the two are the same)."""
    at = random.randrange(1, len(word))
    doubled = word[:at] + word[at - 1 :]
    made = random.choice((word[:at] + word[at + 1 :], doubled, word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]))
    return doubled if made == word else made


def _replaced(text: str, others: Sequence[str], random: Random) -> str | None:
    words, there = text.split(), " ".join(others).split()
    for place in _drawn(DuplicateKind.REPLACED, range(len(words)), random):
        words[place] = random.choice(there)
    return " ".join(words) if words != text.split() else None


def _drawn(kind: DuplicateKind, places: Sequence[int], random: Random) -> list[int]:
    """Draw the share of places that the kind's strength says, at least one where there is one, in rising order."""
    count = min(len(places), max(1, round(STRENGTHS[kind] * len(places))))
    return sorted(random.sample(list(places), count))


_MADE: Mapping[DuplicateKind, Callable[[str, Sequence[str], Random], str | None]] = {
    DuplicateKind.EXACT: lambda text, _, __: text,
    DuplicateKind.CASE: _case,
    DuplicateKind.TRUNCATED: _truncated,
    DuplicateKind.DROPPED: _dropped,
    DuplicateKind.SENTENCES: _sentences,
    DuplicateKind.SWAPPED: _swapped,
    DuplicateKind.MERGED: _merged,
    DuplicateKind.SPELLING: _spelling,
    DuplicateKind.REPLACED: _replaced,
}
