"""Contaminated training sets as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from positionbias.report.collection_text import aligned
from positionbias.results.contamination import ContaminatedSet
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["contaminated_text"]

_SHOWN = 10  # missing passages shown; the manifest has all


def contaminated_text(results: Sequence[Result]) -> str:
    """Return a line per origin, and what was left out, by cause; missing passages of targets by
    id.
    """
    ((result, held),) = of_type(results, ContaminatedSet)
    of = held.ordinary
    lines = [("origin", "queries", "groups", "share", "negatives judged", "negatives random")]
    lines.append(
        (of.split, f"{of.queries:,}", f"{of.groups:,}", f"{of.groups / result.count:.2%}", "", "")
    )
    left_out = [
        (of.split, of.small_groups, "groups smaller than asked for"),
        (of.split, of.without_candidates, "positives without candidates"),
        (of.split, of.missing_positives, "positives missing from the corpus"),
    ]
    for split, counts in held.targets.items():
        queries, groups = f"{counts.queries:,} of {counts.with_positive:,}", f"{counts.groups:,}"
        negatives = (f"{counts.judged_negatives:,}", f"{counts.random_negatives:,}")
        lines.append((split, queries, groups, f"{counts.groups / result.count:.2%}", *negatives))
        left_out += [
            (split, counts.without_positive, "judged queries without a positive"),
            (
                split,
                counts.missing_positives,
                f"positives missing from the corpus: {_ids(counts.missing_positive_ids)}",
            ),
            (
                split,
                counts.missing_negatives,
                f"negatives missing from the corpus: {_ids(counts.missing_negative_ids)}",
            ),
        ]
    told = [f"{split}: {number:,} {what}" for split, number, what in left_out if number]
    return "\n".join([aligned(lines, left=1), "", *told]).rstrip()


def _ids(by_query: Mapping[str, Sequence[str]]) -> str:
    ids = [passage_id for of_query in by_query.values() for passage_id in of_query]
    more = f" … (all {len(ids):,} in the manifest)" if len(ids) > _SHOWN else ""
    return f"{', '.join(ids[:_SHOWN])}{more}"
