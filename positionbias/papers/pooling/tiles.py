"""Verdicts on pools as tiles: can a collection judge a run, and do pools of one kind underestimate
another?
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import count, decimal, interval, p_value, percent, with_interval
from positionbias.core.interval import Interval
from positionbias.report.tiles import Answered, Tile
from positionbias.results.pool_verdict import RunAnswer, ScoreFigures, UnjudgedFigures
from positionbias.results.pools import Contrast, KindAnswer, KindFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["pool_tiles"]

_RUN = {
    RunAnswer.YES: Answered.YES,
    RunAnswer.MORE: Answered.NO,
    RunAnswer.UNKNOWN: Answered.UNKNOWN,
}
_KIND = {
    KindAnswer.WORSE: Answered.YES,
    KindAnswer.BETTER: Answered.NO,
    KindAnswer.CLOSE: Answered.NO,
    KindAnswer.UNKNOWN: Answered.UNKNOWN,
}
_WORDS = {
    KindAnswer.WORSE: "Underestimated",
    KindAnswer.BETTER: "Overestimated",
    KindAnswer.CLOSE: "Within 0.03",
    KindAnswer.UNKNOWN: "Cannot tell",
}
_LESS = {
    Contrast.UNSEEN: "beside unseen runs of the pool's kind",
    Contrast.MIXED: "beyond pools of any kind",
}


def pool_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each measure by which a run was judged, then one for each test of kind."""
    unjudged = {result.collection: of for result, of in of_type(results, UnjudgedFigures)}
    tiles = [
        _run(result, of, unjudged.get(result.collection))
        for result, of in of_type(results, ScoreFigures)
    ]
    return [*tiles, *(_kind(result, of) for result, of in of_type(results, KindFigures))]


def _run(result: Result, of: ScoreFigures, unjudged: UnjudgedFigures | None) -> Tile:
    low, high = of.predicted_low, of.predicted_high
    if of.predicted is not None and low is not None and high is not None:
        effect = (
            f"predicted {with_interval(decimal(of.predicted), interval(Interval(low, high)))} "
            f"{of.measure}"
        )
    else:
        effect = f"{of.measure} between {decimal(of.low)} and {decimal(of.high)}"
    run = unjudged.run if unjudged else result.system
    basis = (
        [f"{percent(unjudged.share)} of its first {unjudged.depth} unjudged"] if unjudged else []
    )
    basis += [f"queries leave ±{decimal(of.query_half)} open"] if of.query_half is not None else []
    basis += (
        [f"such intervals covered {percent(of.covered, 0)} of pooled runs"]
        if of.covered is not None
        else []
    )
    more = (
        f"Judge the first {count(of.needed)} documents of --judge-next FILE"
        if of.needed
        else "Judge the documents of --judge-next FILE"
    )
    return Tile(
        question=f"Can {result.collection} judge {run} by {of.measure}?",
        subject=run,
        answer=_RUN[of.answer],
        words=f"{of.answer[:1].upper()}{of.answer[1:]}",
        welcome=of.answer is RunAnswer.YES,
        effect=effect,
        basis=basis,
        advice="" if of.answer is RunAnswer.YES else f"{more}, and ask again.",
    )


def _kind(result: Result, of: KindFigures) -> Tile:
    basis = [f"Holm p {p_value(of.p_holm)}"] if of.p_holm is not None else []
    basis += [f"finds {of.planted:g} in {percent(of.power, 0)}"] if of.power is not None else []
    basis += [f"false alarms {percent(of.alarms.value)}"] if of.alarms else []
    measured = decimal(of.gap if result.value is None else result.value, sign=True)
    return Tile(
        question=f"Do {of.pool} pools underestimate {of.test} runs?",
        subject=f"{result.collection}, {of.measure}, {_LESS[of.contrast]}",
        answer=_KIND[of.answer],
        words=_WORDS[of.answer],
        welcome=of.answer is KindAnswer.CLOSE,
        effect=f"{with_interval(measured, interval(result.interval, sign=True))} {of.measure}",
        basis=basis,
        advice=_kind_advice(of),
    )


def _kind_advice(of: KindFigures) -> str:
    if of.answer is KindAnswer.WORSE:
        return (
            f"Let groups of {of.test} runs feed the pool too, or compare {of.test} runs with each "
            "other only."
        )
    if of.answer is KindAnswer.BETTER:
        return f"Compare {of.pool} and {of.test} runs under pools of both kinds only."
    if of.answer is KindAnswer.UNKNOWN and of.needed:
        return (
            f"More groups: {count(of.needed)} would find a gap of {of.planted:g} with 80 % power "
            f"(here {of.groups})."
        )
    return ""
