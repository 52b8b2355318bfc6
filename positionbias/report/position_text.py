"""Places of answers as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.headlines import position_headlines
from positionbias.report.table import as_text
from positionbias.report.tables import outcomes_table, positions_table
from positionbias.results.payloads import PositionHistogram
from positionbias.results.result import Result

__all__ = ["positions_text"]


def positions_text(results: Sequence[Result]) -> str:
    """Return whether answers sit at the front, the tables of positions and of what happened to answers, with remarks."""
    parts = [
        "\n".join(position_headlines(results)),
        as_text(positions_table(results)),
        as_text(outcomes_table(results)),
        *map(_remarks, results),
    ]
    return "\n\n".join(part for part in parts if part)


def _remarks(result: Result) -> str:
    """Return remarks on the tables: how much of the total variation may be chance, and differences by cause."""
    assert isinstance(result.payload, PositionHistogram)
    figures = result.payload.figures
    sample, variation, check = figures.sample, figures.total_variation, figures.offset_check
    lines = [f"{result.collection}, {result.split}: {sample.spans:,} spans in {sample.passages:,} passages"] if sample else []
    if variation and variation.by_chance is not None:
        lines.append(
            f"  total variation {variation.value:.3f}; unbiased positions give {variation.by_chance:.3f} by chance alone, "
            f"95 % of the time below {variation.by_chance_high:.3f}"
        )
    if check:
        share = check.among_matches / check.spans
        lines.append(f"  {check.among_matches:,} of {check.spans:,} offset spans ({share:.2%}) are among the words' matches")
        lines += [f"    missed: {cause} {count:,}" for cause, count in check.missed.items()]
        lines += [f"    extra match: {cause} {count:,}" for cause, count in check.extra.items()]
    lines += [f"  unmatched: {cause} {count:,}" for cause, count in figures.unmatched.items()]
    return "\n".join(lines)
