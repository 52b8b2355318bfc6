"""Settings of dense retrieval: storage and search of vectors. They need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.places import Place
from positionbias.core.settings import Settings, check_settings, given_flags, setting
from positionbias.models.kinds import ReadAs
from positionbias.ranking.config import Computing

OnDisk = Literal["float16", "float32"]
ON_DISK: tuple[OnDisk, ...] = get_args(OnDisk)  # the first is the default
Index = Literal["exact", "hnsw", "ivf"]
INDEXES: tuple[Index, ...] = get_args(Index)  # the first is the default
Ann = Literal["hnsw", "ivf"]
ANN: tuple[Ann, ...] = get_args(Ann)
DENSE_DEPTH = 1_000  # passages kept a query
MEMORY = 1.0  # GiB that an exact search may hold
LINKS, BUILD_WIDTH = 16, 100  # of an HNSW: M and efConstruction
# prefixes of flags
_OF_INDEX = {"--memory": ("exact",), "--hnsw": ("hnsw",), "--ivf": ("ivf",)}


@dataclass(frozen=True, slots=True)
class AnnSettings(Settings):
    """Settings of an index. HNSW: ``search_width`` (efSearch, at least the depth). IVF: ``lists``
    (None or 0: four times the square root of the number of vectors), ``probes`` lists read per
    query.

    An index is built and searched by ``threads``. With more than one, an HNSW differs a little from
    build to build.

    Raises:
        SettingError: a number below its minimum.
    """

    search_width: int | None = setting(
        None,
        "efSearch.",
        least=0,
        flags=("--hnsw-search-width",),
        absent="--depth",
        shown=False,
    )
    lists: int | None = setting(
        None,
        "Lists.",
        least=0,
        flags=("--ivf-lists",),
        absent="four times the square root of the number of vectors",
        shown=False,
    )
    probes: int = setting(
        32, "Lists read per query.", least=1, flags=("--ivf-probes",), shown=False
    )
    threads: int = 1

    def built_with(self, kind: Ann, vectors: int) -> dict[str, int]:
        """Return the settings that determine the index of so many vectors."""
        if kind == "hnsw":
            return {"links": LINKS, "build_width": BUILD_WIDTH}
        return {"lists": min(self.lists or max(1, round(4 * vectors**0.5)), max(1, vectors))}

    def facts(self, kind: Ann, vectors: int, depth: int) -> dict[str, int]:
        """Return all settings that the results depend on; ``vectors`` are those of one index."""
        search = {"search_width": self.width(depth)} if kind == "hnsw" else {"probes": self.probes}
        return self.built_with(kind, vectors) | search

    def width(self, depth: int) -> int:
        """Return the search width with which an HNSW finds so many passages a query."""
        return max(self.search_width or 0, depth)


@dataclass(frozen=True, slots=True)
class DenseSearch:
    """Search settings, checked when made.

    Raises:
        SettingError: no such index, or a setting of another one.
    """

    index: Index = setting(
        "exact",
        "exact scores every vector; hnsw and ivf (faiss) score some, found by an index kept in the "
        "vectors' folder.",
        choices=INDEXES,
        shown=False,
    )
    ann: AnnSettings = field(default_factory=AnnSettings)
    memory: float | None = setting(
        None,
        "GiB of memory for an exact search.",
        absent=f"{MEMORY:g}",
        metavar="GIB",
        shown=False,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        for flag in given_flags(self):
            for beginning, indexes in _OF_INDEX.items():
                if flag.startswith(beginning) and self.index not in indexes:
                    wanted = " or ".join(indexes)
                    raise SettingError(
                        f"{flag}: wanted --index {wanted} beside it; found --index {self.index}; "
                        "leave it out"
                    )


@dataclass(frozen=True, slots=True)
class ByVectors:
    """Retrieval by vectors: the passages', the model that made them, how it computes, and how they
    are searched.
    """

    vectors: Place | None = setting(
        None,
        "Rank by these vectors, from posbias model encode, instead of by BM25.",
        metavar="VECTORS",
        place="read",
    )
    model: Place | None = setting(
        None, "What the vectors were made by, with --vectors.", metavar="MODEL", place="read"
    )
    kind: ReadAs = None
    search: DenseSearch = field(default_factory=DenseSearch)
    computing: Computing = field(default_factory=Computing)
