"""Captions of an audit's figures: one or two sentences with the main numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.audit.select import (
    SCALE_NAMES,
    blind_slopes,
    described_group,
    main_quality,
    of_audit,
    query_buckets,
    response_slope,
    series_of,
    system_of,
)
from positionbias.audit.verdict_words import compared_effects, margins, verdicts_of
from positionbias.core.formatting import decimal, interval, p_value, percent, with_interval
from positionbias.core.interval import Interval
from positionbias.results.audit import GapFigures
from positionbias.results.buckets import (
    GAIN,
    MOVEMENT,
    PSI,
    ResponseCurve,
    SegmentBuckets,
    bounds_of,
)
from positionbias.results.payloads import Contrast, Question
from positionbias.results.result import Result

__all__ = [
    "compared_caption",
    "gain_caption",
    "length_caption",
    "movement_caption",
    "quality_caption",
    "response_caption",
    "segment_caption",
]

MOST_NAMED = 8  # systems whose numbers a caption repeats


def _level(bounds: Iterable[Interval | None]) -> str:
    """Return ``95 % intervals``, or ``intervals`` if levels differ or none is known."""
    levels = {b.level for b in bounds if b is not None}
    return f"{percent(levels.pop(), 0)} intervals" if len(levels) == 1 else "intervals"


def _signed(value: float | None, bounds: Interval | None) -> str:
    return with_interval(decimal(value, sign=True), interval(bounds, sign=True))


def _listed(parts: Sequence[str]) -> list[str]:
    """Return the systems' numbers as a sentence, unless they are too many to read."""
    return [f"{'; '.join(parts)}."] if 0 < len(parts) <= MOST_NAMED else []


def _standardised(results: Sequence[Result]) -> str:
    return (
        ", as if all buckets had passages of the same lengths" if described_group(results) else ""
    )


def quality_caption(results: Sequence[Result], scale: str) -> str:
    """Give each system's PSI, the debiased one, and its p."""
    quality, series = main_quality(results), series_of(results)
    found = query_buckets(
        results, PSI, scale=scale, quality=quality, group=described_group(results)
    )
    ranges = [bounds_of(payload.figures.psi, payload.level) for _, payload in found]
    parts = []
    for (result, payload), bounds in zip(found, ranges, strict=True):
        psi = payload.figures.psi
        text = f"{series[system_of(result)].label}: PSI {decimal(psi.value)}"
        if psi.debiased is not None:
            text += f", debiased {with_interval(decimal(psi.debiased), interval(bounds))}"
        parts.append(text + (f", p {p_value(psi.p)}" if psi.p is not None else ""))
    sentences = [
        f"{quality} of the queries whose answer starts at each place "
        f"({SCALE_NAMES.get(scale, scale)}){_standardised(results)}. Bands are {_level(ranges)}; a "
        "line breaks where a bucket has too few queries."
    ]
    if any(series[system_of(result)].first_stage for result, _ in found):
        sentences.append(
            "Grey: the first stage on the same queries; if it changes too, the queries differ in "
            "difficulty."
        )
    beside = [
        slope.value
        for result, payload in found
        for slope in blind_slopes(results, result, payload).values()
    ]
    slopes = [slope for slope in beside if slope is not None]
    if slopes:
        least, most = decimal(min(slopes), sign=True), decimal(max(slopes), sign=True)
        sentences.append(
            f"Position-blind scorers on the same queries: slope between {least} and {most}."
        )
    return " ".join([*sentences, *_listed(parts)])


def length_caption(results: Sequence[Result]) -> str:
    """Explain why passages of similar length have separate panels."""
    return (
        f"{main_quality(results)} by where the answer starts, among passages of similar length, so "
        "that length does not pass for position. Standardised: as if all buckets held passages of "
        "the same lengths. A group whose buckets all have too few queries has no panel."
    )


