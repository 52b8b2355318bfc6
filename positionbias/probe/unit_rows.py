"""Rows of a large, perhaps memory-mapped matrix, scaled to length 1 as they are read, a block at a time."""

from __future__ import annotations

import numpy as np

from positionbias.core.errors import InputError

__all__ = ["BLOCK_ROWS", "UnitRows"]

# small enough for a block to stay in the processor's cache and for its buffers to be reused: large fresh blocks cost
# more in page faults than in arithmetic
BLOCK_ROWS = 4_096


class UnitRows:
    """Term vectors ``(n, dim)``, read as unit vectors in float64; a zero vector stays zero, and so has cosine 0 with all."""

    def __init__(self, vectors: np.ndarray) -> None:
        if vectors.ndim != 2:
            raise ValueError(f"vectors must be (n, dim), got shape {vectors.shape}")
        self._vectors = np.asarray(vectors)
        self.dimension = int(vectors.shape[1])
        shape = (BLOCK_ROWS, self.dimension)
        self._raw = np.empty(shape, self._vectors.dtype)
        self._units = np.empty((2, *shape), np.float64)

    def take(self, rows: np.ndarray, buffer: int = 0) -> np.ndarray:
        """Unit vectors of at most ``BLOCK_ROWS`` rows, ``(len(rows), dim)``; overwritten by the next call with this buffer.

        Raises:
            InputError: a vector is not finite.
        """
        raw, units = self._raw[: len(rows)], self._units[buffer, : len(rows)]
        np.take(self._vectors, rows, axis=0, out=raw, mode="clip")  # "clip" reads straight into the buffer
        np.copyto(units, raw)
        norms = np.sqrt(np.einsum("ij,ij->i", units, units))
        if not np.isfinite(norms).all():
            raise InputError(
                "term vectors: wanted finite numbers; found NaN or infinity; the model's training diverged: train it again"
            )
        norms[norms == 0.0] = 1.0
        np.divide(units, norms[:, None], out=units)
        return units

    def cosines(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The cosine of each pair of rows, ``(pairs,)`` float64."""
        out = np.empty(len(first), np.float64)
        for start in range(0, len(first), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            np.einsum("ij,ij->i", self.take(first[block]), self.take(second[block], 1), out=out[block])
        return out
