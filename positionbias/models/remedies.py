"""Remedies for position bias at inference, without training: a passage is read in several variants,
whose scores are pooled, or with other attention.

rotate          the mean over k rotations, at k evenly spaced words; the first is the passage itself
rotate-max      the maximum over them
segments-max    the maximum over the k equal parts of the passage, each read alone, as MaxP of Dai
                and Callan (2019) over a document's windows
calibrate       attention to a passage evened out over its parts (``models.calibration``), of models
                with one vector a text

Our decisions: rotations are spread evenly instead of drawn, so that k of them put each word at k
evenly spread places, and the same passage always gets the same score. A passage of fewer than k
words has some variants more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from positionbias.core.errors import SettingError
from positionbias.positions.rotate import rotate_at
from positionbias.text.splitter import USUAL_WORDS
from positionbias.text.words import word_spans

MOST_VARIANTS = 64


def rotations(text: str, number: int) -> list[str]:
    """Return the text rotated at ``number`` evenly spaced words, of which the first changes
    nothing.

    >>> rotations("one two three four", 2)
    ['one two three four', 'three four one two ']
    """
    starts = [start for start, _ in word_spans(text, USUAL_WORDS)]
    return [
        rotate_at(text, starts[place]) if place else text for place in _places(len(starts), number)
    ]


def segments(text: str, number: int) -> list[str]:
    """Return ``number`` parts of as many words as possible alike; the whole text in place of each
    part that would have no word.

    >>> segments("one two three four five", 2)
    ['one two ', 'three four five']
    """
    starts = [start for start, _ in word_spans(text, USUAL_WORDS)]
    bounds = [starts[place] if place else 0 for place in _places(len(starts), number)] + [len(text)]
    return [text[start:end] if end > start else text for start, end in pairwise(bounds)]


def _places(words: int, number: int) -> list[int]:
    return [part * words // number for part in range(number)]


@dataclass(frozen=True, slots=True)
class _Kind:
    variants: Callable[[str, int], list[str]]
    maximum: bool


REMEDIES: Mapping[str, _Kind] = {
    "rotate": _Kind(rotations, maximum=False),
    "rotate-max": _Kind(rotations, maximum=True),
    "segments-max": _Kind(segments, maximum=True),
}


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy by name, and the number of variants of a passage.

    Raises:
        SettingError: an unknown name, or a number that is not from 2 to 64.
    """

    name: str
    number: int

    def __post_init__(self) -> None:
        if self.name not in REMEDIES or not 2 <= self.number <= MOST_VARIANTS:
            raise SettingError(
                f"--remedy: wanted NAME:K with a name of {', '.join(REMEDIES)} and K from 2 to "
                f"{MOST_VARIANTS}; found {self.name}:{self.number}; give for example rotate:4"
            )

    def __str__(self) -> str:
        return f"{self.name}:{self.number}"

    @property
    def times(self) -> int:
        """How often a passage is read, its parts together as once."""
        return self.number if self.rotates else 1

    @property
    def maximum(self) -> bool:
        """True if the variants' scores are pooled by their maximum, false if by their mean."""
        return REMEDIES[self.name].maximum

    @property
    def rotates(self) -> bool:
        """True if the variants are rotations, each as long as the passage; false if they are parts
        of it.
        """
        return REMEDIES[self.name].variants is rotations

    def variants(self, text: str) -> Sequence[str]:
        """Return the text's variants, ``number`` of them."""
        return REMEDIES[self.name].variants(text, self.number)


_CALIBRATE = "calibrate"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Attention evened out over baskets of tokens: by how much, tokens a basket, and the share of
    the layers, the last of them.

    Raises:
        SettingError: a strength or share outside 0 to 1, 0 itself among them, or a basket without a
            token.
    """

    strength: float
    basket: int = 128
    layers: float = 0.5

    times: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not (0 < self.strength <= 1 and self.basket >= 1 and 0 < self.layers <= 1):
            raise SettingError(
                f"--remedy: wanted {_FORM}; found {self}; give for example {_CALIBRATE}:0.5"
            )

    def __str__(self) -> str:
        return f"{_CALIBRATE}:{self.strength:g}:{self.basket}:{self.layers:g}"

    def first_layer(self, layers: int) -> int:
        """Return the first of so many layers whose attention is evened out; there is at least
        one.
        """
        return min(layers - 1, layers - round(layers * self.layers))


_FORM = (
    f"{_CALIBRATE}:STRENGTH[:BASKET[:LAYERS]] with a strength and a share of layers above 0, to 1, "
    "and tokens a basket"
)
AnyRemedy = Remedy | Calibration


def read_remedy(told: str, others: Sequence[str] = ()) -> AnyRemedy:
    """Read a remedy, as ``str`` writes it: "rotate:4", "calibrate:0.5:128:0.5". ``others`` are what
    else could have been given, for the error.

    Raises:
        SettingError: it is none.
    """
    name, _, numbers = told.partition(":")
    if name == _CALIBRATE:
        given = numbers.split(":")
        try:
            if (
                len(given) <= 3
                and numbers.isascii()
                and all(basket.isdigit() for basket in given[1:2])
            ):
                return Calibration(
                    *(
                        kind(number)
                        for kind, number in zip((float, int, float), given, strict=False)
                    )
                )
        except ValueError:
            pass
        raise SettingError(
            f"--remedy: wanted {_FORM}; found {told!r}; give for example {_CALIBRATE}:0.5"
        )
    if not (numbers.isascii() and numbers.isdigit() and len(numbers) <= 3):
        wanted = f"NAME:K with a name of {', '.join(REMEDIES)}, or {_CALIBRATE}:STRENGTH"
        wanted += f", or one of {', '.join(others)}" if others else ""
        raise SettingError(f"--remedy: wanted {wanted}; found {told!r}; give for example rotate:4")
    return Remedy(name, int(numbers))
