"""What ``posbias evaluate --leaked`` prints and writes: whether the order of systems holds, and systems on all, leaked and clean queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import output_place

if TYPE_CHECKING:
    from positionbias.results.leakage import LeakedAndClean
    from positionbias.results.leaked_order import Swap
    from positionbias.results.result import Result

__all__ = ["leaked_text", "order_text", "place_of_swaps", "write_swaps"]


def order_text(results: Sequence[Result]) -> str:
    """Whether the order of the systems holds, a paragraph a measure; nothing for one system."""
    from positionbias.report.leaked_order import order_sentences
    from positionbias.results.payloads import LeakedOrder

    found = [(result.measure, result.payload) for result in results if isinstance(result.payload, LeakedOrder)]
    return "\n\n".join("\n  ".join(order_sentences(measure, order)) for measure, order in found)


def place_of_swaps(out: str, leaked: str | None, runs: Sequence[str], *, overwrite: bool) -> Path:
    """Where --all-swaps writes, once it is known that there can be swaps and that nothing stands there."""
    from positionbias.core.publish import refuse_existing

    if leaked is None:
        raise click.UsageError(
            "--all-swaps goes with --leaked: it lists runs that change places between leaked and clean queries"
        )
    if len(runs) < 2:
        raise click.UsageError("--all-swaps: one run has no order; give two or more")
    place = output_place(out)
    refuse_existing(place, overwrite=overwrite)
    return place


def write_swaps(out: Path, swaps: Mapping[str, Sequence[Swap]], *, overwrite: bool) -> None:
    """Write every swap of each measure as TSV, the smallest p first.

    Raises:
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
    """
    from positionbias.core.csv_cells import write_rows
    from positionbias.core.publish import atomic_file

    with atomic_file(out, overwrite=overwrite) as partial, open(partial, "w", encoding="utf-8", newline="") as handle:
        rows = [("measure", "falls", "behind", "lead on clean", "lead on leaked", "p", "q")]
        for measure, found in swaps.items():
            for swap in found:
                leads = f"{swap.lead_clean:.6f}", f"{swap.lead_leaked:.6f}"
                rows.append((measure, swap.falls, swap.behind, *leads, f"{swap.p:.4g}", f"{swap.q:.4g}"))
        write_rows(handle, rows, delimiter="\t")


def leaked_text(results: Sequence[Result]) -> str:
    """The tables of ``evaluation.leaked.leaked_results``, and what they can and cannot say."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.leakage import LeakedAndClean
    from positionbias.results.select import of_type

    found = of_type(results, LeakedAndClean)
    systems = [_row(result, of) for result, of in found if not of.baseline]
    gains = [_row(result, of) for result, of in found if of.baseline]
    first = found[0][1]
    head = f"{first.all.queries:,} queries: {first.leaked.queries:,} leaked, {first.clean.queries:,} clean"
    columns = ("measure", "all", "leaked", "clean", "leaked − clean")
    lines = [head, "", aligned([("run", *columns), *systems], left=2)]
    lines += ["Different queries, so unpaired: what leakage does, and how much easier or harder the leaked queries are."]
    if gains:
        table = aligned([("gain over the first run", *columns), *gains], left=2)
        lines += [
            "",
            table,
            "Gains are paired by query: how hard a query is for both runs alike is taken off.",
        ]
    return "\n".join(lines)


def _row(result: Result, of: LeakedAndClean) -> tuple[str, ...]:
    form = "+.4f" if of.baseline else ".4f"
    name = f"{of.baseline} → {result.system}" if of.baseline else result.system
    cells = [_cell(part.mean, part.low, part.high, form) for part in (of.all, of.leaked, of.clean)]
    low, high = (result.interval.low, result.interval.high) if result.interval else (None, None)
    measure = result.measure.partition(" against ")[0].partition(",")[0]
    return (name, measure, *cells, _cell(result.value, low, high, "+.4f"))


def _cell(value: float | None, low: float | None, high: float | None, form: str) -> str:
    if value is None:
        return "-"
    return f"{value:{form}}" if low is None or high is None else f"{value:{form}} [{low:{form}}, {high:{form}}]"
