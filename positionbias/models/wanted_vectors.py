"""Collect the vectors of wanted words, one a word, and count skipped entries."""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from positionbias.core.errors import InputError, bad_input


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors found for the wanted words, by lower-cased word.

    ``lines`` counts the words in the file; ``cased`` the words found only with capitals, ``both``
    those found with and without; ``unreadable`` the file's words that are not UTF-8, which match
    nothing.
    """

    vectors: dict[str, np.ndarray]
    dimension: int
    lines: int
    cased: int = 0
    both: int = 0
    unreadable: int = 0

    def __str__(self) -> str:
        counts = {
            f"{len(self.vectors):,} words found among {self.lines:,}": True,
            f"{self.both:,} also occur with capitals (skipped)": self.both,
            f"{self.cased:,} occur only with capitals": self.cased,
            (
                f"{self.unreadable:,} of the file's words are not UTF-8 and were skipped"
            ): self.unreadable,
        }
        return "; ".join(text for text, shown in counts.items() if shown)


class WantedVectors:
    """A collector of vectors as a reader finds them.

    Models look words up in lower case, so a word gets its lower-case entry, or else its first entry
    with capitals (``Paris`` for ``paris``) [decision].
    """

    def __init__(self, path: Path, words: Container[str], dimension: int) -> None:
        self.path, self.words, self.dimension = path, words, dimension
        self.unreadable = 0
        self._found: dict[str, np.ndarray] = {}
        self._exact: set[str] = set()
        self._cased: set[str] = set()

    def asks_for(self, word: str) -> str | None:
        """Return the lower-cased word if this entry's vector is wanted and must be given; else
        None.
        """
        lowered = word.lower()
        if lowered not in self.words:
            return None
        if word != lowered:
            self._cased.add(lowered)
            return None if lowered in self._found else lowered
        if lowered in self._exact:
            return None
        self._exact.add(lowered)
        return lowered

    def give(
        self, word: str, vector: np.ndarray, *, line: int | None = None, record: int | None = None
    ) -> None:
        """Keep the vector of a wanted word, found at ``line`` or ``record``, from 1.

        Raises:
            InputError: a value is not finite.
        """
        with np.errstate(over="ignore"):
            kept = vector.astype(np.float32)
        if not np.isfinite(kept).all():
            place = f" in record {record:,}" if record is not None else ""
            raise bad_input(
                self.path,
                line=line,
                wanted=f"a word and {self.dimension} numbers",
                found=f"a value that is not finite{place}",
                do="fix or drop the word",
            )
        self._found[word] = kept

    def wrong_width(self, width: int, *, line: int | None = None) -> InputError:
        """Return an error about vectors that do not have the model's width."""
        do = (
            f"give --dimension {width}, or a file of this width"
            if width
            else "check that it is a file of word vectors"
        )
        return bad_input(
            self.path,
            line=line,
            wanted=f"a word and {self.dimension} numbers",
            found=f"{width} numbers",
            do=do,
        )

    def done(self, lines: int) -> WordVectors:
        """Return all that was found.

        Raises:
            InputError: none was found.
        """
        if not self._found:
            raise bad_input(
                self.path,
                wanted="vectors of the collection's words",
                found=f"none among {lines:,} words",
                do="check the file",
            )
        cased = len(self._found.keys() - self._exact)
        both = len(self._exact & self._cased)
        return WordVectors(self._found, self.dimension, lines, cased, both, self.unreadable)
