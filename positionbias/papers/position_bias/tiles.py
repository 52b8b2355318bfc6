"""Answers of a study of position as tiles: does rotating the test passages change a model, and does
training on rotated ones help?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.convergence import Finish
from positionbias.core.formatting import decimal, interval, percent, with_interval
from positionbias.experiments.against import MARGIN
from positionbias.experiments.tiles import TRAIN_LONGER, UNFINISHED, not_finished
from positionbias.papers.position_bias.findings import (
    Change,
    amount_of,
    better_of,
    difference_of,
    idle_of,
    re_ranks,
    relative_of,
    together,
)
from positionbias.papers.position_bias.remedy_table import remedied
from positionbias.report.tiles import Answered, Tile
from positionbias.results.payloads import Comparison, TrainingCurve
from positionbias.results.result import Result
from positionbias.results.select import ALL_QUERIES, BASELINES, comparisons, distinct, of_type

__all__ = ["position_tiles"]

TEST_SETS, TRAININGS = "test sets", "trainings"
_ANSWERS = {True: Answered.YES, False: Answered.NO, None: Answered.UNKNOWN}
_BM25 = "Leaves BM25's order"  # depth 1: its effectiveness says nothing about the model
_COMPARE = (
    "Look at “Remedies: quality and bias”: what each does to the effect of a moved sentence and to "
    "quality on original passages."
)
_ROTATE = (
    "Train on rotated passages (posbias debias, or train --rotate-at-reading) and measure again."
)
_ROTATED = "It was trained on rotated passages: compare other remedies (posbias study remedies)."


def position_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each model's change by rotation in the first measure, then one for each
    pair of trainings and test passages.
    """
    every = (
        result.measure
        for axis in (TEST_SETS, TRAININGS)
        for result, _ in comparisons(results, axis)
    )
    measure = next(iter(distinct(every)), "")
    return [*_changes(results, measure), *_trainings(results, measure)] if measure else []


def _changes(results: Sequence[Result], measure: str) -> list[Tile]:
    found = together(results, measure, TEST_SETS, lambda result, of: (result.system, of.subset))
    shown = [
        (result.facts, _change(result, comparison, measure, results))
        for (system, subset), (result, comparison) in found.items()
        if subset == ALL_QUERIES and system not in BASELINES
    ]
    steady = [tile.subject for _, tile in shown if tile.answer is Answered.NO]
    advice = _ROTATE
    if remedied(results):  # some make rotation harmless by construction, at a price
        advice = _COMPARE
    elif steady:
        advice = (
            f"Use {steady[0]}: its {measure} does not fall by more than {percent(MARGIN, 0)} when "
            "passages are rotated."
        )
    return [
        replace(
            tile, advice=_ROTATED if advice is _ROTATE and facts.training == "rotated" else advice
        )
        if tile.answer is Answered.YES
        else tile
        for facts, tile in shown
    ]


def _change(
    result: Result, comparison: Comparison, measure: str, results: Sequence[Result]
) -> Tile:
    change = relative_of(comparison)
    holds = amount_of(change)[1]
    answer = _ANSWERS[holds]
    words = {
        True: "Falls" if change and change.value < 0 else "Rises",
        False: "Not beyond the margin",
        None: "Too uncertain",
    }[holds]
    tile = Tile(
        question=f"Does rotating the test passages change {measure}?",
        subject=result.system,
        answer=answer,
        words=words,
        welcome=answer is Answered.NO,
        effect=_size(change, as_percent=True),
        basis=(
            f"margin ±{percent(MARGIN, 0)}",
            *_scope(change),
            f"{comparison.noted.queries or result.count:,} queries",
        ),
        measure=f"change of {measure}",
    )
    return _checked(tile, result, results)


def _trainings(results: Sequence[Result], measure: str) -> list[Tile]:
    tiles = []
    groups = together(results, measure, TRAININGS, _pair)
    for (base, other, test), (result, comparison) in groups.items():
        change = difference_of(comparison)
        if change is None:
            continue
        holds = better_of(change)[1]
        answer = _ANSWERS[holds]
        means = f"{decimal(comparison.candidate_mean)} against {decimal(comparison.baseline_mean)}"
        tile = Tile(
            question=f"Is {other} better than {base}?",
            subject=f"on {test} passages",
            answer=answer,
            words={True: "Better", False: "Worse", None: "Not distinguishable"}[holds],
            welcome=answer is Answered.YES,
            effect=f"{_size(change)} {measure}",
            basis=(means, *_scope(change)),
        )
        tiles.append(_checked(tile, result, results))
    return tiles


def _pair(result: Result, comparison: Comparison) -> tuple[str, str, str]:
    base, other = comparison.noted.systems or (comparison.baseline, comparison.candidate)
    return (
        base,
        other,
        result.facts.test or next(iter(comparison.noted.test_sets), result.collection),
    )


def _size(change: Change | None, *, as_percent: bool = False) -> str:
    if change is None:
        return ""
    value = percent(change.value, sign=True) if as_percent else decimal(change.value, sign=True)
    return with_interval(value, interval(change.interval, as_percent=as_percent, sign=True))


def _scope(change: Change | None) -> list[str]:
    return [change.scope] if change is not None and change.interval is not None else []


def _checked(tile: Tile, result: Result, results: Sequence[Result]) -> Tile:
    """Return the tile as "cannot tell" where a training was not finished or its model re-ranks
    nothing.
    """
    systems = {
        result.system,
        *(result.payload.noted.systems if isinstance(result.payload, Comparison) else ()),
    }
    endings = [
        curve.ending for of, curve in of_type(results, TrainingCurve) if of.system in systems
    ]
    if not_finished(result) or any(ending.unfinished for ending in endings):
        return replace(tile, answer=Answered.UNKNOWN, words=UNFINISHED, advice=TRAIN_LONGER)
    if not re_ranks(result, idle_of(results)):
        return replace(
            tile,
            answer=Answered.UNKNOWN,
            words=_BM25,
            advice=(
                "Train longer, start from word vectors or an encoder, or add BM25's scores "
                "(posbias ensemble)."
            ),
        )
    few = any(ending.finish is Finish.TOO_FEW for ending in endings)
    return (
        replace(
            tile, basis=(*tile.basis, "too few validations to tell whether training was finished")
        )
        if few
        else tile
    )
