"""What each figure about pools shows, in a sentence or two with its main numbers."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import count, decimal, interval, percent, with_interval
from positionbias.report.pool_curves import curves_of
from positionbias.report.pool_select import AGAINST, ALL, by_measure, by_task, of_what
from positionbias.results.result import Result

__all__ = ["bias_caption", "coverage_caption", "curve_caption", "scatter_caption", "task_sentence", "verdict_caption"]


def task_sentence(results: Sequence[Result], task: str) -> str:
    """Runs, groups, kinds, queries and judgements of a task in a sentence; empty where they were not told."""
    found = of_what(results, "collection")
    if not found:
        return ""
    rows = max((rows for _, rows in found), key=len)
    kinds = ", ".join(f"{own['systems']} {kind} of {own['groups']} groups" for kind, own in rows["kinds"].items())
    return (
        f"{task}: {rows['systems']} runs ({kinds}); {count(rows['queries'])} queries, {count(rows['judgements'])} judgements, of which "
        f"{count(rows['relevant'])} are relevant (grade {rows['relevant from']} or more)."
    )


def coverage_caption(results: Sequence[Result]) -> str:
    """How many relevant documents each kind has at the depth that is marked."""
    parts = []
    tasks = by_task(results)
    for task, of_task in tasks.items():
        for _, rows in of_what(of_task, "coverage"):
            of = f"{task}, " if len(tasks) > 1 else ""
            number, alone = count(rows["relevant"]), count(rows["unique"])
            parts.append(
                f"{of}{rows['kind']} ({rows['systems']} runs of {rows['groups']} groups): {number}, {alone} of them in no other kind's pool"
            )
    depth = of_what(results, "coverage")[0][1]["depth"]
    return (
        f"Relevant documents by pool depth. At depth {depth}, the thin line: {'; '.join(parts)}. Only judged documents count, so curves are understated where they go "
        "deeper than what was judged; and a kind with more runs finds more."
    )


def scatter_caption(results: Sequence[Result]) -> str:
    """The three τ of every panel."""
    parts = []
    for _, rows in by_measure(of_what(results, "one pool")):
        taus = ", ".join(f"{test} {decimal(tau)}" for test, tau in rows["tau_b"].items())
        parts.append(f"{rows['measure']}, {rows['pool']} pool: {taus}")
    return (
        "Each test system's score by the judgements of one drawn pool against its score by gold; below the line it is underestimated. "
        f"Kendall's τ: {'; '.join(parts)}."
    )


def bias_caption(results: Sequence[Result]) -> str:
    """The change of every kind by pools of another, with intervals."""
    effects = {
        (against, *(rows[name] for name in ("measure", "pool", "test"))): result
        for against in AGAINST
        for result, rows in of_what(results, against)
    }
    parts = []
    for result, rows in by_measure(of_what(results, "change")):
        if rows["test"] in (ALL, rows["pool"]):
            continue
        text = f"{rows['test']} runs by {rows['pool']} pools, {rows['measure']}: {_signed(result)}"
        for against in AGAINST:
            if other := effects.get((against, rows["measure"], rows["pool"], rows["test"])):
                text += f", {against} {'' if 'mixed' in against else rows['pool'] + ' runs '}{_signed(other)}"
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
    for _, rows in by_measure(curves_of(results, axis)):
        if rows["test"] not in (ALL, rows["pool"]):
            ends = [(rows["at"][place], rows["change"][place]) for place in (0, -1)]
            shown = ", ".join(f"{decimal(change, sign=True)} at {at}" for at, change in ends)
            parts.append(f"{rows['test']} runs by {rows['pool']} pools, {rows['measure']}: {shown}")
    if axis == "depth":
        what = "Mean change of score by the depth of the pools, against the same gold throughout, with 95\u00a0% intervals."
    else:
        what = "Mean change of score by the number of groups that feed a pool, with 95\u00a0% intervals; as groups are drawn, fewer systems are left to test."
    return f"{what} Of other kinds than the pools': {'; '.join(parts)}."


def verdict_caption(results: Sequence[Result]) -> str:
    """The new run's score, as predicted and as it can be."""
    parts = [
        f"{rows['measure']}: {decimal(rows['score'])} as judged, "
        + (
            f"{decimal(rows['predicted'])} predicted ({decimal(rows['predicted low'])} to {decimal(rows['predicted high'])}), "
            if rows["predicted"] is not None
            else ""
        )
        + f"{decimal(rows['low'])} to {decimal(rows['high'])} possible"
        for _, rows in of_what(results, "score")
    ]
    head = next((rows for _, rows in of_what(results, "unjudged")), None)
    share = f" {percent(head['share'])} of its first {head['depth']} are unjudged." if head else ""
    return (
        f"The new run (wide band) and every pooled run (bars): all that they can score, whatever the unjudged documents are; the dark band is the new run's "
        f"95\u00a0% prediction interval. {'; '.join(parts)}.{share}"
    )
