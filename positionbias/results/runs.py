"""Figures of runs: counts of retrieval, re-ranking and ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import field

from positionbias.core.json_text import Json, JsonObject
from positionbias.results.figures import Figures

__all__ = [
    "CANDIDATES",
    "ENSEMBLE",
    "BM25Figures",
    "DenseFigures",
    "EnsembleFigures",
    "Missing",
    "RerankingFigures",
]

CANDIDATES = "candidates"
ENSEMBLE = "ensemble"


class BM25Figures(Figures, frozen=True, kw_only=True):
    """Retrieval by BM25. ``index`` says how its index was obtained."""

    MEASURES = (CANDIDATES,)

    queries: int
    candidates: int
    depth: int
    without_known_term: int = field(name="queries without a known term")
    index: str


class DenseFigures(Figures, frozen=True, kw_only=True):
    """Retrieval by vectors. ``short`` counts queries with fewer candidates than asked for and
    available, ``tied`` those that score all alike.
    """

    MEASURES = (CANDIDATES,)

    queries: int
    candidates: int
    empty_queries: int = field(name="empty queries")
    short: int = field(name="queries with fewer candidates than asked for")
    index: str
    index_bytes: int = field(name="index bytes")
    tied: int = field(name="queries that score all passages alike", default=0)


class RerankingFigures(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """The texts read by a re-ranking. ``long_passages`` or ``long_pairs`` reach the model's limit;
    None: not counted. ``missing`` are those of which an endpoint gives no score; None: none."""

    MEASURES = ("re-ranking",)

    queries: int
    candidates: int
    passages: int = field(name="distinct passages")
    encoded_again: int = field(name="passages encoded again")
    without_word: int = field(name="queries without a word")
    tied: int = field(name="queries whose passages all tie", default=0)
    long_passages: int | None = field(name="passages up to the length limit", default=None)
    long_pairs: int | None = field(name="pairs up to the length limit", default=None)
    missing: int | None = field(name="passages without a score", default=None)


class Missing(msgspec.Struct, forbid_unknown_fields=True):
    """The queries of an ensemble's runs that one run lacks, and the passages that it lacks for its
    own queries.

    ``equal`` counts its queries whose scores are all equal; ``below`` its passages without a score
    of its own, below its re-ranking depth.
    """

    queries: int = field(name="queries missing", default=0)
    passages: int = field(name="passages missing", default=0)
    equal: int = field(name="queries with equal scores", default=0)
    below: int = field(name="passages below its depth", default=0)


class EnsembleFigures(Figures, frozen=True, kw_only=True):
    """The content of an ensemble, and what each run lacks, by its label; in JSON ``LABEL: COUNT``
    beside the others.
    """

    MEASURES = (ENSEMBLE,)

    queries: int
    passages: int
    missing: Mapping[str, Missing]

    def to_rows(self) -> dict[str, Json]:
        """Return the figures as JSON has them."""
        rows = super().to_rows()
        del rows["missing"]
        for label, missing in self.missing.items():
            rows |= {
                f"{label}: {name}": count for name, count in msgspec.to_builtins(missing).items()
            }
        return rows

    @classmethod
    def from_rows(cls, rows: JsonObject) -> Self:
        """Return the figures that ``to_rows`` wrote."""
        own: dict[str, Json] = {}
        missing: dict[str, dict[str, Json]] = {}
        for name, count in rows.items():
            label, colon, what = name.rpartition(": ")
            place = missing.setdefault(label, {}) if colon else own
            place[what] = count
        return super().from_rows({**own, "missing": missing})
