"""Search among vectors: exact, nearest queries, and HNSW."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import top_lists
from harness.records import Inputs, Limit, Peer, Row, Settings, Side

PEER = "peers.vectors"
DIMENSION = 384
SHARD = 131_072


def vectors(passages: int, queries: int, depth: int) -> Inputs:
    """Random vectors of length 1 that lie in 256 groups, as float32 shards, and queries near some
    of them.
    """

    def inputs(folder: Path, quick: bool) -> Settings:
        count, asked = (
            (max(20_000, passages // 20), queries // 10) if quick else (passages, queries)
        )
        place = folder / f"vectors-{count}-{asked}"
        if not (place / "queries.npy").exists():
            _write_vectors(place, count, asked)
        return {"vectors": str(place), "passages": count, "depth": depth}

    return inputs


def _write_vectors(place: Path, count: int, asked: int) -> None:
    place.mkdir(exist_ok=True)
    centres = np.random.default_rng(0).standard_normal((256, DIMENSION), np.float32)

    def near(draw: np.random.Generator, size: int) -> np.ndarray:
        made = centres[draw.integers(0, len(centres), size)] + draw.standard_normal(
            (size, DIMENSION), np.float32
        )
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    for shard, start in enumerate(range(0, count, SHARD)):
        np.save(
            place / f"{shard:05}.npy",
            near(np.random.default_rng(shard + 2), min(SHARD, count - start)),
        )
    np.save(place / "part.npy", near(np.random.default_rng(1), asked))
    (place / "part.npy").rename(place / "queries.npy")


def shards(settings: Mapping[str, Any]) -> list[Path]:
    return sorted(Path(settings["vectors"]).glob("[0-9]*.npy"))


class Nearest:
    """The search of ``leakage find``: the nearest of all vectors to each query, by cosine."""

    packages = ("positionbias", "numpy", "torch")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch

        torch.set_num_threads(settings["threads"])
        self.settings = settings
        self.queries = np.load(Path(settings["vectors"]) / "queries.npy")
        self.found: list[list[int]] = []
        self.facts = {
            "flops": 2 * len(self.queries) * settings["passages"] * DIMENSION,
            "queries": len(self.queries),
        }

    def run(self) -> None:
        from positionbias.dense.nearest import nearest
        from positionbias.dense.vector_blocks import stored_blocks

        depth = self.settings["depth"]
        blocks = stored_blocks(shards(self.settings))
        self.found = nearest(self.queries, blocks, neighbours=depth).numbers.tolist()

    def proof(self) -> list[list[int]]:
        return self.found


class Exact(Nearest):
    """``retrieve --set index=exact`` over a folder of vectors."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.stored = stored(settings)

    def run(self) -> None:
        from positionbias.dense.exact import exact_search

        self.found = [
            rows.tolist()
            for rows, _ in exact_search(self.stored, self.queries, self.settings["depth"])
        ]


class Hnsw(Exact):
    """``retrieve --set index=hnsw``, its index built before the clock."""

    packages = (*Exact.packages, "faiss-cpu")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.dense.approximate import open_ann
        from positionbias.dense.settings import AnnSettings

        super().__init__(settings)
        self.ann = AnnSettings(threads=settings["threads"], search_width=settings["width"])
        self.index = open_ann(self.stored, "hnsw", self.ann)
        self.facts = {"queries": len(self.queries)}

    def run(self) -> None:
        found = self.index.search(
            self.stored, self.queries, self.settings["depth"], "hnsw", self.ann
        )
        self.found = [rows.tolist() for rows, _ in found]


def stored(settings: Mapping[str, Any]) -> Any:
    """The vectors as ``posbias model encode`` leaves them, made once."""
    import pyarrow as pa
    import pyarrow.ipc as ipc

    from positionbias.core.manifest import Manifest, write_manifest
    from positionbias.core.seal import MANIFEST
    from positionbias.dense.vectors import IDS, KIND, SHARD_PASSAGES, SHARDS, Vectors

    place = Path(settings["vectors"]) / "encoded"
    if not (place / MANIFEST).exists():
        (place / SHARDS).mkdir(parents=True, exist_ok=True)
        every = np.concatenate([np.load(path) for path in shards(settings)])
        starts = range(0, len(every), SHARD_PASSAGES)
        for number, start in enumerate(starts):
            np.save(place / SHARDS / f"{number:05}.npy", every[start : start + SHARD_PASSAGES])
        table = pa.table({"passage_id": [f"v{number:09}" for number in range(len(every))]})
        with pa.OSFile(str(place / IDS), "wb") as sink, ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
        content = {
            "checksum": place.parent.name,
            "passages": len(every),
            "dimension": DIMENSION,
            "similarity": "dot",
            "precision": "float32",
            "passages_checksum": "",
            "shards": len(starts),
            "shard_passages": SHARD_PASSAGES,
        }
        write_manifest(
            place / MANIFEST,
            Manifest(kind=KIND, name="vectors", command="a benchmark", content=content),
        )
    return Vectors(place)


FLAT = Peer("faiss, flat", "vectors", Side(f"{PEER}:Flat"), goal=1.0)
TORCH = Peer("torch, product and topk", "torch", Side(f"{PEER}:Torch"), goal=1.0)
# of the places: neighbours whose float32 scores are equal to rounding may change theirs at the last
# rank
SAME = 1e-3

ROWS = (
    Row(
        name="search_200k",
        work="exact search of 200,000 × 384, 2,000 queries, top 100",
        ours=Side("rows.vectors:Exact"),
        peers=(FLAT, TORCH),
        inputs=vectors(200_000, 2_000, 100),
        compare=top_lists,
        bound=SAME,
        limit=Limit("float32", goal=0.7),
    ),
    Row(
        name="search_2m",
        work="exact search of 2,000,000 × 384, 10,000 queries, top 100",
        ours=Side("rows.vectors:Exact"),
        peers=(FLAT,),
        inputs=vectors(2_000_000, 10_000, 100),
        compare=top_lists,
        bound=SAME,
        limit=Limit("float32", goal=0.7),
        large=True,
    ),
    Row(
        name="nearest_queries",
        work="nearest of 200,000 queries to 2,000 test queries, by cosine",
        ours=Side("rows.vectors:Nearest"),
        peers=(FLAT,),
        inputs=vectors(200_000, 2_000, 10),
        compare=top_lists,
        bound=SAME,
        limit=Limit("float32", goal=0.7),
    ),
    Row(
        name="hnsw",
        work="HNSW over 100,000 × 384, 2,000 queries, top 100, search width 200",
        ours=Side("rows.vectors:Hnsw", {"width": 200}),
        peers=(
            Peer("faiss's own Python", "vectors", Side(f"{PEER}:FaissHnsw", {"width": 200})),
            Peer("hnswlib", "vectors", Side(f"{PEER}:Hnswlib", {"width": 200}), goal=1.0),
        ),
        inputs=vectors(100_000, 2_000, 100),
        compare=top_lists,
        bound=0.1,  # of the exact 100; each builds its own graph
        reference=Side("rows.vectors:Exact"),
    ),
)
