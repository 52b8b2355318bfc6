"""Compare systems on all, leaked and clean queries; a query is leaked if training has a
near-duplicate of it.

For one system the difference mean(leaked) − mean(clean) is unpaired: it mixes the effect of leakage
with the difficulty of the queries. Difficulty is the same for all systems, so for two systems the
difference of differences

    mean over leaked of (b − a) − mean over clean of (b − a)

removes it, as b − a is paired by query. It shows whether b gains more on leaked than on clean
queries.

Intervals [decision]: percentile bootstrap, or jackknife t if a part has few clusters
(``bootstrap``). Leaked and clean queries are drawn separately, so that each part keeps its size,
and queries with the same single relevant passage are drawn together. ``leaked_order`` tests against
random splits whether the order of systems changes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import Interval
from positionbias.core.seeds import key64
from positionbias.evaluation.bootstrap import (
    FEW,
    Span,
    bootstrap_mean,
    bounded,
    cluster_labels,
    cluster_queries,
    percentile_interval,
    resampled_means,
    span_of,
)
from positionbias.evaluation.leaked_order import order_found
from positionbias.evaluation.random_splits import mark_queries
from positionbias.evaluation.records import LeakedAndClean, MeanOfPart, PerQuery, Result
from positionbias.evaluation.two_means import difference_of_groups


def unpaired_difference(
    first: np.ndarray,
    second: np.ndarray,
    first_clusters: Sequence[str] | None = None,
    second_clusters: Sequence[str] | None = None,
    *,
    seed: int,
    span: Span | None = None,
) -> tuple[float | None, Interval | None]:
    """Return mean(first) − mean(second) of values ``(n,)`` and ``(m,)`` of different queries, and
    its interval; Welch's if a side has few clusters.

    None if a side is empty; ``span`` as in ``bounded``.
    """
    if not len(first) or not len(second):
        return None, None
    difference = float(np.mean(first) - np.mean(second))
    sides = [
        cluster_queries(of, len(values))
        for values, of in ((first, first_clusters), (second, second_clusters))
    ]
    if min(side.count for side in sides) <= FEW:
        return difference_of_groups(first, second, first_clusters, second_clusters, span)
    drawn = [
        resampled_means(values[:, None], clusters, seed=key64(seed, "unpaired", side))
        for side, values, clusters in ((0, first, first_clusters), (1, second, second_clusters))
    ]
    assert drawn[0] is not None
    assert drawn[1] is not None
    method = f"{drawn[0].method}, and {len(second):,} others apart"
    free = percentile_interval(drawn[0].means[:, 0] - drawn[1].means[:, 0], method)
    return difference, bounded(free, min(side.count for side in sides), span)


def leaked_results(
    measured: Sequence[Result],
    leaked: Container[str],
    *,
    clusters: Mapping[str, str] | None = None,
    seed: int,
) -> list[Result]:
    """Compare leaked and clean queries from the per-query results of ``evaluate_runs``: a Result
    per system and measure, one per later system and measure against the first, and, with two or
    more systems, one per measure for their order.

    ``value`` is, respectively, the difference leaked − clean, the difference of differences, and
    Kendall's τ between leaked and clean queries; None if undefined.

    Raises:
        InputError: no judged query is leaked.
    """
    by_measure: dict[str, list[Result]] = {}
    for result in measured:
        if isinstance(result.payload, PerQuery):
            by_measure.setdefault(result.measure, []).append(result)
    found: list[Result] = []
    for measure, results in by_measure.items():
        parts = _Parts(results, leaked, clusters, seed)
        found.extend(parts.of_system(place) for place in range(len(results)))
        found.extend(parts.against_first(place) for place in range(1, len(results)))
        if len(results) > 1:
            found.append(parts.order(measure))
    return found


class _Parts:
    """The systems' values of one measure, ``(systems, queries)``, and the mask of leaked
    queries.
    """

    def __init__(
        self,
        results: Sequence[Result],
        leaked: Container[str],
        clusters: Mapping[str, str] | None,
        seed: int,
    ) -> None:
        self.results, self.seed = results, seed
        payloads = [result.payload for result in results if isinstance(result.payload, PerQuery)]
        query_ids = payloads[0].query_ids
        self.values = np.array([payload.values for payload in payloads], np.float64)
        self.is_leaked = np.array([query_id in leaked for query_id in query_ids], bool)
        if not self.is_leaked.any():
            raise InputError(
                "--leaked: wanted pairs with judged queries; found none of the "
                f"{len(query_ids):,}; check that the pairs are of these test queries"
            )
        labels = cluster_labels(clusters or {}, query_ids) or []
        self.places = {
            "all": np.arange(len(query_ids)),
            "leaked": np.flatnonzero(self.is_leaked),
            "clean": np.flatnonzero(~self.is_leaked),
        }
        self.labels = {
            part: [labels[place] for place in places] for part, places in self.places.items()
        }

    def of_system(self, place: int) -> Result:
        return self._result(place, self.values[place])

    def against_first(self, place: int) -> Result:
        return self._result(place, self.values[place] - self.values[0], self.results[0].system)

    def _result(self, place: int, values: np.ndarray, baseline: str = "") -> Result:
        parts = [self._part(values, part, baseline) for part in ("all", "leaked", "clean")]
        figures = LeakedAndClean(baseline=baseline, all=parts[0], leaked=parts[1], clean=parts[2])
        leaked, clean = values[self.places["leaked"]], values[self.places["clean"]]
        width = 2.0 if baseline else 1.0
        span = span_of(values, changes=bool(baseline)) and Span(-width, width, 2 * width)
        labels = self.labels["leaked"], self.labels["clean"]
        difference, interval = unpaired_difference(
            leaked, clean, *labels, seed=self.seed, span=span
        )
        of, count = self.results[place], len(values)
        return Result(
            of.measure,
            of.collection,
            of.split,
            of.system,
            self.seed,
            difference,
            interval,
            count,
            figures,
            of.facts,
        )

    def _part(self, values: np.ndarray, part: str, baseline: str) -> MeanOfPart:
        values = values[self.places[part]]
        interval = bootstrap_mean(
            values, self.labels[part], seed=self.seed, span=span_of(values, changes=bool(baseline))
        )
        mean = float(values.mean()) if len(values) else None
        return MeanOfPart(
            len(values),
            mean,
            interval.low if interval else None,
            interval.high if interval else None,
        )

    def order(self, measure: str) -> Result:
        """Return the order of the systems on leaked against clean queries."""
        order = order_found(
            mark_queries(self.values, self.is_leaked, self.labels["all"]), seed=self.seed
        )
        first, systems = self.results[0], ", ".join(result.system for result in self.results)
        return Result(
            measure,
            first.collection,
            first.split,
            systems,
            self.seed,
            order.tau,
            None,
            order.systems,
            order,
        )
