"""What ``posbias evaluate --leaked`` prints: systems on all, leaked and clean queries, and whether their order holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from positionbias.core.payloads import Interval
    from positionbias.core.result import Result

__all__ = ["leaked_text"]


def leaked_text(results: Sequence[Result]) -> str:
    """The tables of ``evaluation.leaked.leaked_results``, and what they can and cannot say."""
    from positionbias.cli.show import aligned
    from positionbias.evaluation.leaked import ORDER, PARTS

    orders = [result for result in results if result.measure.startswith(ORDER)]
    rest = [result for result in results if result not in orders]
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
    for order in orders:
        lines += ["", f"{order.measure}:", *_order_lines(_rows(order))]
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


def _order_lines(rows: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, found in rows.items():
        if name == "systems":
            continue
        tau = "undefined (all tied)" if found["tau"] is None else f"{found['tau']:.3f}"
        swaps = "; ".join(f"{first} falls behind {second}" for first, second in found["swaps"]) or "none"
        lines.append(f"  {name}: Kendall's tau {tau}; swaps: {swaps}")
    return lines or ["  undefined: no clean query"]
