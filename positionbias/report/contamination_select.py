"""What the results of a contamination study are called, and which of them a table or figure is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from positionbias.results.payloads import Comparison
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name

__all__ = [
    "BEYOND",
    "CONTAMINATION",
    "CONTAMINATION_MEASURES",
    "DOSES",
    "INHERITED",
    "SETS",
    "STANDARD",
    "TRAINED",
    "clean_of",
    "clean_systems",
    "comparisons_along",
    "distilled",
    "first_stages",
    "is_contamination_test",
    "loss_name",
    "on_own_target",
    "short_label",
    "system_label",
    "targets_of",
    "whole_share",
]

CONTAMINATION = "contamination"  # the axis of comparisons of a contaminated system with its clean twin
STANDARD = "standard teacher"  # the axis of comparisons with the clean teacher, as in Table 1
SETS = "contaminated training set"
DOSES = "inflation by contaminated share"
INHERITED = "share of the teacher's inflation that its student inherits"
BEYOND = "inflation beyond the change on another target"
TRAINED = "trainings of teachers and students"
CONTAMINATION_MEASURES = (SETS, DOSES, INHERITED, BEYOND, TRAINED)
LOSSES = {
    "lce": "LCE",
    "margin_mse": "MarginMSE",
    "kl": "KL\u00a0div.",
    "ranknet": "RankNet",
    "hinge": "hinge",
    "pointwise": "pointwise",
}


def comparisons_along(results: Iterable[Result], axis: str) -> list[tuple[Result, Comparison]]:
    """The comparisons of one of the study's two axes, each with its payload."""
    found = ((result, result.payload) for result in results if isinstance(result.payload, Comparison))
    return [(result, payload) for result, payload in found if payload.notes.get("axis") == axis]


def is_contamination_test(result: Result) -> bool:
    """Whether a result is a comparison of this study."""
    return isinstance(result.payload, Comparison) and result.payload.notes.get("axis") in (CONTAMINATION, STANDARD)


def distilled(results: Iterable[Result]) -> list[Result]:
    """The effectiveness of every teacher and student, by query."""
    return [result for result in results if result.kind == "per_query" and result.facts.role in ("teacher", "student")]


def first_stages(results: Sequence[Result]) -> dict[tuple[str, str], Result]:
    """BM25's effectiveness by target and measure, where teachers and students re-ranked it."""
    if not distilled(results):
        return {}
    return {(r.split, r.measure): r for r in results if r.kind == "per_query" and r.facts.model == "bm25"}


def targets_of(results: Iterable[Result]) -> list[str]:
    """The targets, in order."""
    return distinct(result.split for result in distilled(results))


def clean_of(facts: Facts) -> Facts:
    """The same system with nothing contaminated."""
    return replace(facts, source="", share=None)


def clean_systems(results: Iterable[Result]) -> list[Facts]:
    """Every teacher and student without its contamination, teachers first."""
    found = distinct(clean_of(result.facts) for result in distilled(results))
    return sorted(found, key=lambda facts: facts.role != "teacher")


def on_own_target(result: Result) -> bool:
    """Whether a contaminated system is measured on what contaminated it."""
    return bool(result.facts.source) and result.facts.source == result.split


def whole_share(results: Iterable[Result]) -> dict[Facts, float]:
    """By contaminated system, without its share, the largest share that there is."""
    largest: dict[Facts, float] = {}
    for result in distilled(results):
        if result.facts.share is not None:
            key = replace(result.facts, share=None)
            largest[key] = max(result.facts.share, largest.get(key, 0.0))
    return largest


def loss_name(facts: Facts) -> str:
    """A loss as the paper writes it."""
    return LOSSES.get(facts.loss, facts.loss)


def system_label(facts: Facts) -> str:
    """A system without its contamination, as a row or a panel names it."""
    return f"{facts.role} {short_label(facts)}"


def short_label(facts: Facts) -> str:
    """As ``system_label``, without the role: a teacher's loss is never a student's."""
    return f"{model_name(facts)}, {loss_name(facts)}"
