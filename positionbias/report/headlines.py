"""The answer of a measuring command in one sentence for each thing measured: a comparison with its
interval, and no claim beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from positionbias.core.formatting import count, decimal, interval, p_value, plural, with_interval
from positionbias.core.interval import Interval
from positionbias.results.collections import PassageFigures, QueryFigures
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = [
    "collection_headlines",
    "evaluation_headlines",
]

CHANCE = 0.05  # a Holm-adjusted p below it is called more than chance, where the interval agrees
SAME = 1e-12  # means that differ by less are equal


def evaluation_headlines(results: Sequence[Result]) -> list[str]:
    """Return the runs that are highest by the first measure, and whether their lead over the first
    run, or the next, is more than chance.
    """
    means = [result for result, _ in of_type(results, PerQuery) if result.value is not None]
    own = [result for result in means if result.measure == means[0].measure]
    if not own:
        return []
    measure, first = own[0].measure, own[0]
    top = max(_mean(result) for result in own)
    best = [result for result in own if isclose(_mean(result), top, abs_tol=SAME)]
    shown = with_interval(decimal(top), interval(best[0].interval))
    if len(own) == 1:
        return [
            (
                f"{first.system}: {measure} {shown} over {plural(first.count, 'query')}; give a "
                "second run to compare with it."
            )
        ]
    rivals = sorted((result for result in own if result not in best), key=_mean, reverse=True)
    if not rivals:
        return [f"no run is highest: all {len(own)} have the same {measure}, {shown}."]
    rival = rivals[0] if first in best else first
    candidate = rival if first in best else best[0]
    compared = (
        p
        for r, p in of_type(results, Comparison)
        if r.measure == measure and p.candidate == candidate.system
    )
    item = next(compared, None)
    have = "has" if len(best) == 1 else "share"
    head = f"{_names(best)} {have} the highest {measure} of {len(own)} runs, {shown}"
    return [f"{head}: {_lead(item, rival.system, turned=first in best)}." if item else f"{head}."]


def _mean(result: Result) -> float:
    return result.value or 0.0


def _names(runs: Sequence[Result]) -> str:
    first, *others = (run.system for run in runs)
    return (
        first
        if not others
        else f"{first} and {others[0] if len(others) == 1 else plural(len(others), 'other run')}"
    )


def _lead(item: Comparison, rival: str, *, turned: bool) -> str:
    sign, bounds, p = -1 if turned else 1, item.difference_interval, item.p_adjusted.get("holm")
    if bounds is not None and turned:
        bounds = Interval(-bounds.high, -bounds.low)
    less = with_interval(decimal(sign * item.difference, sign=True), interval(bounds, sign=True))
    sure = p is not None and p < CHANCE and (bounds is None or bounds.low > 0)
    surely = "more than chance" if sure else "cannot tell whether that is more than chance"
    return (
        f"{less} over {rival}, {surely} "
        f"({f'Holm-adjusted p {p_value(p)}' if p is not None else 'p undefined'})"
    )


def collection_headlines(results: Sequence[Result]) -> list[str]:
    """Return what a collection holds."""
    ((result, _),) = of_type(results, PassageFigures)
    splits = [(one.split, figures) for one, figures in of_type(results, QueryFigures)]
    asked = ", ".join(f"{split} {count(figures.queries)}" for split, figures in splits)
    answers = plural(sum(figures.answers for _, figures in splits), "answer")
    queries = plural(sum(figures.queries for _, figures in splits), "query")
    return [
        (
            f"{result.collection}: {plural(result.count, 'passage')}, {queries} "
            f"({asked or 'no split'}) and {answers}."
        )
    ]
