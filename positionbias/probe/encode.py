"""Encode passages to term vectors in a memory-mapped file, for the measures to read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType

import numpy as np
import torch

from positionbias.core.errors import StorageError
from positionbias.core.process import reserve
from positionbias.core.progress import step
from positionbias.models.protocols import TermEncoder
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.scored import PassageTexts

BATCH_WORDS = 8_192
READ_PASSAGES = 8_192


@dataclass
class EncodedPassages:
    """The term vectors of distinct passages; a context manager that deletes them on exit.

    ``offsets (n + 1,)`` int64: passage ``i`` has the words ``offsets[i] … offsets[i + 1]``; a
    word's position is its index in its passage. ``terms (words,)`` int32 vocabulary numbers;
    ``vectors (layers, words, dim)`` float32, memory-mapped.
    """

    passage_ids: list[str]
    offsets: np.ndarray
    terms: np.ndarray
    vectors: np.ndarray
    truncated: int

    def __enter__(self) -> EncodedPassages:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the vectors and their unnamed file."""
        self.vectors = np.empty((0, 0, 0), np.float32)


def _read(
    model: TermEncoder, collection: PassageTexts, passage_ids: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the terms of all passages in sequence, their offsets, and the number of passages that
    reach the length limit.
    """
    lengths = np.zeros(len(passage_ids) + 1, dtype=np.int64)
    blocks, truncated = [], 0
    for start in range(0, len(passage_ids), READ_PASSAGES):
        rows = model.read_passages(collection.texts(passage_ids[start : start + READ_PASSAGES]))
        lengths[start + 1 : start + 1 + len(rows)] = [len(row) for row in rows]
        truncated += sum(len(row) >= model.room for row in rows)
        blocks.append(np.fromiter(chain.from_iterable(rows), np.int32))
    return (
        np.concatenate(blocks) if blocks else np.empty(0, np.int32),
        np.cumsum(lengths),
        truncated,
    )


def _room(layers: int, words: int, dimension: int, folder: Path | None) -> np.ndarray:
    """Return zeros ``(layers, words, dim)`` float32 in an unnamed file, which disappears however
    the process ends.

    Raises:
        StorageError: not enough disk space.
    """
    shape = (layers, words, dimension)
    if not words:
        return np.zeros(shape, np.float32)
    size = layers * words * dimension * 4
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            reserve(file, size)
            return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)
    except OSError as error:
        found, of = (
            error.strerror or error,
            f"{words:,} words{f' after {layers} layers' * (layers > 1)}",
        )
        raise StorageError(
            f"{folder or tempfile.tempdir or '$TMPDIR'}: wanted {size / 1e9:.3g} GB for the term "
            f"vectors of {of}; found: {found}; free some space, set $TMPDIR to a folder with more, "
            "or probe fewer passages (--probe-passages)"
        ) from error


@torch.inference_mode()
def encode_passages(
    model: TermEncoder,
    collection: PassageTexts,
    passage_ids: Sequence[str],
    *,
    batch_words: int = BATCH_WORDS,
    folder: Path | None = None,
    description: str = "encoding passages",
) -> EncodedPassages:
    """Encode passages in batches of similar length, each once for all layers.

    The vectors go to a temporary file of layers × words × dim × 4 bytes in ``folder`` (default: the
    system's); memory holds one batch and the word numbers.

    Raises:
        InputError: a passage is not in the collection.
        StorageError: not enough disk space for the vectors.
    """
    terms, offsets, truncated = _read(model, collection, passage_ids)
    vectors = _room(len(model.term_layers), len(terms), model.dimension, folder)
    lengths = np.diff(offsets)
    with step(description, len(passage_ids), unit="passages") as bar:

        def encode(batch: np.ndarray) -> None:
            rows = [terms[offsets[i] : offsets[i + 1]].tolist() for i in batch]
            encoded = model.term_vectors(rows).float().cpu().numpy()
            for row, index in enumerate(batch):
                vectors[:, offsets[index] : offsets[index + 1]] = encoded[:, row, : lengths[index]]
            bar.advance(len(batch))

        TokenBudget(batch_words).work(lengths, encode)
    return EncodedPassages(list(passage_ids), offsets, terms, vectors, truncated)