def gain_caption(results: Sequence[Result]) -> str:
    """Give each system's slope of the gain."""
    series, parts = series_of(results), []
    for result, payload in query_buckets(results, GAIN):
        bounds = bounds_of(payload.figures.slope, payload.level)
        parts.append(f"{series[system_of(result)].label} {_signed(result.value, bounds)}")
    sentences = [
        (
            "What a system adds to the first stage on the same queries, by where the answer "
            "starts. Easier questions may still be easier by more for one of the two."
        ),
    ]
    return " ".join(
        [
            *sentences,
            *([f"Slope over the whole passage: {_listed(parts)[0]}"] if _listed(parts) else []),
        ]
    )


def movement_caption(results: Sequence[Result]) -> str:
    """Give each system's mean change."""
    series, quality = series_of(results), main_quality(results)
    gaps = of_audit(results, GapFigures)
    parts = [
        f"{series[system_of(r)].label} {_signed(r.value, r.interval)}"
        for r, gap in gaps
        if gap.quality == quality
    ]
    sentences = [
        "Change from the original to the rotated passages, by how far the rotation moved the "
        "answer: +0.5 is half a passage towards the end. Bands are "
        f"{_level(r.interval for r, _ in gaps)}.",
    ]
    if any(p.counts for _, p in query_buckets(results, MOVEMENT)):
        sentences.append(
            "A rotation that hardly moves the answer cuts near the passage's edge, so the middle "
            "of the figure is no control."
        )
    return " ".join(
        [
            *sentences,
            *([f"Mean change in {quality}: {_listed(parts)[0]}"] if _listed(parts) else []),
        ]
    )


def response_caption(results: Sequence[Result]) -> str:
    """Give each system's slope from the first place to the last."""
    series, found = series_of(results), of_audit(results, ResponseCurve)
    parts = [
        f"{series[system_of(r)].label} {_signed(*response_slope(r, curve))}" for r, curve in found
    ]
    sentences = [
        "The evidence sentence moves through its passage; the other sentences keep their order. "
        "Score: less each query's own mean, in mean deviations of its candidates' scores; bands "
        f"are {_level(response_slope(r, curve)[1] for r, curve in found)}. A system without a "
        "preference has a level line."
    ]
    return " ".join(
        [
            *sentences,
            *([f"Slope, last place less first: {_listed(parts)[0]}"] if _listed(parts) else []),
        ]
    )


def segment_caption(results: Sequence[Result]) -> str:
    """Give the cosine with the first and last third, and their difference."""
    series = series_of(results)
    parts = []
    for result, payload in of_audit(results, SegmentBuckets):
        if payload.means:
            ends = f"first {decimal(payload.means[0])}, last {decimal(payload.means[-1])}"
            if payload.figures.difference is not None:
                ends += (
                    ", difference "
                    f"{_signed(payload.figures.difference, bounds_of(payload.figures))}"
                )
            parts.append(f"{series[system_of(result)].label}: {ends}")
    sentence = (
        "Cosine of a passage's vector with those of its thirds. A vector to which all parts add "
        "alike is equally close to each."
    )
    return " ".join([sentence, *_listed(parts)])


def compared_caption(results: Sequence[Result]) -> str:
    """Explain the panels and the band."""
    verdicts = [verdict for _, verdict in verdicts_of(results)]
    shown, contrasts = margins(verdicts), [contrast for contrast, _ in compared_effects(results)]
    sentences = [
        (
            "The effects of moved evidence with their 95 % intervals; arrows say which place an "
            "effect on that side prefers."
        )
        if any(verdict.question is not Question.TEXT and verdict.effects for verdict in verdicts)
        else "The mean sizes of changes with their 95 % intervals, whichever way."
    ]
    if shown:
        sentences.append(
            f"Grey: the margin, ±{' or ±'.join(shown)}, the smallest effect of interest."
        )
    if Contrast.ORDER in contrasts:
        sentences.append(
            "List: ranks that a passage loses from the first place of the input list to the last."
        )
    return " ".join(sentences)
