"""Evaluate several runs on one set of judgements: every measure of every run, and each run against
the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.bootstrap import Replicates
from positionbias.evaluation.measures import JUDGED, Evaluator, canonical, measured, parse_measure
from positionbias.evaluation.records import Comparison, PerQuery, Result
from positionbias.evaluation.significance import adjust, compare


def check_run(run: Run, collection: Collection, split: str) -> None:
    """Check that every passage and query of a run is in the collection.

    Queries of the collection's other splits are allowed; they count as unjudged.

    Raises:
        InputError: a passage or query that is not in the collection (the first is named).
    """
    advice = "check that the run was made on this collection"
    rows = collection.find(run.passage_ids)
    if len(rows) and rows.min() < 0:
        unknown = [
            passage_id for passage_id, row in zip(run.passage_ids, rows, strict=True) if row < 0
        ]
        raise InputError(
            f"run {run.name!r}: wanted passages of {collection.path}; found {len(unknown):,} of "
            f"{len(rows):,} that are not in it, the first {unknown[0]!r}; {advice}"
        )
    missing = set(run) - {query.query_id for query in collection.queries(split)}
    for other in collection.splits if missing else ():
        missing -= {query.query_id for query in collection.queries(other)}
    if missing:
        first = next(query_id for query_id in run if query_id in missing)
        raise InputError(
            f"run {run.name!r}: wanted queries of {collection.path}; found {len(missing):,} of "
            f"{len(run):,} that are not in it, the first {first!r}; {advice}"
        )


class Evaluated(NamedTuple):
    """Results of runs on measures and of comparisons, and the judged shares J@k of their
    cutoffs.
    """

    results: list[Result]
    shares: list[Result]


def evaluate_runs(
    runs: Sequence[Run],
    qrels: Sequence[Qrel],
    measures: Sequence[str],
    *,
    collection: str,
    split: str,
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> Evaluated:
    """Return a Result per run and measure, then one per later run and measure with its Comparison
    against the first run; and judged shares.

    p-values are corrected within a measure, for the number of runs compared with the first. J@k of
    each run, for every cutoff k of ``measures`` (10 if none has one), is the judged share of the
    first k passages, or of all if there are fewer; 0 for a judged query without candidates, as in
    ir_measures. It is reported because measures count unjudged passages as not relevant. Cutoffs
    whose J@k is in ``measures`` are left out.

    Raises:
        InputError: a run without any judged query.
        SettingError: an unknown measure or correction.
    """
    names = canonical(measures)
    evaluator = Evaluator(qrels, (*names, *_shares(names)))
    by_run, replicates = measured(
        runs, evaluator, collection=collection, split=split, seed=seed, clusters=clusters
    )
    results = [result for of_run in by_run for result in of_run[: len(names)]]
    for place, first in enumerate(by_run[0][: len(names)]):
        family = [
            _against(
                first,
                of_run[place],
                clusters,
                seed,
                replicates and replicates.of(place, number * len(of_run) + place),
            )
            for number, of_run in enumerate(by_run[1:], 1)
        ]
        for comparison in adjust(family):
            results.append(
                Result(
                    measure=first.measure,
                    collection=collection,
                    split=split,
                    system=comparison.candidate,
                    seed=seed,
                    value=comparison.difference,
                    interval=comparison.difference_interval,
                    count=comparison.queries,
                    payload=comparison,
                )
            )
    return Evaluated(results, [result for of_run in by_run for result in of_run[len(names) :]])


def _shares(names: Sequence[str]) -> list[str]:
    """Return the names of the judged shares beside these measures."""
    cutoffs = sorted(
        {
            cutoff
            for name in names
            if (cutoff := parse_measure(name).params.get("cutoff")) is not None
        }
    )
    return [
        name
        for name in ([f"Judged@{cutoff}" for cutoff in cutoffs] or [JUDGED])
        if name not in names
    ]


def _against(
    first: Result,
    other: Result,
    clusters: Mapping[str, str] | None,
    seed: int,
    replicates: Replicates | None,
) -> Comparison:
    return compare(
        _values(first),
        _values(other),
        names=(first.system, other.system),
        clusters=clusters,
        seed=seed,
        replicates=replicates,
    )


def _values(result: Result) -> dict[str, float]:
    assert isinstance(result.payload, PerQuery)
    return result.payload.by_query
