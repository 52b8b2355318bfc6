"""Cache query vectors: one file per block of texts, keyed by content and model; files may be
deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.arrays import mapped_array
from positionbias.core.errors import InputError, OutputExistsError, StorageError
from positionbias.core.files import home, refuse_links
from positionbias.core.manifest import Manifest, manifest_path, read_manifest, write_manifest
from positionbias.core.per_process import PerProcess
from positionbias.core.publish import atomic_file
from positionbias.core.seal import verified
from positionbias.core.shard_work import MapShards
from positionbias.leakage.nearest import Encode

__all__ = ["FOLDER", "KeptVectors"]

FOLDER = ".query-vectors"  # under $POSBIAS_HOME; no name that is looked up begins with a dot


class _Block(NamedTuple):
    """A block's vectors ``(n, dim)``, and whether they were in a file."""

    vectors: np.ndarray
    reused: bool


class KeptVectors:
    """An ``Encode`` that calls ``encode`` only for blocks that are not in a file; other processes
    make their own ``encode``.

    ``model`` names everything else that vectors depend on (the model's checksum, the precision). A
    block is one call's texts, so the same file of queries reuses its vectors for any threshold and
    test queries. Vectors are stored as float32, 4 · dim bytes per query. ``made`` and ``reused``
    count texts; a block whose file cannot be written is not kept.
    """

    def __init__(self, encode: PerProcess[Encode], model: str, folder: Path | None = None) -> None:
        self.encode, self.model = encode, model
        self.folder = folder or home() / FOLDER
        self.made = self.reused = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.encode, self.model, self.folder)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors ``(n, dim)`` float32 of texts.

        Raises:
            InputError: the folder, or something in it, is a link.
        """
        return self._counted(self.block(texts))

    def blocks(self, texts: Iterable[Sequence[str]], map_shards: MapShards) -> Iterator[np.ndarray]:
        """Yield the vectors of blocks of texts, in order, several at once where ``map_shards``
        does.

        Raises:
            InputError: the folder, or something in it, is a link.
        """
        yield from map(self._counted, map_shards(self.block, texts))

    def _counted(self, block: _Block) -> np.ndarray:
        if block.reused:
            self.reused += len(block.vectors)
        else:
            self.made += len(block.vectors)
        return block.vectors

    def block(self, texts: Sequence[str]) -> _Block:
        """Return one block's vectors, in any process."""
        place = self.folder / f"{self._key(texts)}.npy"
        refuse_links(self.folder)
        found = _read(place, len(texts))
        if found is not None:
            return _Block(found, reused=True)
        vectors = np.asarray(self.encode()(texts), np.float32)
        try:
            with atomic_file(place, overwrite=True) as partial:
                with open(partial, "wb") as handle:
                    np.save(handle, vectors)
                write_manifest(
                    manifest_path(partial), Manifest("query-vectors", place.stem, "leakage find")
                )
        # a full disk or a folder in the way only costs time later
        except (OutputExistsError, StorageError):
            pass
        return _Block(vectors, reused=False)

    def _key(self, texts: Sequence[str]) -> str:
        digest = hashlib.blake2b(self.model.encode(), digest_size=20)
        for text in texts:
            encoded = text.encode("utf-8", "replace")
            digest.update(len(encoded).to_bytes(4, "little") + encoded)
        return digest.hexdigest()


def _read(place: Path, count: int) -> np.ndarray | None:
    """Return the vectors of a block; None if they are missing or have the wrong size."""
    try:
        read_manifest(place)
        vectors = np.array(mapped_array(verified(place)))
    except (OSError, ValueError, EOFError, InputError):
        return None
    return (
        vectors
        if vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == count
        else None
    )
