"""Approximate search with faiss (extra ``dense``): HNSW graphs or IVF lists around centroids,
stored beside the vectors.

Passages that an index finds are scored again exactly, as in ``exact``; so it can miss a passage,
but not misplace one. HNSW: Malkov and Yashunin 2018; IVF: Jégou, Douze and Schmid 2011, without
their compression. Both keep the vectors' stored precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.errors import DependencyError, bad_input
from positionbias.core.files import remove
from positionbias.core.manifest import Manifest, package_versions, provenance
from positionbias.core.progress import Progress, step
from positionbias.core.rank_order import order_by_score
from positionbias.dense.exact import Found
from positionbias.dense.passage_blocks import Rows
from positionbias.dense.settings import Ann, AnnSettings
from positionbias.dense.similarity import inner_products
from positionbias.dense.vector_range import VectorRange
from positionbias.dense.vectors import Vectors
from positionbias.engine.per_process import PerProcess
from positionbias.firststage.kept_index import open_or_build

INDEX = "index.faiss"
_TRAINED_ON = 50  # vectors per list to learn its centroid
_SEARCHED = 256  # queries at once


def _faiss() -> Any:
    """Return faiss, whose stubs are incomplete."""
    import faiss

    return faiss


class AnnIndex:
    """An index over vectors, in memory; ``origin`` says how it was obtained, ``bytes`` is its size
    in memory and on disk.
    """

    def __init__(self, folder: Path) -> None:
        faiss = _faiss()
        try:
            self.index: Any = faiss.read_index(str(folder / INDEX))
        except RuntimeError as error:  # faiss raises this for any fault
            found = str(error).splitlines()[0]
            raise bad_input(
                folder / INDEX,
                wanted="an index of faiss",
                found=found,
                do="delete its folder: it is built again",
            ) from error
        self.bytes = (folder / INDEX).stat().st_size
        self.origin = ""

    def search(
        self,
        vectors: Vectors | VectorRange,
        queries: np.ndarray,
        depth: int,
        kind: Ann,
        settings: AnnSettings,
    ) -> Iterator[Found]:
        """Search like ``exact_search``, but only the passages that the index finds, which may be
        fewer than ``depth``.
        """
        faiss = _faiss()

        if kind == "hnsw":
            asked = faiss.SearchParametersHNSW(efSearch=settings.width(depth))
        else:
            asked = faiss.SearchParametersIVF(nprobe=settings.probes)
        for start in range(0, len(queries), _SEARCHED):
            block = np.ascontiguousarray(queries[start : start + _SEARCHED], np.float32)
            with _threads(settings.threads):
                _, found = self.index.search(block, min(depth, len(vectors)), params=asked)
            for query, rows in zip(block, found, strict=True):
                yield _scored(vectors, query, rows[rows >= 0])


@dataclass(frozen=True)
class AnnRange:
    """Search of a range by an index of its own: the last one stays open in the process that made
    this object.
    """

    depth: int
    kind: Ann
    settings: AnnSettings
    _held: dict[VectorRange, AnnIndex] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return AnnRange, (self.depth, self.kind, self.settings)

    def fingerprint(self) -> str:
        """Return what its results depend on; an index that is kept is searched alike by any number
        of threads.
        """
        return f"{self.kind} {self.depth} {replace(self.settings, threads=1)}"

    def open(self, part: VectorRange) -> AnnIndex:
        """Open the range's index, as ``open_ann``."""
        if part not in self._held:
            self._held.clear()
            self._held[part] = open_ann(part, self.kind, self.settings)
        return self._held[part]

    def __call__(
        self, part: VectorRange, queries: np.ndarray, floor: np.ndarray, bar: Progress
    ) -> Iterator[Found]:
        """Search it, as ``AnnIndex.search``."""
        index = self.open(part)
        for (rows, scores), least in zip(
            index.search(part, queries, self.depth, self.kind, self.settings), floor, strict=True
        ):
            yield rows[scores >= least], scores[scores >= least]
        bar.advance(len(part))


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """The origin of an index, and its size in bytes."""

    origin: str
    size: int


