"""Put a passage's sentences in a drawn order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from positionbias.core.seeds import generator
from positionbias.core.settings import Seeded
from positionbias.text.words import sentence_starts

PURPOSE = "shuffle sentences"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceShuffle(Seeded):
    """Settings of a shuffle: every order is equally likely, the passage's own among them.

    Raises:
        SettingError: a negative seed.
    """

    def apply(self, text: str, *key: str | int, purpose: str = PURPOSE) -> str:
        """Return the text with its sentences in an order drawn for ``key``; white space at a
        sentence's ends becomes one space between sentences, and a text that keeps its order is
        returned as it is.

        >>> SentenceShuffle(seed=5).apply("One is here. Two is there. Three is gone.", "p1")
        'Three is gone. Two is there. One is here.'
        """
        starts = sentence_starts(text)
        order = generator(self.seed, purpose, *key).permutation(len(starts)).tolist()
        if order == sorted(order):
            return text
        sentences = [
            text[start:end].strip() for start, end in pairwise([0, *starts[1:], len(text)])
        ]
        return " ".join(sentences[place] for place in order)
