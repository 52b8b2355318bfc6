"""What the results of a leakage study are called, and which of them a table or figure is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from positionbias.evaluation.memorisation import OFFSET, RANK, SCORE
from positionbias.results.payloads import Comparison, Statistics
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = [
    "BY_SIZE",
    "LEAKAGE",
    "LEAKAGE_MEASURES",
    "MEMORIES",
    "NEGATIVE_RANK",
    "ORDER",
    "TRAINSETS",
    "by_condition",
    "conditions",
    "leakage_models",
    "rows_of",
    "tests_of_leakage",
]

LEAKAGE = "leakage"  # the axis of comparisons with the training without leakage
TRAINSETS = "leaked training set"
BY_SIZE = "effectiveness by training set size"
ORDER = "order of models with leakage"
NEGATIVE_RANK = "rank of leaked non-relevant passages"
MEMORIES = (RANK, SCORE, OFFSET, NEGATIVE_RANK)
LEAKAGE_MEASURES = (TRAINSETS, BY_SIZE, ORDER, *MEMORIES)


def rows_of(result: Result) -> Mapping[str, Any]:
    """The rows of a result of statistics."""
    assert isinstance(result.payload, Statistics)
    return result.payload.rows


def tests_of_leakage(results: Iterable[Result]) -> list[tuple[Result, Comparison]]:
    """The comparisons of a leakage with none, each with its payload."""
    found = ((result, result.payload) for result in results if isinstance(result.payload, Comparison))
    return [(result, payload) for result, payload in found if payload.notes.get("axis") == LEAKAGE]


def by_condition(results: Sequence[Result]) -> list[Result]:
    """The effectiveness of every model and condition: results per query of the models that a leakage was tested for."""
    models = leakage_models(results)
    return [r for r in results if r.kind == "per_query" and r.facts.model in models and r.facts.variant]


def leakage_models(results: Iterable[Result]) -> list[str]:
    """The models that a leakage was tested for, in order."""
    return distinct(result.facts.model for result, _ in tests_of_leakage(results))


def conditions(results: Sequence[Result]) -> list[str]:
    """What the trainings are told apart by, none first: as the results have them."""
    return distinct(result.facts.variant for result in by_condition(results))
