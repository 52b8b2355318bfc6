"""Read rows of a large, perhaps memory-mapped matrix as unit vectors, a block at a time."""

from __future__ import annotations

import numpy as np

from positionbias.core.errors import InputError

# small enough for a block to stay in the processor's cache and for its buffers to be reused: new
# large blocks cost more in page faults than in arithmetic
BLOCK_ROWS = 4_096


class UnitRows:
    """Term vectors ``(n, dim)``, read as unit vectors in float64; a zero vector stays zero, so its
    cosines are 0.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        if vectors.ndim != 2:
            raise ValueError(f"vectors must be (n, dim), got shape {vectors.shape}")
        self._vectors = np.asarray(vectors)
        self.dimension = int(vectors.shape[1])
        shape = (BLOCK_ROWS, self.dimension)
        self._raw = np.empty((2, *shape), self._vectors.dtype)
        self._units = np.empty(shape, np.float64)
        self._norms = np.empty(len(vectors), np.float64)
        for start in range(0, len(vectors), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = self._units[: len(self._norms[block])]
            np.copyto(rows, self._vectors[block])
            np.sqrt(np.einsum("ij,ij->i", rows, rows), out=self._norms[block])
        self._norms[self._norms == 0.0] = 1.0

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return unit vectors of at most ``BLOCK_ROWS`` rows, ``(len(rows), dim)``; the next call
        overwrites them.

        Raises:
            InputError: a vector is not finite.
        """
        return np.divide(
            self._read(rows, 0), self._finite_norms(rows)[:, None], out=self._units[: len(rows)]
        )

    def cosines(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the cosine of each pair of rows, ``(pairs,)`` float64; raises as ``take``."""
        out = np.empty(len(first), np.float64)
        for start in range(0, len(first), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            pair = self._read(first[block], 0), self._read(second[block], 1)
            np.einsum("ij,ij->i", *pair, out=out[block], dtype=np.float64)
        return out / (self._finite_norms(first) * self._finite_norms(second))

    def _read(self, rows: np.ndarray, buffer: int) -> np.ndarray:
        # "clip" reads straight into the buffer; the rows are known to exist
        return np.take(self._vectors, rows, axis=0, out=self._raw[buffer, : len(rows)], mode="clip")

    def _finite_norms(self, rows: np.ndarray) -> np.ndarray:
        norms = self._norms[rows]
        if not np.isfinite(norms).all():
            raise InputError(
                "term vectors: wanted finite numbers; found NaN or infinity; the model's training "
                "diverged: train it again"
            )
        return norms
