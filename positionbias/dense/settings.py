"""What dense retrieval can be told: how vectors are kept and searched. No torch is needed to read or check it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.settings import check_settings, given_flags, setting

__all__ = ["ANN", "DENSE_DEPTH", "INDEXES", "MEMORY", "ON_DISK", "Ann", "AnnSettings", "DenseSearch", "Index", "OnDisk"]

OnDisk = Literal["float16", "float32"]
ON_DISK: tuple[OnDisk, ...] = get_args(OnDisk)  # the first is the default
Index = Literal["exact", "hnsw", "ivf"]
INDEXES: tuple[Index, ...] = get_args(Index)  # the first is the default
Ann = Literal["hnsw", "ivf"]
ANN: tuple[Ann, ...] = get_args(Ann)
DENSE_DEPTH = 1_000  # passages kept a query
MEMORY = 1.0  # GiB that an exact search may hold
_OF_INDEX = {"--memory": "exact", "--hnsw": "hnsw", "--ivf": "ivf"}  # beginnings of flags


@dataclass(frozen=True, slots=True)
class AnnSettings:
    """How an index is built and searched. HNSW: ``links`` a vector (M), ``build_width`` (efConstruction), ``search_width`` (efSearch, at
    least the depth). IVF: ``lists`` (None or 0: four times the root of the number of vectors), ``probes`` lists looked at for a query.

    ``threads`` build and search. With more than one an HNSW differs a little from build to build.

    Raises:
        SettingError: a number below its least.
    """

    links: int = setting(16, "Links of a vector (M).", least=2, flags=("--hnsw-links",))
    build_width: int = setting(100, "efConstruction.", least=1, flags=("--hnsw-build-width",))
    search_width: int | None = setting(None, "efSearch.", least=0, flags=("--hnsw-search-width",), absent="--depth")
    lists: int | None = setting(
        None, "Lists.", least=0, flags=("--ivf-lists",), absent="four times the root of the number of vectors"
    )
    probes: int = setting(32, "Lists looked at for a query.", least=1, flags=("--ivf-probes",))
    threads: int = setting(1, "Of building and searching.", least=1, flags=("--workers",), hidden=True)

    def __post_init__(self) -> None:
        check_settings(self)

    def built_with(self, kind: Ann, vectors: int) -> dict[str, int]:
        """The settings that make the index of so many vectors what it is."""
        if kind == "hnsw":
            return {"links": self.links, "build_width": self.build_width}
        return {"lists": min(self.lists or max(1, round(4 * vectors**0.5)), max(1, vectors))}

    def facts(self, kind: Ann, vectors: int, depth: int) -> dict[str, int]:
        """All settings that what is found depends on."""
        search = {"search_width": self.width(depth)} if kind == "hnsw" else {"probes": self.probes}
        return self.built_with(kind, vectors) | search

    def width(self, depth: int) -> int:
        """The search width of an HNSW that finds so many passages a query."""
        return max(self.search_width or 0, depth)


@dataclass(frozen=True, slots=True)
class DenseSearch:
    """How vectors are searched; checked when made.

    Raises:
        SettingError: no such index, or a setting of another one.
    """

    index: Index = setting(
        "exact",
        "exact looks at every vector; hnsw and ivf (faiss) at some, by an index kept in the vectors' folder.",
        choices=INDEXES,
    )
    ann: AnnSettings = field(default_factory=AnnSettings)
    memory: float | None = setting(None, "GiB that an exact search may hold.", absent=f"{MEMORY:g}")

    def __post_init__(self) -> None:
        check_settings(self)
        for flag in given_flags(self):
            for beginning, index in _OF_INDEX.items():
                if flag.startswith(beginning) and index != self.index:
                    raise SettingError(f"{flag}: wanted --index {index} beside it; found --index {self.index}; leave it out")
