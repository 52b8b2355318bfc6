"""Encode a collection's rows by blocks, in stored order, from its passages or from other texts for
the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np

from positionbias.core.errors import InputError, naming_text
from positionbias.core.progress import Progress
from positionbias.dense.single_vectors import SingleVectors, length_one
from positionbias.engine.ahead import ahead, one_behind
from positionbias.models.transfer import short_turns

READ_PASSAGES = 2_048  # passages read at once and batched by length
# of a vector's length: twice what float16 loses of numbers from 6·10⁻⁵ to 65,504
_ROUNDING = 2.0**-10


class RowIds(Protocol):
    """A source of the passages' ids for rows: a collection."""

    def passage_ids_at(self, rows: np.ndarray) -> list[str]: ...


class RowTexts(Protocol):
    """A source of texts for a collection's rows: the collection, or a view of it."""

    def texts_at(self, rows: np.ndarray) -> list[str]: ...


class Rows(NamedTuple):
    """A range of passages, by stored row."""

    first: int
    last: int


class EncodedBlock(NamedTuple):
    """Vectors ``(n, dim)`` of passages from row ``first`` on, with the numbers of empty ones, of
    others with a vector of zeros, and of those at the length limit. ``missing`` are the rows for
    which an endpoint gives no vector; they are kept as zeros."""

    first: int
    vectors: np.ndarray
    empty: int
    zeros: int
    truncated: int
    missing: np.ndarray


def encoded_blocks(
    encoder: SingleVectors,
    collection: RowIds,
    texts: RowTexts,
    rows: Rows,
    precision: np.dtype,
    bar: Progress | None = None,
) -> Iterator[EncodedBlock]:
    """Yield the vectors of these rows in blocks of 2,048, as stored: of length 1 for a cosine
    model, in ``precision``.

    Texts are read ahead, in a thread. Raises:
        InputError: a vector that is not finite, or too large or too small for its type.
    """
    with (
        short_turns() if encoder.packs else nullcontext(),
        closing(ahead(_read(encoder, texts, rows))) as blocks,
    ):
        begun = (
            (first, found, read, _begun(encoder, collection, first, found, read, bar))
            for first, found, read in blocks
        )
        for first, found, read, vectors_of in one_behind(begun):
            given = vectors_of()
            missing = np.isnan(given).all(axis=1) & getattr(encoder.model, "may_lack", False)
            given[missing] = 0
            vectors = _rounded(encoder, collection, first, given, precision)
            empty = np.array([not text.strip() for text in found], bool)
            zeros = int((~vectors.any(axis=1) & ~empty & ~missing).sum())
            truncated = sum(len(row) >= encoder.model.room for row in read)
            yield EncodedBlock(
                first, vectors, int(empty.sum()), zeros, truncated, first + np.flatnonzero(missing)
            )


def _read(
    encoder: SingleVectors, texts: RowTexts, rows: Rows
) -> Iterator[tuple[int, list[str], Sequence[Any]]]:
    for first in range(rows.first, rows.last, READ_PASSAGES):
        found = texts.texts_at(np.arange(first, min(first + READ_PASSAGES, rows.last)))
        yield first, found, encoder.read_passages(found)


def _begun(
    encoder: SingleVectors,
    collection: RowIds,
    first: int,
    texts: Sequence[str],
    read: Sequence[Any],
    bar: Progress | None,
) -> Callable[[], np.ndarray]:
    with naming_text(
        "passage",
        lambda: zip(
            collection.passage_ids_at(np.arange(first, first + len(texts))), texts, strict=True
        ),
    ):
        return encoder.begin_passages(read, bar)


def _rounded(
    encoder: SingleVectors, collection: RowIds, first: int, vectors: np.ndarray, precision: np.dtype
) -> np.ndarray:
    """Return the vectors as stored.

    Raises:
        InputError: one is not finite, or so large or small that its type holds it less than to 2⁻¹⁰
            of its length.
    """
    if encoder.similarity == "cosine":
        vectors = length_one(vectors)
    with np.errstate(over="ignore"):
        kept = vectors.astype(precision)
    wrong = ~np.isfinite(kept).all(axis=1)
    # float16 rounds to 2⁻¹¹ of each number, but to 2⁻²⁵ of 1 below 6·10⁻⁵
    if precision != vectors.dtype:
        exact = vectors.astype(np.float64)
        with np.errstate(invalid="ignore"):
            wrong |= np.linalg.norm(exact - kept, axis=1) > _ROUNDING * np.linalg.norm(
                exact, axis=1
            )
    if wrong.any():
        place = int(np.argmax(wrong))
        passage_id = collection.passage_ids_at(np.array([first + place]))[0]
        if not np.isfinite(vectors[place]).all():
            raise InputError(
                f"passage {passage_id!r}: its vector holds NaN or infinity; check the model, or "
                "give --precision float32"
            )
        raise InputError(
            f"passage {passage_id!r}: {precision.name} does not hold its vector, whose largest "
            f"number is {np.abs(vectors[place]).max():g}; give --precision-on-disk float32"
        )
    return kept
