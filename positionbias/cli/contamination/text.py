"""What ``posbias contamination suspect`` prints: the answers first, then a table of the systems, then what no answer can say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from positionbias.results.result import Result
    from positionbias.results.suspicion import Suspicion

__all__ = ["suspect_text"]


def suspect_text(results: Sequence[Result]) -> str:
    """A paragraph a suspicion, a table for each pair of query sets, and the limits of all."""
    from positionbias.cli.show import aligned
    from positionbias.results.payloads import Statistics
    from positionbias.results.suspicion import LIMITS, Suspicion

    found = [result.payload for result in results if isinstance(result.payload, Suspicion)]
    lines = [line for one in found for line in (*one.sentences, "")]
    pairs = {f"{one.seen} − {one.other}": one for one in found}
    for pair, one in pairs.items():
        rows = [_row(r) for r in results if isinstance(r.payload, Statistics) and r.measure.endswith(f", {pair}")]
        lines += [aligned([_header(one), *rows], left=2), ""]
        lines += [f"{what}: {count:,}" for what, count in one.left_out.items() if count]
    return "\n".join([*lines, *LIMITS])


def _header(one: Suspicion) -> tuple[str, ...]:
    others = one.other if one.paired else f"{one.other} ({one.queries_other:,})"
    return ("system", "", f"{one.seen} ({one.queries_seen:,})", others, "difference")


def _row(result: Result) -> tuple[str, ...]:
    from positionbias.core.formatting import decimal
    from positionbias.results.payloads import Statistics

    assert isinstance(result.payload, Statistics)
    of = result.payload.rows
    return (result.system, of["role"], decimal(of["seen"], 4), decimal(of["other"], 4), decimal(result.value, 4, sign=True))
