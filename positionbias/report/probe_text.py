"""ATS curves and MATS as text: the table, then the passages read and left out for each model."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.bars import area
from positionbias.report.cells import count_cell, decimal_cell, text_cell
from positionbias.report.headlines import similarity_headlines
from positionbias.report.table import Column, Table, as_csv, as_text
from positionbias.report.tables import mats_table
from positionbias.results.payloads import AtsCurve
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["ats_csv", "ats_text", "mats_text"]


def mats_text(results: Sequence[Result]) -> str:
    """Return MATS of each model, and its basis."""
    return "\n\n".join((_said(results), as_text(mats_table(results)), _remarks(results)))


def ats_text(results: Sequence[Result]) -> str:
    """Return the curves, a row per distance, their basis, and why a MATS is undefined."""
    undefined = "".join(
        f"\n{result.system}: MATS is undefined: {curve.figures.undefined}"
        for result, curve in of_type(results, AtsCurve)
        if curve.figures.undefined
    )
    return "\n\n".join(
        (
            _said(results),
            *_curves(results),
            as_text(_curve_table(results)),
            f"{_remarks(results)}{undefined}",
        )
    )


def _said(results: Sequence[Result]) -> str:
    return "\n".join(similarity_headlines(results))


def _curves(results: Sequence[Result]) -> list[str]:
    """Draw each curve, all on one scale."""
    found = [(result, own) for result, own in of_type(results, AtsCurve) if len(own.ats)]
    ends = (
        (min(min(own.ats) for _, own in found), max(max(own.ats) for _, own in found))
        if found
        else None
    )
    heads = (
        f"{result.system}: ATS by distance Δ, {min(own.deltas)} to {max(own.deltas)}"
        for result, own in found
    )
    return [
        "\n".join([head, *area(list(own.ats), ends)])
        for head, (_, own) in zip(heads, found, strict=True)
    ]


def ats_csv(results: Sequence[Result]) -> str:
    """Return the curves as CSV, a row per distance."""
    return as_csv(_curve_table(results)).rstrip("\n")


def _curve_table(results: Sequence[Result]) -> Table:
    rows = []
    for result, curve in of_type(results, AtsCurve):
        columns = (
            curve.deltas,
            curve.ats,
            curve.terms,
            curve.pairs,
            curve.std_terms,
            curve.std_pairs,
        )
        for delta, value, terms, pairs, over_terms, over_pairs in zip(*columns, strict=True):
            counts = [count_cell(terms), count_cell(pairs)]
            deviations = [decimal_cell(over_terms), decimal_cell(over_pairs)]
            rows.append(
                [
                    text_cell(result.system),
                    count_cell(delta),
                    decimal_cell(value),
                    *counts,
                    *deviations,
                ]
            )
    headings = [Column("Δ"), Column("ATS"), Column("Terms"), Column("Pairs")]
    headings += [Column("over terms", "Deviation"), Column("over pairs", "Deviation", wide=True)]
    return Table(
        "ats", "Average term similarity (ATS)", [Column("Model", numeric=False), *headings], rows
    )


def _remarks(results: Sequence[Result]) -> str:
    """Return what was read and left out, model by model."""
    lines = []
    for result, curve in of_type(results, AtsCurve):
        figures = curve.figures
        unknown = f"{figures.words_unknown:,} unknown ones left out"
        lines += [f"{result.system}: {result.count:,} passages, {figures.words:,} words, {unknown}"]
        if figures.passages_at_length_limit:
            lines += [
                (
                    f"  {figures.passages_at_length_limit:,} passages read only to the model's "
                    "length limit"
                )
            ]
        if figures.cut_at is not None:
            cut = f"{figures.terms_at_cut} terms have a pair, fewer than {figures.minimum_terms}"
            lines += [f"  the curve ends before Δ = {figures.cut_at}, where {cut}"]
        if figures.later_deltas_left_out:
            lines += [
                f"  left out with it: {figures.later_deltas_left_out} later Δ with enough terms"
            ]
    return "\n".join(lines)
