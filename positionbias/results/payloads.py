"""Payloads of Results: one type for each kind of measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from positionbias.core.interval import Interval
from positionbias.core.json_text import JsonObject
from positionbias.results.figures import Figures

__all__ = [
    "KINDS",
    "Comparison",
    "Payload",
    "PerQuery",
]


@dataclass(frozen=True, slots=True)
class PerQuery:
    """One value per query; saved as Parquet beside the JSON. All are empty where it was read from
    JSON without them.

    ``clusters`` has one label per query: queries of one label are drawn together. Empty: each query
    is a cluster of its own.
    """

    query_ids: Sequence[str] = ()
    values: Sequence[float] = ()
    notes: JsonObject = field(default_factory=dict)
    clusters: Sequence[str] = ()

    @property
    def by_query(self) -> dict[str, float]:
        """The values by query id."""
        return dict(zip(self.query_ids, self.values, strict=True))

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return every column by its name in Parquet."""
        columns = {"query_id": self.query_ids, "value": [float(value) for value in self.values]}
        return {**columns, "cluster": self.clusters} if self.clusters else columns

    @staticmethod
    def of_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the fields that ``columns`` wrote."""
        names = {"query_id": "query_ids", "value": "values", "cluster": "clusters"}
        return {names[name]: column for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems (or one system on two test sets) on the same queries: candidate against baseline.

    ``difference`` = candidate − baseline; ``relative`` = difference / baseline;
    ``relative_as_printed`` = difference / candidate, the form of the paper's Tables 3–4. ``p`` is
    two-sided, over clusters of queries as the intervals are; ``p_adjusted`` has it corrected for
    the number of comparisons ("holm", "bonferroni"). ``p_wilcoxon`` and ``p_t`` ignore clusters, as
    papers do. p-values are None where undefined. ``by_seed`` has the difference of each of several
    training seeds; the notes say why a figure is undefined.
    """

    baseline: str
    candidate: str
    baseline_mean: float
    candidate_mean: float
    difference: float
    difference_interval: Interval | None
    relative: float | None
    relative_as_printed: float | None
    relative_interval: Interval | None
    effect_size: float | None
    p_wilcoxon: float | None
    p_t: float | None
    p_adjusted: Mapping[str, float | None] = field(default_factory=dict)
    queries: int = 0
    by_seed: Sequence[float] = field(default_factory=list)
    notes: JsonObject = field(default_factory=dict)
    p: float | None = None


Payload = Figures | PerQuery | Comparison
KINDS: dict[str, type] = {
    "per_query": PerQuery,
}
