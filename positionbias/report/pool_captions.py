"""What each figure about pools shows, in a sentence or two with its main numbers."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import count, decimal, interval, percent, with_interval
from positionbias.report.pool_curves import curves_of
from positionbias.results.pool_verdict import ScoreFigures, UnjudgedFigures
from positionbias.results.pools import (
    ALL,
    ChangeFigures,
    Contrast,
    CoverageFigures,
    OnePoolFigures,
    by_contrast,
    by_measure,
    by_task,
    task_of,
)
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["bias_caption", "coverage_caption", "curve_caption", "scatter_caption", "task_sentence", "verdict_caption"]


def task_sentence(results: Sequence[Result], name: str) -> str:
    """Runs, groups, kinds, queries and judgements of a task in a sentence; empty where they were not told."""
    task = task_of(results)
    if task is None:
        return ""
    kinds = ", ".join(f"{own.systems} {kind} of {own.groups} groups" for kind, own in task.kinds.items())
    return (
        f"{name}: {task.systems} runs ({kinds}); {count(task.queries)} queries, {count(task.judgements)} judgements, of which "
        f"{count(task.relevant)} are relevant (grade {task.relevant_from} or more)."
    )


def coverage_caption(results: Sequence[Result]) -> str:
    """How many relevant documents each kind has at the depth that is marked."""
    parts = []
    tasks = by_task(results)
    for task, of_task in tasks.items():
        for _, own in of_type(of_task, CoverageFigures):
            of = f"{task}, " if len(tasks) > 1 else ""
            number, alone = count(own.relevant), count(own.unique)
            parts.append(
                f"{of}{own.kind} ({own.systems} runs of {own.groups} groups): {number}, {alone} of them in no other kind's pool"
            )
    depth = of_type(results, CoverageFigures)[0][1].depth
    return (
        f"Relevant documents by pool depth. At depth {depth}, the thin line: {'; '.join(parts)}. Only judged documents count, so curves are understated where they go "
        "deeper than what was judged; and a kind with more runs finds more."
    )


def scatter_caption(results: Sequence[Result]) -> str:
    """The three τ of every panel."""
    parts = []
    for _, own in by_measure(of_type(results, OnePoolFigures)):
        taus = ", ".join(f"{test} {decimal(tau)}" for test, tau in own.tau_b.items())
        parts.append(f"{own.measure}, {own.pool} pool: {taus}")
    return (
        "Each test system's score by the judgements of one drawn pool against its score by gold; below the line it is underestimated. "
        f"Kendall's τ: {'; '.join(parts)}."
    )


def bias_caption(results: Sequence[Result]) -> str:
    """The change of every kind by pools of another, with intervals."""
    effects = by_contrast(results)
    parts = []
    for result, own in by_measure(of_type(results, ChangeFigures)):
        if own.test in (ALL, own.pool):
            continue
        text = f"{own.test} runs by {own.pool} pools, {own.measure}: {_signed(result)}"
        for contrast in Contrast:
            if effect := effects.get((contrast, own.measure, own.pool, own.test)):
                unseen = f"{own.pool} runs " if contrast is Contrast.UNSEEN else ""
                text += f", {contrast} {unseen}{_signed(effect[0])}"
        parts.append(text)
    return (
        "How far pools of one kind move the scores of systems that did not feed them (left of 0: underestimated), with 95\u00a0% intervals over groups and queries; hollow: how much more "
        f"than permuted kinds would. Of other kinds than the pools': {'; '.join(parts)}."
    )


def _signed(result: Result) -> str:
    return with_interval(decimal(result.value, sign=True), interval(result.interval, sign=True))


def curve_caption(results: Sequence[Result], axis: str) -> str:
    """Where each curve of another kind than the pool's begins and ends."""
    parts = []
    for _, own in by_measure(curves_of(results, axis)):
        if own.test not in (ALL, own.pool):
            ends = [(own.at[place], own.change[place]) for place in (0, -1)]
            shown = ", ".join(f"{decimal(change, sign=True)} at {at}" for at, change in ends)
            parts.append(f"{own.test} runs by {own.pool} pools, {own.measure}: {shown}")
    if axis == "depth":
        what = "Mean change of score by the depth of the pools, against the same gold throughout, with 95\u00a0% intervals."
    else:
        what = "Mean change of score by the number of groups that feed a pool, with 95\u00a0% intervals; as groups are drawn, fewer systems are left to test."
    return f"{what} Of other kinds than the pools': {'; '.join(parts)}."


def verdict_caption(results: Sequence[Result]) -> str:
    """The new run's score, as predicted and as it can be."""
    parts = []
    for _, own in of_type(results, ScoreFigures):
        predicted = f"{decimal(own.predicted)} predicted ({decimal(own.predicted_low)} to {decimal(own.predicted_high)}), "
        parts.append(
            f"{own.measure}: {decimal(own.score)} as judged, {'' if own.predicted is None else predicted}"
            f"{decimal(own.low)} to {decimal(own.high)} possible"
        )
    head = next((own for _, own in of_type(results, UnjudgedFigures)), None)
    share = f" {percent(head.share)} of its first {head.depth} are unjudged." if head else ""
    return (
        f"The new run (wide band) and every pooled run (bars): all that they can score, whatever the unjudged documents are; the dark band is the new run's "
        f"95\u00a0% prediction interval. {'; '.join(parts)}.{share}"
    )
