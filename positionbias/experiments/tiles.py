"""Paired comparisons of a study as tiles: significant, or not told; a training that is not finished
decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import decimal, interval, p_value, with_interval
from positionbias.evaluation.letters import is_significant
from positionbias.report.tiles import Answered, Tile
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result

__all__ = ["compared_tile", "not_finished"]

UNFINISHED = "Training not finished"
TRAIN_LONGER = "Train longer: validation still rose when the training ended, so nothing is decided."


def not_finished(result: Result) -> bool:
    """Return whether a comparison is of a training that was not finished, or with one."""
    payload = result.payload
    return result.facts.unfinished or (
        isinstance(payload, Comparison) and bool(payload.noted.baseline.get("unfinished"))
    )


def compared_tile(
    question: str,
    subject: str,
    result: Result,
    payload: Comparison,
    correction: str,
    *,
    good: bool,
    advice: str = "",
) -> Tile:
    """Return whether the candidate is above its baseline: yes or no where the corrected p is
    significant, else cannot tell.

    ``good`` says whether a yes is good news; ``advice`` belongs to bad news.
    """
    p = payload.p_adjusted.get(correction)
    answer, words = _answer(payload, p)
    if not_finished(result):
        answer, words = Answered.UNKNOWN, UNFINISHED
    welcome = (answer is Answered.YES) == good
    size = with_interval(
        decimal(payload.difference, sign=True), interval(payload.difference_interval, sign=True)
    )
    return Tile(
        question=question,
        subject=subject,
        answer=answer,
        words=words,
        welcome=welcome,
        effect=f"{size} {result.measure}",
        basis=_basis(payload, p, correction, result.count),
        advice=TRAIN_LONGER
        if words == UNFINISHED
        else advice
        if answer is not Answered.UNKNOWN and not welcome
        else "",
    )


def _answer(payload: Comparison, p: float | None) -> tuple[Answered, str]:
    if p is None:
        return Answered.UNKNOWN, "No test"
    if not is_significant(p):
        return Answered.UNKNOWN, "No significant difference"
    return (
        (Answered.YES, "Significantly higher")
        if payload.difference > 0
        else (Answered.NO, "Significantly lower")
    )


def _basis(payload: Comparison, p: float | None, correction: str, queries: int) -> Sequence[str]:
    means = f"{decimal(payload.candidate_mean)} against {decimal(payload.baseline_mean)}"
    return [
        means,
        *(
            [f"p {p_value(p)} after {correction.capitalize()}'s correction"]
            if p is not None
            else []
        ),
        f"{queries:,} queries",
        *([payload.noted.over] if p is not None and payload.noted.over else []),
    ]
