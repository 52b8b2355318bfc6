"""Vectors on disk: a folder with one vector for each passage of a collection.

    manifest.json          model, collection, similarity, precision
    vectors/00000.npy …    (8,192, dim) float16 or float32 each, the last one shorter: the passages
                           in the collection's stored order
    ids.arrow              their ids, in the same order
    cache/                 indexes for approximate search: rebuilt at will, no part of the content

A row belongs to the passage whose id is at the same place, wherever a collection with the same
passages stores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import refuse_links
from positionbias.core.json_text import Count, Json, read_as
from positionbias.core.manifest import Manifest, manifest_path, read_manifest
from positionbias.core.rows import counted_rows
from positionbias.core.seal import CACHE, verified
from positionbias.core.shards import ArrowFiles, check_count
from positionbias.core.shown import Shown
from positionbias.dense.nearest import Block
from positionbias.dense.vector_blocks import mapped_array, stored_blocks
from positionbias.engine.per_process import PerProcess
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.text.splitter import remark_other_splitter

KIND = "vectors"
SHARDS, IDS = "vectors", "ids.arrow"
SHARD_PASSAGES = 8_192
ID_COLUMN = pa.schema([("passage_id", pa.string())])
_AGAIN = "restore it from a copy, or encode the collection again"


@dataclass(frozen=True, slots=True)
class _Content:
    """The content fields of every manifest of vectors; some have more."""

    checksum: str
    passages: Count
    dimension: Count
    similarity: str
    precision: Literal["float16", "float32"]
    passages_checksum: str
    shards: Count
    shard_passages: Count
    truncated: Count = 0
    empty_passages: Count = 0
    zero_vectors: Count = 0
    missing: tuple[str, ...] = ()


class Vectors(Shown):
    """Vectors of one collection's passages by one model, opened for reading.

    ``dimension``: the width of a vector; ``len``: their number; ``missing``: passages without
    one.

    Raises:
        InputError: not such a folder, or not a whole one.
    """

    _on_disk = "copy its folder"

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest: Manifest = read_manifest(self.path, kind=KIND)
        facts = read_as(
            _Content, self.manifest.content, manifest_path(self.path), do=_AGAIN, more=True
        )
        self.checksum, self.dimension, self.precision = (
            facts.checksum,
            facts.dimension,
            facts.precision,
        )
        self.passages_checksum = facts.passages_checksum
        self.truncated, self.empty, self.zeros = (
            facts.truncated,
            facts.empty_passages,
            facts.zero_vectors,
        )
        self.missing = frozenset(facts.missing)
        self._rows, self._shard = facts.passages, facts.shard_passages
        found, needed = len(self.shard_paths), -(-facts.passages // max(1, facts.shard_passages))
        if not found == facts.shards == needed:
            raise bad_input(
                self.path, wanted=f"{needed} shards of vectors", found=f"{found}", do=_AGAIN
            )

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"Vectors({str(self.path)!r}, {len(self):,} passages, {self.dimension} wide)"

    @property
    def rows(self) -> DataFrame:
        """The counts of their encoding."""
        numbers = {
            "vectors": len(self),
            "numbers a vector": self.dimension,
            "passages up to the length limit": self.truncated,
            "empty passages": self.empty,
            "vectors of zeros": self.zeros,
        }
        made = self.manifest.settings
        collection, model = str(made["collection"]), str(made["model"])
        return counted_rows("encode", numbers, collection=collection, model=model)

    @cached_property
    def shard_paths(self) -> list[Path]:
        """Return the shards, in order."""
        return sorted(
            (self.path / SHARDS).glob("[0-9]*.npy"), key=lambda path: (len(path.name), path.name)
        )

    @property
    def cache(self) -> Path:
        """Return the folder of indexes over these vectors.

        Raises:
            InputError: it is or holds a link; foreign vectors could use one to make us read or
                write elsewhere.
        """
        folder = self.path / CACHE
        refuse_links(folder)
        return folder

    # -- ids ---------------------------------------------------------------------------------------

    @cached_property
    def _ids(self) -> ArrowFiles:
        ids = ArrowFiles([self.path / IDS], ID_COLUMN, do=_AGAIN)
        check_count(self.path / IDS, "passage ids", len(self), len(ids))
        return ids

    def by_descending_id(self) -> np.ndarray:
        """Return the rows in descending order of their ids ``(n,)`` int64: the tie rule. 20 bytes a
        passage, 8 after.
        """
        return self._descending

    @cached_property
    def _descending(self) -> np.ndarray:
        columns = [batch.column(0) for batch in self._ids]
        return descending_rows(pa.chunked_array(columns, pa.string()))

    def ids_at(self, rows: np.ndarray) -> list[str]:
        """Return the ids of the passages at these rows."""
        return self._ids.texts("passage_id", rows)

    # -- vectors -----------------------------------------------------------------------------------

    def blocks(self) -> Iterator[Block]:
        """Yield rows ``(n,)`` int64 and their vectors ``(n, dim)`` as stored, by blocks, read and
        not mapped.

        Raises:
            InputError: an incomplete shard.
        """
        for place, path in enumerate(self.shard_paths):
            first = place * self._shard
            for numbers, vectors in stored_blocks([path], rows=self._shard):
                if vectors.shape != self._shape(first):
                    raise bad_input(
                        path,
                        wanted=f"{self._shape(first)} numbers",
                        found=f"{vectors.shape}",
                        do=_AGAIN,
                    )
                yield numbers + first, vectors

    def _shape(self, first: int) -> tuple[int, int]:
        """Return the shape of the shard that begins at this row."""
        return min(self._shard, len(self) - first), self.dimension

    @cached_property
    def _mapped(self) -> list[np.ndarray]:
        mapped = []
        for place, path in enumerate(self.shard_paths):
            try:
                shard = np.asarray(mapped_array(verified(path)))
            except (OSError, ValueError, EOFError) as error:
                raise bad_input(
                    path, wanted="vectors", found=str(error).splitlines()[0], do=_AGAIN
                ) from error
            shape, kind = self._shape(place * self._shard), np.dtype(self.precision)
            if shard.shape != shape or shard.dtype != kind or not shard.flags.c_contiguous:
                found = f"{shard.shape} of {shard.dtype}"
                raise bad_input(
                    path, wanted=f"{shape} numbers of {kind}, row by row", found=found, do=_AGAIN
                )
            mapped.append(shard)
        return mapped

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of these rows, ``(len(rows), dim)`` float32, in the given order.

        Raises:
            InputError: a file of one of them is damaged.
        """
        shards_of = self._mapped  # which have the manifest's dimension
        out = np.empty((len(rows), self.dimension), np.float32)
        shards, places = np.divmod(rows, self._shard)
        for shard in np.unique(shards).tolist():
            asked = shards == shard
            out[asked] = shards_of[shard][places[asked]]
        return out

    # -- whose they are ----------------------------------------------------------------------------

    def check(self, checkpoint: Checkpoint, collection: Collection) -> None:
        """Check that these are the vectors of this collection's passages by this model.

        Raises:
            InputError: they are another model's or another collection's.
        """
        remark_other_splitter(self.path, self.manifest.versions)
        of = self.manifest.input("model")
        wanted = checkpoint.manifest.checksum
        if of is None or of.checksum != wanted:
            known = self.manifest.settings.get("model", "another model")
            raise InputError(
                f"{self.path}: wanted vectors by the model {checkpoint.name} (checksum "
                f"{wanted[:12]}); found vectors by {known} ({of.checksum[:12] if of else 'none'}); "
                "give that model to --model, or encode the collection with this one"
            )
        found, shape = self.manifest.settings.get("shape"), shape_of(checkpoint.model)
        if not isinstance(found, Mapping) or {**found, "query_prompt": ""} != {
            **shape,
            "query_prompt": "",
        }:  # passages have theirs
            raise InputError(
                f"{self.path}: wanted vectors by {checkpoint.name} as it reads now "
                f"({_shown(shape)}); found vectors by the same weights read otherwise "
                f"({_shown(found)}); give the same --kind and --passage-prompt, or encode the "
                "collection again"
            )
        if self.passages_checksum != collection.passages_checksum:
            source = self.manifest.settings.get("collection", "another")
            raise InputError(
                f"{self.path}: wanted vectors of the passages of {collection.path}; found those of "
                f"the collection {source!r}, which holds others; encode this one, or give that one"
            )


def _shown(shape: Json) -> str:
    return (
        ", ".join(f"{name} {value!r}" for name, value in shape.items())
        if isinstance(shape, Mapping)
        else ""
    )


def descending_rows(ids: pa.ChunkedArray) -> np.ndarray:
    """Return the indices that put these ids in descending order, ``(n,)`` int64."""
    return pc.sort_indices(ids, sort_keys=[("", "descending")]).to_numpy().astype(np.int64)


def opened_everywhere(vectors: Vectors) -> PerProcess[Vectors]:
    """Return these vectors, for other processes to open them too."""
    return PerProcess(_Opening(vectors.path, vectors.checksum), vectors)


@dataclass(frozen=True, slots=True)
class _Opening:
    """How another process opens the vectors of this one, which must be the same."""

    path: Path
    checksum: str

    def __call__(self) -> Vectors:
        """Open them.

        Raises:
            InputError: they have changed.
        """
        vectors = Vectors(self.path)
        if vectors.checksum != self.checksum:
            raise bad_input(
                vectors.path,
                wanted=f"the vectors {self.checksum[:12]}",
                found=f"{vectors.checksum[:12]} in a worker process",
                do="do not change them while they are searched",
            )
        return vectors
