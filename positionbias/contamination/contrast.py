"""Contrast a model's measure on queries that it may have seen with queries that it cannot have
seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.contamination.configuration import Configuration
from positionbias.core.errors import InputError
from positionbias.evaluation.clustered import clustered_mean, joined_error

__all__ = [
    "Contrast",
    "Measured",
    "Sides",
    "Values",
    "against_fresh",
    "against_paraphrases",
    "by_near_duplicates",
]


class Sides(NamedTuple):
    """A signal by query id, of the public queries and of the others, if any."""

    public: Mapping[str, float]
    fresh: Mapping[str, float]


class Measured(NamedTuple):
    """A system: its measure and its score margins by query, and its configuration."""

    name: str
    quality: Sides
    margins: Sides
    configuration: Configuration = Configuration()


class Values(NamedTuple):
    """A signal of the queries of both sets, each ``(queries,)``; several paraphrases of a query
    count by their mean.
    """

    seen: np.ndarray
    other: np.ndarray

    @property
    def difference(self) -> float:
        """Return mean(seen) − mean(other)."""
        return float(self.seen.mean() - self.other.mean())


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two named sets of query ids: queries that a model may have seen, and queries that it cannot
    have seen.

    Paired: query i has the paraphrases ``others[i]``, which count by their mean. Unpaired:
    ``others[i]`` is one query. ``from_public``: the others are public queries too. Clusters are of
    queries; None: each query is its own.
    """

    seen_name: str
    other_name: str
    seen: Sequence[str]
    others: Sequence[tuple[str, ...]]
    paired: bool
    from_public: bool = False
    seen_clusters: Sequence[str] | None = None
    other_clusters: Sequence[str] | None = None
    left_out: Mapping[str, int] | None = None

    def values(self, signal: Sides) -> Values:
        """Return a signal of both sets."""
        fresh = signal.public if self.from_public else signal.fresh
        seen = np.array([signal.public[query_id] for query_id in self.seen])
        return Values(
            seen, np.array([np.mean([fresh[query_id] for query_id in ids]) for ids in self.others])
        )

    def over_queries(self, advantage: Values) -> tuple[float, float] | None:
        """Return the standard error of the advantage's difference over clusters of queries, and its
        degrees of freedom; None if undefined or 0.
        """
        if self.paired:
            found = [clustered_mean(advantage.seen - advantage.other, self.seen_clusters)]
        else:
            sides = zip(advantage, (self.seen_clusters, self.other_clusters), strict=True)
            found = [clustered_mean(values, labels) for values, labels in sides]
        joined = joined_error(found)
        return joined if joined and joined[0] > 0 else None


def against_paraphrases(
    public: Collection[str],
    fresh: Collection[str],
    paraphrase_of: Mapping[str, str] | None,
    *,
    names: tuple[str, str],
    clusters: Mapping[str, str],
) -> Contrast:
    """Contrast each public query with its paraphrases; ``paraphrase_of`` has the public query of a
    fresh one (None: the same id).

    Queries without a counterpart are left out and counted.

    Raises:
        InputError: fewer than two public queries with a paraphrase.
    """
    found: dict[str, list[str]] = {}
    for query_id in sorted(fresh):
        of = query_id if paraphrase_of is None else paraphrase_of.get(query_id)
        if of in public:
            found.setdefault(str(of), []).append(query_id)
    if len(found) < 2:
        raise InputError(
            f"--fresh: wanted paraphrases of judged queries of {names[0]!r}; found {len(found)} "
            f"among {len(fresh):,} judged queries of {names[1]!r}; check the split and the ids"
        )
    seen = sorted(found)
    others = [tuple(found[query_id]) for query_id in seen]
    left_out = {
        f"queries of {names[0]} without a paraphrase": len(public) - len(seen),
        f"queries of {names[1]} that paraphrase none": len(fresh) - sum(map(len, others)),
    }
    labels = [clusters.get(query_id, query_id) for query_id in seen]
    return Contrast(*names, seen, others, paired=True, seen_clusters=labels, left_out=left_out)


def against_fresh(
    public: Collection[str],
    fresh: Collection[str],
    *,
    names: tuple[str, str],
    clusters: Mapping[str, str],
    fresh_clusters: Mapping[str, str],
) -> Contrast:
    """Contrast the public queries with unpublished ones."""
    sides = (sorted(public), sorted(fresh))
    labels = [
        [known.get(query_id, query_id) for query_id in ids]
        for ids, known in zip(sides, (clusters, fresh_clusters), strict=True)
    ]
    others = [(query_id,) for query_id in sides[1]]
    return Contrast(
        *names, sides[0], others, paired=False, seen_clusters=labels[0], other_clusters=labels[1]
    )


def by_near_duplicates(
    public: Collection[str], leaked: Collection[str], *, name: str, clusters: Mapping[str, str]
) -> Contrast:
    """Contrast the public queries that have a near-duplicate in training with the other public
    queries.

    Raises:
        InputError: none of them is ``leaked``, or all are.
    """
    seen = sorted(query_id for query_id in public if query_id in leaked)
    others = sorted(query_id for query_id in public if query_id not in leaked)
    if not seen or not others:
        raise InputError(
            f"--pairs: wanted pairs with some of the {len(public):,} judged queries of {name!r}; "
            f"found {len(seen):,} of them; check that the pairs are of these queries"
        )
    labels = [[clusters.get(query_id, query_id) for query_id in ids] for ids in (seen, others)]
    return Contrast(
        f"{name}, near-duplicate in training", f"{name}, none found", seen,
        [(query_id,) for query_id in others],
        paired=False, from_public=True, seen_clusters=labels[0], other_clusters=labels[1],
    )  # fmt: skip
