"""What the results of a TripClick study are called, and which of them a table or figure is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.core.convergence import ended_name
from positionbias.results.payloads import Comparison
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name

__all__ = [
    "AGAINST_BM25",
    "CLEANED",
    "CURVES",
    "ENSEMBLE",
    "FIRST",
    "MEMBERS",
    "NEGATIVES",
    "REGENERATED",
    "RERANKER",
    "RETRIEVER",
    "SETS",
    "TELEMETRY",
    "TRIPCLICK_MEASURES",
    "is_tripclick_test",
    "of_role",
    "set_name",
    "short",
    "system_label",
    "compared_along",
    "judged_sets",
    "tripclick_systems",
]

REGENERATED = "regenerated"  # the training set whose negatives are BM25's
CLEANED = "-cleaned"  # behind a set's name: without its false negatives
FIRST, RERANKER, ENSEMBLE, RETRIEVER = "first stage", "re-ranker", "ensemble", "retriever"
ROLES = (FIRST, RERANKER, ENSEMBLE, RETRIEVER)
AGAINST_BM25 = "against BM25"  # the axes of the study's comparisons
NEGATIVES = "negatives"
MEMBERS = "ensemble against its best member"
SETS = "training set of clicks"
TELEMETRY = "training telemetry"
CURVES = "nDCG@10 by re-ranking depth"
TRIPCLICK_MEASURES = (SETS, TELEMETRY, CURVES)
_AXES = (AGAINST_BM25, NEGATIVES, MEMBERS)


def tripclick_systems(results: Iterable[Result]) -> list[Result]:
    """The effectiveness of every system, by query."""
    return [result for result in results if result.kind == "per_query" and result.facts.role in ROLES]


def of_role(results: Iterable[Result], *roles: str) -> list[Result]:
    """The effectiveness of systems with one of these roles."""
    return [result for result in tripclick_systems(results) if result.facts.role in roles]


def judged_sets(results: Iterable[Result]) -> list[str]:
    """The test sets, in order."""
    return distinct(result.split for result in tripclick_systems(results))


def compared_along(results: Iterable[Result], axis: str) -> list[tuple[Result, Comparison]]:
    """The comparisons along one of the study's axes, each with its payload."""
    found = ((result, result.payload) for result in results if isinstance(result.payload, Comparison))
    return [(result, payload) for result, payload in found if payload.notes.get("axis") == axis]


def is_tripclick_test(result: Result) -> bool:
    """Whether a result is a comparison of this study."""
    return isinstance(result.payload, Comparison) and result.payload.notes.get("axis") in _AXES


def short(facts: Facts) -> str:
    """A model with what it began with, without its training set."""
    if facts.role == ENSEMBLE:
        return ended_name("Ensemble", facts.unfinished)
    name = "BM25" if facts.model == "bm25" else model_name(facts)
    return name + (f", {facts.pretrained}" if facts.pretrained else "")


def set_name(facts: Facts) -> str:
    """A training set in words."""
    name = facts.variant
    return f"{name.removesuffix(CLEANED)}, false negatives left out" if name.endswith(CLEANED) else name


def system_label(facts: Facts, systems: Sequence[Facts] = ()) -> str:
    """A system as a row or a line names it; its training set where ``systems`` has several."""
    several = len({of.variant for of in systems if of.variant}) > 1
    return short(facts) + (f" ({set_name(facts)})" if several and facts.variant else "")
