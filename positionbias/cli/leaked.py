"""What ``posbias evaluate --leaked`` prints and writes: whether the order of systems holds, and systems on all, leaked and clean queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import output_place

if TYPE_CHECKING:
    from positionbias.core.interval import Interval
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
    from positionbias.cli.show import aligned
    from positionbias.evaluation.leaked import PARTS
    from positionbias.results.payloads import Statistics

    rest = [result for result in results if isinstance(result.payload, Statistics)]
    systems = [result for result in rest if "baseline" not in _rows(result)]
    gains = [result for result in rest if "baseline" in _rows(result)]
    counts = {part: _rows(rest[0])[part]["queries"] for part in PARTS}
    head = f"{counts['all']:,} queries: {counts['leaked']:,} leaked, {counts['clean']:,} clean"
    difference = "leaked − clean"
    lines = [head, "", aligned([("run", "measure", *PARTS, difference), *map(_row, systems)], left=2)]
    lines += ["Different queries, so unpaired: what leakage does, and how much easier or harder the leaked queries are."]
    if gains:
        table = aligned([("gain over the first run", "measure", *PARTS, difference), *map(_row, gains)], left=2)
        lines += [
            "",
            table,
            "Gains are paired by query: how hard a query is for both runs alike is taken off.",
        ]
    return "\n".join(lines)


def _rows(result: Result) -> Mapping[str, Any]:
    return result.payload.rows  # type: ignore[union-attr]


def _row(result: Result) -> tuple[str, ...]:
    rows = _rows(result)
    form = "+.4f" if "baseline" in rows else ".4f"
    name = f"{rows['baseline']} → {result.system}" if "baseline" in rows else result.system
    cells = [_cell(rows[part]["mean"], (rows[part]["low"], rows[part]["high"]), form) for part in ("all", "leaked", "clean")]
    return (
        name,
        result.measure.partition(" against ")[0].partition(",")[0],
        *cells,
        _cell(result.value, _ends(result.interval), "+.4f"),
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)


def _cell(value: float | None, ends: tuple[float | None, float | None], form: str) -> str:
    if value is None:
        return "-"
    low, high = ends
    return f"{value:{form}}" if low is None or high is None else f"{value:{form}} [{low:{form}}, {high:{form}}]"
