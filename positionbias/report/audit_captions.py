"""What each figure of an audit shows, in a sentence or two with its main numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.core.formatting import decimal, interval, p_value, percent, with_interval
from positionbias.core.payloads import Interval
from positionbias.core.result import Result
from positionbias.report.audit_select import (
    GAIN,
    GAP,
    MOVEMENT,
    PSI,
    RESPONSE,
    SCALE_NAMES,
    SEGMENTS,
    bounds_of,
    buckets,
    described_group,
    gap_of,
    main_quality,
    of_measure,
    response_slope,
    series_of,
    system_of,
)
from positionbias.report.captions import MOST_NAMED

__all__ = [
    "compared_caption",
    "gain_caption",
    "length_caption",
    "movement_caption",
    "quality_caption",
    "response_caption",
    "segment_caption",
]


def _level(bounds: Iterable[Interval | None]) -> str:
    """``95 % intervals``, or ``intervals`` where they differ or none is known."""
    levels = {b.level for b in bounds if b is not None}
    return f"{percent(levels.pop(), 0)} intervals" if len(levels) == 1 else "intervals"


def _signed(value: float | None, bounds: Interval | None) -> str:
    return with_interval(decimal(value, sign=True), interval(bounds, sign=True))


def _listed(parts: Sequence[str]) -> list[str]:
    """The systems' numbers as a sentence, where they are not too many to read."""
    return [f"{'; '.join(parts)}."] if 0 < len(parts) <= MOST_NAMED else []


def _standardised(results: Sequence[Result]) -> str:
    return ", as if all buckets held passages of the same lengths" if described_group(results) else ""


def quality_caption(results: Sequence[Result], scale: str) -> str:
    """Each system's PSI, the debiased one, and the p."""
    quality, series = main_quality(results), series_of(results)
    found = buckets(results, PSI, scale=scale, quality=quality, group=described_group(results))
    parts = []
    for result, payload in found:
        figures = payload.figures
        text = f"{series[system_of(result)].label}: PSI {decimal(figures.get('psi', result.value))}"
        if figures.get("psi_debiased") is not None:
            bounds = bounds_of(figures, "psi_debiased_low", "psi_debiased_high")
            text += f", debiased {with_interval(decimal(figures['psi_debiased']), interval(bounds))}"
        parts.append(text + (f", p {p_value(figures['p'])}" if figures.get("p") is not None else ""))
    sentences = [
        f"{quality} of the queries whose answer starts at each place ({SCALE_NAMES.get(scale, scale)}){_standardised(results)}. Bands are "
        f"{_level(bounds_of(p.figures, 'psi_debiased_low', 'psi_debiased_high') for _, p in found)}; a line breaks where a bucket has too few queries."
    ]
    if any(series[system_of(result)].first_stage for result, _ in found):
        sentences.append("Grey: the first stage on the same queries; where it bends too, the queries differ in difficulty.")
    return " ".join([*sentences, *_listed(parts)])


def length_caption(results: Sequence[Result]) -> str:
    """Why passages of like length are looked at alone."""
    return (
        f"{main_quality(results)} by where the answer starts, within passages of like length: what stands in every panel "
        "is position and not length. Standardised: as if all buckets held passages of the same lengths. Groups without a bucket "
        "of enough queries have no panel."
    )


def gain_caption(results: Sequence[Result]) -> str:
    """Each system's slope of the gain."""
    series, parts = series_of(results), []
    for result, payload in buckets(results, GAIN):
        bounds = bounds_of(payload.figures, "slope_low", "slope_high")
        parts.append(f"{series[system_of(result)].label} {_signed(result.value, bounds)}")
    sentences = [
        "What a system adds to the first stage, query by query, by where the answer starts: the questions are the same ones, so that their difficulty counts for less. "
        "A falling line helps answers in front more.",
    ]
    return " ".join([*sentences, *([f"Slope over the whole passage: {_listed(parts)[0]}"] if _listed(parts) else [])])


def movement_caption(results: Sequence[Result]) -> str:
    """Each system's mean change, and its control."""
    series, quality = series_of(results), main_quality(results)
    parts = []
    for result in of_measure(results, GAP):
        rows = gap_of(result).rows
        if rows.get("quality", quality) == quality:
            text = f"{series[system_of(result)].label} {_signed(result.value, result.interval)}"
            control = rows.get("control change")
            parts.append(text + (f", control {decimal(control, sign=True)}" if control is not None else ""))
    sentences = [
        "Change from the original to the rotated passages, by how far the rotation moved the answer: +0.5 is half a passage towards "
        f"the end. Bands are {_level(r.interval for r in of_measure(results, GAP))}.",
    ]
    if any(p.counts for _, p in buckets(results, MOVEMENT)):
        sentences.append("Where the answer hardly moved, what remains is the cut itself.")
    return " ".join([*sentences, *([f"Mean change in {quality}: {_listed(parts)[0]}"] if _listed(parts) else [])])


def response_caption(results: Sequence[Result]) -> str:
    """Each system's slope from the first place to the last."""
    series, found = series_of(results), of_measure(results, RESPONSE)
    parts = [f"{series[system_of(r)].label} {_signed(*response_slope(r))}" for r in found]
    sentences = [
        "The answering sentence is moved through its passage, the rest stays in order. Score: less each query's own mean, in mean "
        f"deviations of its candidates' scores; bands are {_level(response_slope(r)[1] for r in found)}. A model without a preference shows a "
        "level line."
    ]
    return " ".join([*sentences, *([f"Last place less first: {_listed(parts)[0]}"] if _listed(parts) else [])])


def segment_caption(results: Sequence[Result]) -> str:
    """The cosine with the first and last third, and their difference."""
    series = series_of(results)
    parts = []
    for result, payload in buckets(results, SEGMENTS):
        if payload.means:
            ends = f"first {decimal(payload.means[0])}, last {decimal(payload.means[-1])}"
            if payload.figures.get("first − last") is not None:
                bounds = bounds_of(payload.figures, "first − last low", "first − last high")
                ends += f", difference {_signed(payload.figures['first − last'], bounds)}"
            parts.append(f"{series[system_of(result)].label}: {ends}")
    sentence = (
        "Cosine of a passage's vector with those of its thirds. A vector to which all parts add alike is equally close to each."
    )
    return " ".join([sentence, *_listed(parts)])


def compared_caption(results: Sequence[Result]) -> str:
    """What the panels are, and which way they are read."""
    return (
        "The systems' effects with their intervals; the line at 0 is no effect. Debiased PSI: the sensitivity to position less what "
        f"noise adds to it ({main_quality(results)}). Rotation gap: the change when passages are rotated; "
        "left of 0 is a loss. Response slope: the score of the same evidence at the last place less at the first; left of 0 prefers the "
        "front."
    )
