"""Merge comparisons repeated with other training seeds or rotation draws into one over trainings
and queries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from positionbias.core.schema import converted
from positionbias.evaluation.significance import adjust
from positionbias.evaluation.trainings import Repeat, Values, compare_trainings
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Facts, Result
from positionbias.results.select import over_axis

__all__ = ["ALL", "BASELINE_FACTS", "Find", "WHOLE", "over_trainings", "query_values"]

ALL = "all queries"
WHOLE = "queries whose answer was left whole"
# a comparison's note with the baseline's facts; the result's facts are the candidate's
BASELINE_FACTS = "baseline facts"
Find = Callable[[str, Facts], Values]  # values of a measure by system and query


def query_values(results: Sequence[Result]) -> Find:
    """Return a look-up of values per query among results, empty for a system without them."""
    found = {(r.measure, r.facts): r.payload for r in results if isinstance(r.payload, PerQuery)}

    def find(measure: str, facts: Facts) -> Values:
        payload = found.get((measure, facts))
        return payload.by_query if payload else {}

    return find


def over_trainings(
    results: Sequence[Result],
    *,
    clusters: Mapping[str, str],
    seed: int,
    find: Find | None = None,
    whole: Mapping[int, Collection[str]] | None = None,
) -> list[Result]:
    """Return a Result for each group of comparisons that differ only in seed and rotation draw; its
    axis is ``over_axis``.

    ``whole`` has the queries whose answers the rotation left whole, by draw. p-values are corrected
    by axis and measure.
    """
    find = find or query_values(results)
    groups: dict[tuple, list[tuple[Result, Comparison]]] = {}
    for result in results:
        payload = result.payload
        if isinstance(payload, Comparison) and BASELINE_FACTS in payload.notes:
            sides = [
                replace(of, seed=None, rotation=None)
                for of in (converted(Facts, payload.noted.baseline), result.facts)
            ]
            key = (payload.noted.axis, result.measure, payload.subset, *sides)
            groups.setdefault(key, []).append((result, payload))
    families: dict[tuple[str, str], list[tuple[Result, Comparison]]] = {}
    for (axis, measure, *_), group in groups.items():
        repeats: dict[Repeat, tuple[Values, Values]] = {}
        for result, payload in group:
            kept = (
                (whole or {}).get(result.facts.rotation or 0, ())
                if payload.subset == WHOLE
                else None
            )
            facts = (converted(Facts, payload.noted.baseline), result.facts)
            before, after = (_kept(find(measure, of), kept) for of in facts)
            repeats[_first(facts, "seed"), _first(facts, "rotation")] = (before, after)
        if len(repeats) > 1:
            families.setdefault((axis, measure), []).append(
                _together(group, repeats, clusters, seed)
            )
    return [
        replace(
            result,
            value=one.difference,
            interval=one.difference_interval,
            count=one.noted.queries,
            payload=one,
        )
        for family in families.values()
        for (result, _), one in zip(family, adjust([payload for _, payload in family]), strict=True)
    ]


def _first(facts: Sequence[Facts], name: str) -> int | None:
    return next(
        (getattr(of, name) for of in reversed(facts) if getattr(of, name) is not None), None
    )


def _kept(values: Values, kept: Collection[str] | None) -> Values:
    return (
        values
        if kept is None
        else {query_id: value for query_id, value in values.items() if query_id in kept}
    )


def _together(
    group: Sequence[tuple[Result, Comparison]],
    repeats: Mapping[Repeat, tuple[Values, Values]],
    clusters: Mapping[str, str],
    seed: int,
) -> tuple[Result, Comparison]:
    result, first = group[0]
    notes = {name: first.notes[name] for name in ("systems", "test_sets")}
    comparison = compare_trainings(
        repeats,
        names=(first.baseline, first.candidate),
        clusters=clusters,
        seed=seed,
        subset=first.subset,
        notes={"axis": over_axis(first.noted.axis), **notes},
    )
    if first.relative is None:  # a share missing in the comparison itself
        comparison = replace(
            comparison, relative=None, relative_as_printed=None, relative_interval=None
        )
    return replace(result, facts=replace(result.facts, seed=None, rotation=None)), comparison
