"""Answers of a leakage study as tiles: does leakage lift a model, and does the model remember what
leaked?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.formatting import decimal, interval, with_interval
from positionbias.evaluation.significance import BONFERRONI
from positionbias.experiments.tiles import compared_tile, not_finished
from positionbias.papers.leakage import OFFSET, Memory, tests_of_leakage
from positionbias.report.tiles import Answered, Tile
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["leakage_tiles"]

CLEAN = "Remove near-duplicates of the test queries from the training set (posbias leakage clean)."


def leakage_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each leakage and model in the headline measure, then one for each
    memory.
    """
    tests = tests_of_leakage(results)
    headline = tests[0][0].measure if tests else ""
    tiles = [
        compared_tile(
            f"Does {result.facts.variant} lift {headline}?",
            result.facts.model,
            result,
            payload,
            BONFERRONI,
            good=False,
            advice=CLEAN,
        )
        for result, payload in tests
        if result.measure == headline
    ]
    return [
        *tiles,
        *(_memory(result) for result, _ in of_type(results, Memory) if result.measure == OFFSET),
    ]


def _memory(result: Result) -> Tile:
    bounds, answer = result.interval, Answered.UNKNOWN
    if bounds is not None and not not_finished(result):
        answer = (
            Answered.YES if bounds.low > 0 else Answered.NO if bounds.high < 0 else Answered.UNKNOWN
        )
    words = {Answered.YES: "Remembers", Answered.NO: "The opposite of remembering"}.get(
        answer, "Not shown"
    )
    value = decimal(result.value, 2, sign=True)
    tile = Tile(
        question="Are leaked passages remembered?",
        subject=f"{result.facts.model}, {result.facts.variant}",
        answer=answer,
        words=words,
        welcome=answer is Answered.NO,
        effect=f"{with_interval(value, interval(bounds, places=2, sign=True))} ranks",
        basis=("the gap between leaked relevant and other passages", f"{result.count:,} topics"),
    )
    return replace(tile, advice=CLEAN) if answer is Answered.YES else tile
