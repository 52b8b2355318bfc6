"""Approximate search by an index of faiss (extra ``dense``), an HNSW graph or IVF lists around
centroids, kept beside the vectors in their stored precision.

Passages that an index finds are scored again exactly, as in ``exact``; so it can miss a passage,
but not misplace one. HNSW: Malkov and Yashunin 2018; IVF: Jégou, Douze and Schmid 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.errors import DependencyError, bad_input
from positionbias.core.files import remove
from positionbias.core.manifest import Manifest, package_versions, provenance
from positionbias.core.progress import step
from positionbias.core.rank_order import order_by_score
from positionbias.dense.exact import Found
from positionbias.dense.settings import Ann, AnnSettings
from positionbias.dense.similarity import faiss_library, inner_products
from positionbias.dense.vectors import Vectors
from positionbias.firststage.kept_index import open_or_build

INDEX = "index.faiss"
_TRAINED_ON = 50  # vectors per list to learn its centroid
_SEARCHED = 256  # queries at once


class AnnIndex:
    """An index over vectors, in memory; ``origin`` says how it was obtained, ``bytes`` is its size
    in memory and on disk.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.index: Any = faiss_library().read_index(str(folder / INDEX))
        except RuntimeError as error:  # faiss raises this for any fault
            raise bad_input(
                folder / INDEX,
                wanted="an index of faiss",
                found=str(error).splitlines()[0],
                do="delete its folder: it is built again",
            ) from error
        self.bytes, self.origin = (folder / INDEX).stat().st_size, ""

    def search(
        self, vectors: Vectors, queries: np.ndarray, depth: int, kind: Ann, settings: AnnSettings
    ) -> Iterator[Found]:
        """Search like ``exact_search``, but only the passages that the index finds, which may be
        fewer than ``depth``.
        """
        faiss = faiss_library()
        asked = (
            faiss.SearchParametersHNSW(efSearch=settings.width(depth))
            if kind == "hnsw"
            else faiss.SearchParametersIVF(nprobe=settings.probes)
        )
        for start in range(0, len(queries), _SEARCHED):
            block = np.ascontiguousarray(queries[start : start + _SEARCHED], np.float32)
            with _threads(settings.threads):
                _, nearest = self.index.search(block, min(depth, len(vectors)), params=asked)
            for query, places in zip(block, nearest, strict=True):
                rows = places[places >= 0]
                own = np.broadcast_to(query, (len(rows), len(query)))
                scores = inner_products(own, vectors.take(rows))
                order = order_by_score(vectors.ids_at(rows), scores)
                yield rows[order], scores[order]


def check_faiss(kind: str) -> None:
    """Check that an index of this kind can be made.

    Raises:
        DependencyError: faiss is not installed.
    """
    if find_spec("faiss") is None:
        raise DependencyError(
            f"--index {kind}: wanted faiss; found none; run: pip install 'positionbias[dense]', or "
            "give --index exact"
        )


def open_ann(vectors: Vectors, kind: Ann, settings: AnnSettings) -> AnnIndex:
    """Return the index of these settings, from the vectors' cache or newly built.

    Raises:
        DependencyError: faiss is not installed.
        StorageError: the index fits neither there nor in the system's temporary folder.
    """
    check_faiss(kind)
    made = settings.built_with(kind, len(vectors))
    links = "with several threads the links of an HNSW differ from build to build"
    manifest = Manifest(
        kind="index",
        name=kind,
        command="retrieve",
        settings={"index": kind, **made},
        content={"vectors": vectors.checksum, "precision": vectors.precision},
        notes=(links,) if kind == "hnsw" else (),
        versions=package_versions("faiss-cpu"),
        provenance=provenance(threads=settings.threads),
    )
    folder = vectors.cache / "-".join([kind, *(f"{name}-{made[name]}" for name in made)])
    index, origin = open_or_build(
        folder, manifest, AnnIndex, lambda place: _build(vectors, kind, settings, place)
    )
    index.origin = origin
    return index


def _build(vectors: Vectors, kind: Ann, settings: AnnSettings, folder: Path) -> None:
    faiss, made = faiss_library(), settings.built_with(kind, len(vectors))
    stored = "SQfp16" if vectors.precision == "float16" else "Flat"
    layout = f"HNSW{made['links']}" if kind == "hnsw" else f"IVF{made['lists']}"
    with _threads(settings.threads), step(f"building {kind}", len(vectors), unit="vectors") as bar:
        index: Any = faiss.index_factory(
            vectors.dimension, f"{layout},{stored}", faiss.METRIC_INNER_PRODUCT
        )
        few = len(vectors)
        if kind == "hnsw":
            index.hnsw.efConstruction = made["build_width"]
        else:
            few = min(few, _TRAINED_ON * made["lists"])
            index.cp.min_points_per_centroid = 1  # without a warning about the number of lists
        if not index.is_trained:  # evenly spaced vectors
            evenly = np.linspace(0, len(vectors) - 1, few).round().astype(np.int64)
            index.train(vectors.take(evenly))
        for _, block in vectors.blocks():
            index.add(np.ascontiguousarray(block, np.float32))
            bar.advance(len(block))
        try:
            # faiss's own writer does not report a failed close
            with open(folder / INDEX, "wb") as handle:
                faiss.write_index(index, faiss.PyCallbackIOWriter(handle.write))
        except OSError:
            remove(folder / INDEX)  # a full disk needs the room
            raise


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Run faiss on so many threads."""
    faiss = faiss_library()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
