"""Encode a collection's passages to vectors on disk, shard by shard; an interrupted run is
resumed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import torch

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.files import file_mark, sha256_file
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.outcome import hint_written
from positionbias.core.places import Place, pasted
from positionbias.core.progress import Progress, say, step
from positionbias.core.publish import resumable_folder
from positionbias.core.seal import MANIFEST
from positionbias.core.steps import make_shards
from positionbias.dense.passage_blocks import Rows, encoded_blocks
from positionbias.dense.settings import ON_DISK
from positionbias.dense.single_vectors import EncoderElsewhere, SingleVectors
from positionbias.dense.vectors import ID_COLUMN, IDS, KIND, SHARD_PASSAGES, SHARDS, Vectors
from positionbias.engine.choose import Engine
from positionbias.engine.per_process import PerProcess
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.models.protocols import Served, known_room
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.ranking.loading import Elsewhere, Loading
from positionbias.ranking.workers import model_workers
from positionbias.text.splitter import USUAL_WORDS, splitter_of

_ID_ROWS = 1 << 16
_NOTES = (
    (
        "vectors of a model that compares by cosine are kept at length 1, so that inner products "
        "are its scores"
    ),
    "an empty passage has the vector that the model gives an empty text",
)


def encode_collection(
    checkpoint: Checkpoint,
    collection: Collection,
    out: Path,
    *,
    on_disk: str = ON_DISK[0],
    config: RankingConfig | None = None,
    overwrite: bool = False,
    spread: Spread | None = None,
    allow_missing: bool = False,
) -> Vectors:
    """Encode every passage with a single-vector model, on its device; a killed run's finished
    shards are kept.

    ``spread`` has other processes encode, which load the model once each. Batches are made of
    blocks of 2,048 passages in stored order, however the collection is sharded. So the bytes depend
    only on the passages' order, the model, the batches' tokens and the device's arithmetic. With
    ``allow_missing`` passages for which an endpoint gives no vector are named by the manifest, and
    no search finds them. On a CPU that may include torch's number of threads: where it does, a run
    with another number starts over.

    Raises:
        SettingError: a model with several vectors a text or a distance as similarity, an unknown
            ``on_disk``, or a text that does not fit in the device's memory.
        InputError: a vector that is not finite, or too large or too small for float16.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        StorageError: the file system refused; finished shards are kept.
    """
    if on_disk not in ON_DISK:
        raise SettingError(
            f"--precision-on-disk: wanted one of {', '.join(ON_DISK)}; found {on_disk!r}; give one "
            "of these"
        )
    encoder = SingleVectors(checkpoint, config)
    model = encoder.model
    settings: JsonObject = {
        "model": checkpoint.name,
        "shape": shape_of(checkpoint.model),
        "collection": collection.name,
        "precision": str(encoder.config.dtype(model.device)).removeprefix("torch."),
        "precision_on_disk": on_disk,
        "batch_tokens": encoder.budget.tokens,
    }
    checksums = (checkpoint.manifest.checksum, collection.checksum)
    # rows depend on the order of passages, which a checksum ignores, so the collection must be the
    # same one
    state = file_mark(collection.path / MANIFEST)
    place = str(collection.path.absolute())
    arithmetic = encoder.config.arithmetic(model)
    job: JsonObject = {
        "encode": settings,
        "inputs": checksums,
        **arithmetic,
        "collection": place,
        "state": state,
    }
    if allow_missing:
        job = {**job, "allow_missing": True}
    shards = [
        Rows(first, min(first + SHARD_PASSAGES, len(collection)))
        for first in range(0, len(collection), SHARD_PASSAGES)
    ]
    with resumable_folder(out, job, overwrite=overwrite) as content:
        (content / SHARDS).mkdir(exist_ok=True)
        encoder.config.advise(model, len(collection))
        list(
            make_shards(
                dict[str, int],
                _IdWriter(collection),
                [Rows(0, len(collection))],
                lambda _: content / IDS,
            )
        )
        with step(f"encoding by {checkpoint.name}", len(collection), unit="passages") as bar:
            if isinstance(model, Served):
                model.begin([len(collection)])
                # of an endpoint that encodes
                model.may_lack = allow_missing  # type: ignore[attr-defined]
            elsewhere = (
                EncoderElsewhere(Elsewhere.of(spread.loading, checkpoint), encoder.config)
                if spread
                else None
            )
            writer = _ShardWriter(PerProcess(elsewhere, encoder), collection, on_disk, bar)
            map_shards = spread.map_shards if spread else map
            made = make_shards(
                _Encoded,
                writer,
                shards,
                lambda index: content / SHARDS / f"{index:05}.npy",
                map_shards,
            )
            facts = []
            for rows, fact in zip(shards, made, strict=True):
                # kept from an earlier run, or made by another process
                if rows.first not in writer.made:
                    bar.advance(rows.last - rows.first)
                facts.append(fact)
        # a model of words
        reading = () if splitter_of(checkpoint.manifest.versions) is None else (USUAL_WORDS,)
        manifest = Manifest(
            kind=KIND,
            name=out.name,
            command="encode",
            settings=settings,
            inputs=(
                input_ref("model", checkpoint.path, checksums[0], artefact=out),
                input_ref("collection", collection.path, checksums[1], artefact=out),
            ),
            content=_content(encoder, collection, content, facts, on_disk),
            licence=collection.manifest.licence,
            notes=(*checkpoint.manifest.notes, *_NOTES),
            versions=package_versions(
                *encoder.config.packages(model.device), "transformers", *reading
            ),
            provenance=provenance(threads=torch.get_num_threads(), device=str(model.device)),
        )
        write_manifest(content / MANIFEST, manifest)
    return Vectors(out)


def _content(
    encoder: SingleVectors,
    collection: Collection,
    folder: Path,
    shards: Sequence[_Encoded],
    on_disk: str,
) -> JsonObject:
    """Return the manifest's facts about the vectors, from their shards."""
    checksums = [sha256_file(folder / IDS), *(shard.checksum for shard in shards)]
    return {
        "checksum": hashlib.sha256("".join(checksums).encode()).hexdigest(),
        "passages": len(collection),
        "dimension": encoder.model.dimension,
        "similarity": encoder.similarity,
        "precision": on_disk,
        "shards": len(shards),
        "shard_passages": SHARD_PASSAGES,
        "passages_checksum": collection.passages_checksum,
        "truncated": sum(shard.truncated for shard in shards),
        "empty_passages": sum(shard.empty for shard in shards),
        "zero_vectors": sum(shard.zeros for shard in shards),
        **(
            {"missing": missing}
            if (missing := [name for shard in shards for name in shard.missing])
            else {}
        ),
    }


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A shard of vectors, with its numbers of passages at the model's limit, of empty ones and of
    others with zeros, and those that are missing.
    """

    checksum: str
    truncated: int
    empty: int
    zeros: int
    missing: list[str]


class _IdWriter:
    """A writer of the passages' ids, in stored order."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def __call__(self, rows: Rows, path: Path) -> dict[str, int]:
        with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, ID_COLUMN) as file:
            for first in range(rows.first, rows.last, _ID_ROWS):
                ids = self.collection.passage_ids_at(
                    np.arange(first, min(first + _ID_ROWS, rows.last))
                )
                file.write_batch(pa.record_batch([pa.array(ids, pa.string())], schema=ID_COLUMN))
        return {}


