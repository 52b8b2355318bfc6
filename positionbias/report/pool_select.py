"""Which of the results about pools a table or figure is of, and how each kind of system is drawn: alike in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.report.drawing import DASHES, MARKERS, colour_of
from positionbias.results.payloads import PerQuery, Statistics
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = [
    "AGAINST",
    "ALL",
    "RECOGNISED",
    "Found",
    "KindLooks",
    "by_measure",
    "by_task",
    "is_of_pools",
    "looks_of",
    "measures_in",
    "of_what",
    "pools_in",
    "task_rows",
    "tests_in",
]

ALL = "all"  # the test systems of every kind together
RECOGNISED = "published task"  # what a study calls the result that says which of the paper's tasks a task is
AGAINST = ("beside unseen", "beyond mixed pools")  # what a kind's change is held against
WHAT = (
    *AGAINST, "collection", "coverage", "order", "change", "one pool", "left out", "left out by kind", "curve", "relabelled", "unjudged",
    "score", "comparisons", RECOGNISED,
)  # fmt: skip

Found = list[tuple[Result, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class KindLooks:
    """A kind of system in every figure."""

    colour: str
    marker: str
    dash: Any


def is_of_pools(result: Result) -> bool:
    """Whether a result is of pools, and nothing for the sections that hold whatever else was measured."""
    if isinstance(result.payload, PerQuery):
        return result.measure.startswith(("relevant found", "unjudged@"))
    return isinstance(result.payload, Statistics) and result.payload.rows.get("what") in WHAT


def of_what(results: Iterable[Result], what: str) -> Found:
    """The results whose rows are of this, each with its rows."""
    return [
        (result, result.payload.rows)
        for result in results
        if isinstance(result.payload, Statistics) and result.payload.rows.get("what") == what
    ]


def by_measure(found: Found) -> Found:
    """The same, a measure after the other."""
    measures = measures_in(found)
    return sorted(found, key=lambda item: measures.index(item[1]["measure"]))


def by_task(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results about pools by task (a collection of runs and judgements), in the order given."""
    found = [result for result in results if is_of_pools(result)]
    return {task: [r for r in found if r.collection == task] for task in distinct(r.collection for r in found)}


def task_rows(results: Sequence[Result]) -> Mapping[str, Any]:
    """What a task consists of; where it was told several times, the fullest; empty where it was not."""
    told = [rows for _, rows in of_what(results, "collection")]
    return max(told, key=len) if told else {}


def looks_of(results: Sequence[Result]) -> dict[str, KindLooks]:
    """Each kind's looks, in the order in which the task's table of systems has them; with several tasks, in that of the first."""
    kinds = [kind for _, rows in of_what(results, "collection") for kind in rows["kinds"]]
    return {
        kind: KindLooks(colour_of(index), MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)])
        for index, kind in enumerate(distinct(kinds))
    }


def measures_in(found: Found) -> list[str]:
    """The measures, in order."""
    return distinct(rows["measure"] for _, rows in found)


def pools_in(found: Found) -> list[str]:
    """The kinds that pools are drawn from, in order."""
    return distinct(rows["pool"] for _, rows in found)


def tests_in(found: Found) -> list[str]:
    """The kinds of the test systems, all together last."""
    return distinct(rows["test"] for _, rows in found)