@dataclass(frozen=True, slots=True)
class IndexOpener:
    """Open or build the index of a range, in any process."""

    vectors: PerProcess[Vectors]
    find: AnnRange

    def __call__(self, rows: Rows) -> OpenedIndex:
        index = self.find.open(VectorRange(self.vectors(), rows))
        return OpenedIndex(index.origin, index.bytes)


def _scored(vectors: Vectors | VectorRange, query: np.ndarray, rows: np.ndarray) -> Found:
    """Return the exact scores of these rows, in rank order."""
    scores = inner_products(np.broadcast_to(query, (len(rows), len(query))), vectors.take(rows))
    order = order_by_score(vectors.ids_at(rows), scores)
    return rows[order], scores[order]


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


def open_ann(vectors: Vectors | VectorRange, kind: Ann, settings: AnnSettings) -> AnnIndex:
    """Return the index of these settings over vectors or a range of them, from the vectors' cache
    or newly built.

    Raises:
        DependencyError: faiss is not installed.
        StorageError: the index fits neither there nor in the system's temporary folder.
    """
    check_faiss(kind)
    whole = vectors.vectors if isinstance(vectors, VectorRange) else vectors
    made = settings.built_with(kind, len(vectors))
    part = (
        vectors.rows._asdict()
        if isinstance(vectors, VectorRange) and len(vectors) < len(whole)
        else {}
    )
    manifest = Manifest(
        kind="index",
        name=kind,
        command="retrieve",
        settings={"index": kind, **made, **part},
        content={"vectors": whole.checksum, "precision": whole.precision},
        notes=("with several threads the links of an HNSW differ from build to build",)
        if kind == "hnsw"
        else (),
        versions=package_versions("faiss-cpu"),
        provenance=provenance(threads=settings.threads),
    )
    folder = whole.cache / "-".join(
        [kind, *(f"{name}-{value}" for name, value in {**made, **part}.items())]
    )
    half = whole.precision == "float16"
    index, origin = open_or_build(
        folder,
        manifest,
        AnnIndex,
        lambda place: _build(vectors, kind, made, settings.threads, place, half=half),
    )
    index.origin = origin
    return index


def _build(
    vectors: Vectors | VectorRange,
    kind: Ann,
    made: Mapping[str, int],
    threads: int,
    folder: Path,
    *,
    half: bool,
) -> None:
    faiss = _faiss()

    with _threads(threads):
        index = _empty(vectors, kind, made, half=half)
        with step(f"building {kind}", len(vectors), unit="vectors") as bar:
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


def _empty(
    vectors: Vectors | VectorRange, kind: Ann, made: Mapping[str, int], *, half: bool
) -> Any:
    """Return an index without vectors; an IVF has its centroids, learned from evenly spaced
    vectors.
    """
    faiss = _faiss()
    index: Any
    width, product = vectors.dimension, faiss.METRIC_INNER_PRODUCT
    if kind == "hnsw":
        if half:
            index = faiss.IndexHNSWSQ(width, faiss.ScalarQuantizer.QT_fp16, made["links"], product)
            index.train(np.zeros((1, width), np.float32))  # nothing to learn for halves
        else:
            index = faiss.IndexHNSWFlat(width, made["links"], product)
        index.hnsw.efConstruction = made["build_width"]
        return index
    centroids = faiss.IndexFlatIP(width)
    lists = made["lists"]
    if half:
        index = faiss.IndexIVFScalarQuantizer(
            centroids, width, lists, faiss.ScalarQuantizer.QT_fp16, product, False
        )
    else:
        index = faiss.IndexIVFFlat(centroids, width, lists, product)
    index.cp.min_points_per_centroid = 1  # without a warning about the number of lists
    count = min(len(vectors), _TRAINED_ON * lists)
    index.train(vectors.take(np.linspace(0, len(vectors) - 1, count).round().astype(np.int64)))
    return index


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Run faiss on so many threads."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
