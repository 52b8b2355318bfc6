"""Two sets of queries to contrast: those that a model may have been trained on, and others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError

__all__ = ["QuerySet", "System", "against_fresh", "by_near_duplicates"]


class QuerySet(NamedTuple):
    """Named queries by id, with a cluster each."""

    name: str
    queries: Sequence[str]
    clusters: Sequence[str]

    def of(self, values: Mapping[str, float]) -> np.ndarray:
        """Return the values of the queries, ``(queries,)``."""
        return np.array([values[query_id] for query_id in self.queries])


class System(NamedTuple):
    """A ranking system: its measure by query of both sets. ``role`` is "model" or "control"."""

    name: str
    role: str
    values: Mapping[str, float]


Contrast = tuple[QuerySet, QuerySet]  # the queries that a model may have seen, and the others


def against_fresh(
    public: Mapping[str, str], fresh: Mapping[str, str], *, names: tuple[str, str]
) -> Contrast:
    """Contrast public queries with unpublished ones, both given with their clusters.

    Raises:
        InputError: a query in both.
    """
    if both := sorted(public.keys() & fresh):
        raise InputError(
            f"--fresh: wanted queries that are not in {names[0]!r}; found {len(both):,} that are, "
            f"the first {both[0]!r}; give other queries"
        )
    first, second = (
        QuerySet(name, sorted(own), [own[query_id] for query_id in sorted(own)])
        for name, own in zip(names, (public, fresh), strict=True)
    )
    return first, second


def by_near_duplicates(
    public: Mapping[str, str], leaked: Collection[str], *, name: str
) -> Contrast:
    """Contrast the public queries that have a near-duplicate in training with the other public
    queries.

    Raises:
        InputError: none of them is ``leaked``, or all are.
    """
    seen = {query_id: cluster for query_id, cluster in public.items() if query_id in leaked}
    if len(seen) in (0, len(public)):
        raise InputError(
            f"--pairs: wanted pairs with some of the {len(public):,} judged queries of {name!r}; "
            f"found {len(seen):,} of them; check that the pairs are of these queries"
        )
    others = {query_id: public[query_id] for query_id in public.keys() - seen}
    names = (f"{name}, near-duplicate in training", f"{name}, none found")
    return against_fresh(seen, others, names=names)
