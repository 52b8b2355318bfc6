"""Select an audit's results for figures and tables, and give each system the same look in all of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

from positionbias.core.formatting import count, decimal
from positionbias.core.interval import Interval
from positionbias.report.drawing import DASHES, MARKERS, colour_of
from positionbias.report.figure import MUTED
from positionbias.results.audit import AUDIT_MEASURES, FIRST_STAGE
from positionbias.results.buckets import (
    BLIND,
    PSI,
    STANDARDISED,
    PositionBuckets,
    QueryBuckets,
    ResponseCurve,
    Slope,
    bounds_of,
)
from positionbias.results.payloads import Payload, Verdict
from positionbias.results.result import Result
from positionbias.results.select import distinct, labels, of_type

__all__ = [
    "SCALE_NAMES",
    "Series",
    "System",
    "blind_slopes",
    "bucket_labels",
    "described_group",
    "is_first_stage",
    "is_of_audit",
    "main_quality",
    "models_of",
    "of_audit",
    "query_buckets",
    "response_slope",
    "series_of",
    "system_of",
]

SCALE_NAMES = {
    "relative": "share of the passage",
    "characters": "characters",
    "moved": "movement",
    "segment": "part of the passage",
}
THIRDS = ("first third", "middle third", "last third")

System = tuple[str, str, str]  # name, collection, split
P = TypeVar("P", bound=Payload)


@dataclass(frozen=True, slots=True)
class Series:
    """One system's look: its label, and a combination of colour, dash and marker unique on the
    page.
    """

    label: str
    colour: str
    dash: Any
    marker: str
    first_stage: bool

    @property
    def full_label(self) -> str:
        """Return the label, marked for the first stage."""
        return f"{self.label} (first stage)" if self.first_stage else self.label


def is_first_stage(result: Result) -> bool:
    """Return True for the ranking that the models re-rank, which is drawn in grey for
    comparison.
    """
    return result.facts.model == FIRST_STAGE


def is_of_audit(result: Result) -> bool:
    """Return True for an audit's verdict, or one of its measures."""
    return result.measure in AUDIT_MEASURES or isinstance(result.payload, Verdict)


def system_of(result: Result) -> System:
    """Return the key that distinguishes audited systems."""
    return result.system, result.collection, result.split


def of_audit(results: Iterable[Result], kind: type[P]) -> list[tuple[Result, P]]:
    """Return results with this type of payload and their payloads, in the given order, the first
    stage's last.
    """
    return sorted(of_type(results, kind), key=lambda found: is_first_stage(found[0]))


def models_of(results: Iterable[Result]) -> list[System]:
    """Return the audited systems without the first stage."""
    return [system for system, series in series_of(results).items() if not series.first_stage]


def series_of(results: Iterable[Result]) -> dict[System, Series]:
    """Return each audited system's look, in order of first appearance; the first stage comes
    last.
    """
    found: dict[System, Result] = {}
    for result in results:
        if is_of_audit(result):
            found.setdefault(system_of(result), result)
    ordered = sorted(found.values(), key=is_first_stage)
    series, models = {}, 0
    # seeds and draws belong to the measurement here, not to the system
    plain = [
        replace(result, seed=None, facts=replace(result.facts, seed=None, rotation=None))
        for result in ordered
    ]
    for result, label in zip(ordered, labels(plain), strict=True):
        if is_first_stage(result):
            series[system_of(result)] = Series(
                _named(label, result), MUTED.light, DASHES[2], "", True
            )
        else:
            # dashes and markers cycle separately from the six colours, so that a seventh system
            # differs from the first
            style = models % len(DASHES)
            series[system_of(result)] = Series(
                _named(label, result), colour_of(models), DASHES[style], MARKERS[style], False
            )
            models += 1
    return series


def _named(label: str, result: Result) -> str:
    """Add the rule that chose the evidence, if one did."""
    return f"{label}, sentence chosen by {rule}" if (rule := result.facts.evidence) else label


def main_quality(results: Iterable[Result]) -> str:
    """Return the quality that figures show: nDCG@10 if measured, else the first measure."""
    found = distinct(payload.quality for _, payload in query_buckets(results, PSI))
    return "nDCG@10" if "nDCG@10" in found or not found else found[0]


def described_group(results: Iterable[Result]) -> str:
    """Return the passages that figures describe: standardised over length if measured, else all."""
    found = (payload.group for _, payload in query_buckets(results, PSI))
    return STANDARDISED if STANDARDISED in found else ""


def blind_slopes(
    results: Sequence[Result], result: Result, payload: QueryBuckets
) -> dict[str, Slope]:
    """Return the slopes of position-blind scorers on the same queries, quality and scale, by name,
    without the system's own.
    """
    found: dict[str, Slope] = {}
    for other, beside in query_buckets(
        results, BLIND, scale=payload.scale, quality=payload.quality, group=payload.group
    ):
        same = (other.collection, other.split) == (result.collection, result.split)
        if same and other.system != result.system and beside.figures.slope.value is not None:
            found.setdefault(other.system, beside.figures.slope)
    return found


def query_buckets(
    results: Iterable[Result],
    measure: str,
    *,
    scale: str | None = None,
    quality: str | None = None,
    group: str | None = None,
) -> list[tuple[Result, QueryBuckets]]:
    """Return the bucketed results of a measure with their payloads; scale, quality and group narrow
    them.
    """
    found = []
    for result, payload in of_audit(results, QueryBuckets):
        wanted = ((scale, payload.scale), (quality, payload.quality), (group, payload.group))
        if result.measure == measure and all(want is None or want == have for want, have in wanted):
            found.append((result, payload))
    return found


def response_slope(result: Result, curve: ResponseCurve) -> tuple[float | None, Interval | None]:
    """Return the slope of a position response with its interval."""
    return result.value, bounds_of(curve.figures.slope, curve.figures.level)


def bucket_labels(payload: PositionBuckets) -> list[str]:
    """Return each bucket's label: thirds by name, characters in whole numbers, shares in as many
    decimals as they need.
    """
    edges = list(payload.edges)
    if payload.scale == "segment" and len(edges) == len(THIRDS) + 1:
        return list(THIRDS)
    if payload.scale == "characters":
        shown = [count(edge) for edge in edges]
    else:
        sign = payload.scale == "moved"
        places = next(
            (p for p in (1, 2, 3) if all(abs(edge - round(edge, p)) < 1e-9 for edge in edges)), 3
        )
        shown = [decimal(edge, places, sign=sign) for edge in edges]
    return [f"{low} to {high}" for low, high in pairwise(shown)]
