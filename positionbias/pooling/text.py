"""Output of the pool commands: the findings, then the tables without the columns that only a file
has room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from positionbias.core.formatting import count, decimal
from positionbias.pooling.tables import (
    bias_table,
    comparisons_table,
    coverage_data,
    effects_table,
    left_out_by_kind_table,
    left_out_table,
    order_table,
    relabelled_table,
    task_table,
    verdict_table,
)
from positionbias.report.collection_text import aligned
from positionbias.report.table import Table, as_text
from positionbias.results.payloads import Finding
from positionbias.results.pools import (
    CoverageFigures,
    CurveFigures,
    KindAnswer,
    by_task,
    kind_effects_of,
    task_of,
)
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = ["pool_headlines", "task_sentences", "pools_text", "verdict_text"]

MOST = 10  # groups to list
POINTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)  # points of a curve, beside its last


def pools_text(results: Sequence[Result]) -> str:
    """Return the answer, the collection, a line per finding, and the tables with rows."""
    findings = "\n".join(finding.text for _, finding in of_type(results, Finding))
    tables = [
        _coverage(results),
        *(table(results) for table in (task_table, effects_table, order_table, bias_table)),
    ]
    tables += [
        left_out_by_kind_table(results),
        _first(left_out_table(results)),
        relabelled_table(results),
    ]
    shown = [as_text(table) for table in tables if table.rows]
    told = "\n".join(pool_headlines(results))
    task = _task_sentence(results, results[0].collection)
    return "\n\n".join(filter(None, (told, task, findings, *shown, *_curves(results))))


def pool_headlines(results: Sequence[Result]) -> list[str]:
    """Return what the pools of each kind hold, or whether kind matters: the answers of its tests,
    whose false alarms are measured.
    """
    held = [own for _, own in of_type(results, CoverageFigures)]
    if held:
        kinds = "; ".join(
            f"of {own.kind} runs {own.relevant:,}, {own.unique:,} of them in no other"
            for own in held
        )
        return [f"Relevant documents in pools of depth {held[0].depth}: {kinds}."]
    tests = [own for _, own in kind_effects_of(results)]
    if not tests:
        return []
    counts = {answer: sum(own.answer is answer for own in tests) for answer in KindAnswer}
    unfair = counts[KindAnswer.WORSE] + counts[KindAnswer.BETTER]
    said = (
        f"{counts[KindAnswer.WORSE]} worse, {counts[KindAnswer.BETTER]} better, "
        f"{counts[KindAnswer.CLOSE]} {KindAnswer.CLOSE}"
    )
    of = f"of {len(tests)} tests, {said}, {counts[KindAnswer.UNKNOWN]} cannot tell"
    if unfair:
        return [f"No: pools of one kind do not judge the other as they judge their own ({of})."]
    if counts[KindAnswer.UNKNOWN]:
        return [
            f"Cannot tell whether pools of one kind judge the other as they judge their own ({of})."
        ]
    return [f"Yes: pools of one kind judge the other as they judge their own, within 0.03 ({of})."]


def task_sentences(results: Sequence[Result]) -> list[str]:
    """Return what each task consists of, where that is known."""
    return [text for task, own in by_task(results).items() if (text := _task_sentence(own, task))]


def _task_sentence(results: Sequence[Result], name: str) -> str:
    """Describe a task in a sentence: runs, groups, kinds, queries and judgements; empty where
    unknown.
    """
    task = task_of(results)
    if task is None:
        return ""
    kinds = ", ".join(
        f"{own.systems} {kind} of {own.groups} groups" for kind, own in task.kinds.items()
    )
    return (
        f"{name}: {task.systems} runs ({kinds}); {count(task.queries)} queries, "
        f"{count(task.judgements)} judgements, of which {count(task.relevant)} are relevant (grade "
        f"{task.relevant_from} or more)."
    )


def _coverage(results: Sequence[Result]) -> Table:
    """Return the depths at which counts are kept query by query."""
    table, kept = (
        coverage_data(results),
        [own.depths_by_query for _, own in of_type(results, CoverageFigures)],
    )
    return replace(table, rows=[row for row in table.rows if row[0].value in kept[0]])


def _first(table: Table) -> Table:
    more = len(table.rows) - MOST
    return (
        replace(table, rows=table.rows[:MOST], notes=[f"… and {more} groups with fewer."])
        if more > 0
        else table
    )


def _curves(results: Sequence[Result]) -> Iterator[str]:
    """Yield the change of score at some points of each curve, one line per curve."""
    found = [own for _, own in of_type(results, CurveFigures)]
    for axis in distinct(own.axis for own in found):
        of_axis = [own for own in found if own.axis == axis]
        known = sorted({at for own in of_axis for at in own.at})
        points = [at for at in known if at in POINTS or at == known[-1]]
        lines = [(f"change by {axis} of pools", "pool", "test", *map(str, points))]
        for own in of_axis:
            by_point = dict(zip(own.at, own.change, strict=True))
            lines.append(
                (
                    own.measure,
                    own.pool,
                    own.test,
                    *(decimal(by_point.get(at), sign=True) for at in points),
                )
            )
        yield aligned(lines, left=3)


def verdict_text(results: Sequence[Result]) -> str:
    """Return the findings by measure, the answer first; the scores; then the pooled runs that may
    be better or worse.
    """
    findings = [finding.text for _, finding in of_type(results, Finding)]
    tables = [verdict_table(results)]
    if (comparisons := comparisons_table(results, only_open=True)).rows:
        title, notes = (
            "Pooled runs whose order is open",
            ["Every other order stands in --json and --out."],
        )
        tables.append(replace(comparisons, title=title, notes=notes))
    return "\n\n".join([*findings, *map(as_text, tables)])
