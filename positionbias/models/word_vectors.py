"""Word vectors to start TK from: GloVe's or word2vec's text form, streamed, only the wanted words kept."""

from __future__ import annotations

import math
from collections.abc import Collection as Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, open_text
from positionbias.core.seeds import generator
from positionbias.text.vocabulary import PADDING, UNKNOWN, Vocabulary

__all__ = ["WordVectors", "embedding_matrix", "read_word_vectors"]


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors found for the wanted words, by lower-cased word; ``lines`` counts what the file held."""

    vectors: dict[str, np.ndarray]
    dimension: int
    lines: int


def read_word_vectors(path: Path | str, words: Container[str], dimension: int) -> WordVectors:
    """Read ``word v1 … vd`` lines, plain, ``.gz`` or ``.zst``; a word2vec header (two numbers) is skipped.

    A word that stands in several cases keeps its lower-cased line, else the first. Only the wanted words' lines are looked at;
    a line whose word has spaces in it (there are some in GloVe's largest file) is nobody's.

    Raises:
        InputError: a wanted word's line of another width or with a value that is no finite number, none of the words found, or
            a file that is not UTF-8 or ends early.
    """
    found: dict[str, np.ndarray] = {}
    exact: set[str] = set()
    number = 0
    with input_errors(path, wanted="word vectors"), open_text(path) as handle:
        for number, line in enumerate(handle, 1):
            word, _, rest = line.rstrip().partition(" ")
            if number == 1 and rest.isdigit() and word.isdigit():
                continue
            lowered = word.lower()
            if lowered not in words or lowered in exact or (lowered in found and word != lowered):
                continue
            parts = rest.split(" ")
            if len(parts) > dimension and not _is_number(parts[0]):
                continue
            found[lowered] = _values(path, number, parts, dimension)
            if word == lowered:
                exact.add(lowered)
    if not found:
        raise bad_input(
            path, wanted="vectors of the collection's words", found=f"none in {number:,} lines", do="check the file"
        )
    return WordVectors(found, dimension, number)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _values(path: Path | str, number: int, parts: list[str], dimension: int) -> np.ndarray:
    wanted = f"a word and {dimension} numbers"
    if len(parts) != dimension:
        raise bad_input(
            path, line=number, wanted=wanted, found=f"{len(parts)} values", do="give a file of this width, or --dimension"
        )
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = [math.nan]
    if not all(map(math.isfinite, values)):
        raise bad_input(path, line=number, wanted=wanted, found="a value that is no finite number", do="mend or drop the line")
    return np.asarray(values, dtype=np.float32)


def embedding_matrix(vocabulary: Vocabulary, given: WordVectors, *, seed: int) -> np.ndarray:
    """``(len(vocabulary), dim)``: given vectors; other words normal with the given ones' mean and deviation; padding zero."""
    stacked = np.stack(list(given.vectors.values()))
    random = generator(seed, "words without a vector")
    shape = (len(vocabulary), given.dimension)
    matrix = random.normal(stacked.mean(), stacked.std(), size=shape).astype(np.float32)
    for word, vector in given.vectors.items():
        if (number := vocabulary.number(word)) != UNKNOWN:
            matrix[number] = vector
    matrix[PADDING] = 0.0
    return matrix