class _ShardWriter:
    """An encoder of one shard's passages into an ``.npy`` file; ``made`` has the first rows of the
    shards made in this process.
    """

    def __init__(
        self,
        encoder: PerProcess[SingleVectors],
        collection: Collection,
        on_disk: str,
        bar: Progress | None = None,
    ) -> None:
        self.encoder, self.collection, self.on_disk, self.bar = encoder, collection, on_disk, bar
        self.made: set[int] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return _ShardWriter, (self.encoder, self.collection, self.on_disk)

    def __call__(self, rows: Rows, path: Path) -> _Encoded:
        self.made.add(rows.first)
        encoder, precision = self.encoder(), np.dtype(self.on_disk)
        shape = (rows.last - rows.first, encoder.model.dimension)
        empty = zeros = truncated = 0
        missing: list[str] = []
        with open(path, "wb") as handle:
            np.lib.format.write_array_header_1_0(
                handle, {"descr": precision.str, "fortran_order": False, "shape": shape}
            )
            for block in encoded_blocks(
                encoder, self.collection, self.collection, rows, precision, self.bar
            ):
                handle.write(block.vectors.tobytes())
                empty += block.empty
                zeros += block.zeros
                missing += self.collection.passage_ids_at(block.missing)
                truncated += block.truncated
        checksum = sha256_file(path)
        return _Encoded(checksum, truncated, empty, zeros, missing)


def encode(
    collection: CollectionLike,
    loading: Loading,
    out: Place,
    engine: Engine,
    *,
    on_disk: str,
    allow_missing: bool,
    overwrite: bool,
) -> Vectors:
    """Load a model here and in the engine's processes, encode a collection's passages, and say how
    fast, and what is to be known of the vectors.

    Raises:
        SettingError: several processes for an endpoint; else as ``encode_collection``.
    """
    checkpoint = loading()
    opened, began = find_collection(collection), time.perf_counter()
    with model_workers(engine, loading, checkpoint) as spread:
        made = encode_collection(
            checkpoint,
            opened,
            Path(out),
            on_disk=on_disk,
            config=loading.computing.config,
            overwrite=overwrite,
            spread=spread,
            allow_missing=allow_missing,
        )
    rate = len(made) / max(1e-9, time.perf_counter() - began)
    limit = f"; {made.truncated:,} passages fill the model's limit, and may go on behind it"
    say(f"{rate:,.0f} passages/s{'' if known_room(checkpoint.model) is None else limit}")
    if made.empty:
        say(f"{made.empty:,} passages are empty: they have the vector of an empty text")
    if made.missing:
        say(
            f"{len(made.missing):,} passages have no vector: no search finds them, and the "
            "manifest names them (content, missing)"
        )
    if made.zeros:
        say(f"{made.zeros:,} passages with text have a vector of zeros: they tie for every query")
    hint_written(
        out,
        f"next: posbias retrieve {pasted(opened.path)} --vectors {pasted(out)} --model "
        f"{loading.model} --split SPLIT --out RUN",
    )
    return made
