"""Vectors on disk without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.manifest import Manifest, write_manifest
from positionbias.core.seal import MANIFEST
from positionbias.dense.vectors import IDS, KIND, SHARDS, Vectors


def write_vectors(place: Path, rows: np.ndarray, shard: int = 400) -> Vectors:
    """The folder of these vectors, their ids v0, v1 …"""
    (place / SHARDS).mkdir(parents=True)
    starts = range(0, len(rows), shard)
    for number, start in enumerate(starts):
        np.save(place / SHARDS / f"{number:05}.npy", rows[start : start + shard])
    table = pa.table({"passage_id": [f"v{number}" for number in range(len(rows))]})
    with pa.OSFile(str(place / IDS), "wb") as sink, ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    content = {
        "checksum": "made",
        "passages": len(rows),
        "dimension": rows.shape[1],
        "similarity": "dot",
        "precision": rows.dtype.name,
        "passages_checksum": "made",
        "shards": len(starts),
        "shard_passages": shard,
    }
    write_manifest(
        place / MANIFEST, Manifest(kind=KIND, name="v", command="a test", content=content)
    )
    return Vectors(place)
