"""Places of answers as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import percent
from positionbias.report.bars import Bar, bars, spark
from positionbias.report.collection_text import aligned
from positionbias.report.headlines import place_of, position_headlines
from positionbias.report.table import as_text
from positionbias.report.tables import outcomes_table, positions_table
from positionbias.results.payloads import PositionHistogram
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["positions_text"]


PARTS, BOTH = 10, 2  # bars of a histogram, and histograms drawn with them, at most


def positions_text(results: Sequence[Result]) -> str:
    """Return whether answers sit at the front, the tables of positions and of what happened to
    answers, with remarks.
    """
    parts = [
        "\n".join(position_headlines(results)),
        _charts(results),
        as_text(positions_table(results)),
        as_text(outcomes_table(results)),
        *map(_remarks, results),
    ]
    return "\n\n".join(part for part in parts if part)


def _charts(results: Sequence[Result]) -> str:
    """Draw one or two histograms as bars, more in a line each."""
    found = [
        (result, own)
        for result, own in of_type(results, PositionHistogram)
        if not own.figures.coarse
    ]
    if not found:
        return ""
    names = [place_of(result) for result, _ in found]
    if len(found) <= BOTH:
        return "\n\n".join(
            "\n".join(_bars(name, own)) for name, (_, own) in zip(names, found, strict=True)
        )
    rows = [("answers by place, first to last", "observed", "if unbiased")]
    for name, (_, own) in zip(names, found, strict=True):
        shares = _shares(own)
        highest = max(*shares, *own.expected)
        rows.append((name, spark(shares, (0, highest)), spark(own.expected, (0, highest))))
    return aligned(rows, left=3)


def _shares(own: PositionHistogram) -> list[float]:
    return [count / (sum(own.counts) or 1) for count in own.counts]


def _bars(name: str, own: PositionHistogram) -> list[str]:
    """Return the shares of answers in at most ten parts of a passage, as bins fall together."""
    bins, shares = len(own.counts), _shares(own)
    several = next(n for n in range(1, bins + 1) if bins % n == 0 and bins // n <= PARTS)
    shown = []
    for at in range(0, bins, several):
        share, expected = sum(shares[at : at + several]), sum(own.expected[at : at + several])
        place = f"{100 * own.edges[at]:.0f}–{100 * own.edges[at + several]:.0f} %"
        shown.append(Bar(place, share, expected, percent(share)))
    return [
        f"{name}: share of answers by place in the passage; the mark is the share if unbiased",
        *bars(shown),
    ]


def _remarks(result: Result) -> str:
    """Return remarks on the tables: how much of the total variation may be chance, and differences
    by cause.
    """
    assert isinstance(result.payload, PositionHistogram)
    figures = result.payload.figures
    sample, variation, check = figures.sample, figures.total_variation, figures.offset_check
    lines = (
        [
            (
                f"{result.collection}, {result.split}: {sample.spans:,} spans in "
                f"{sample.passages:,} passages"
            )
        ]
        if sample
        else []
    )
    if variation and variation.by_chance is not None:
        lines.append(
            f"  total variation {variation.value:.3f}; unbiased positions give "
            f"{variation.by_chance:.3f} by chance alone, 95 % of the time below "
            f"{variation.by_chance_high:.3f}"
        )
    if check:
        share = check.among_matches / check.spans
        lines.append(
            f"  {check.among_matches:,} of {check.spans:,} offset spans ({share:.2%}) are among "
            "the words' matches"
        )
        lines += [f"    missed: {cause} {count:,}" for cause, count in check.missed.items()]
        lines += [f"    extra match: {cause} {count:,}" for cause, count in check.extra.items()]
    lines += [f"  unmatched: {cause} {count:,}" for cause, count in figures.unmatched.items()]
    return "\n".join(lines)
