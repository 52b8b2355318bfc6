"""What ``posbias contamination suspect`` prints: the answers first, then a table of the systems, then what no answer can say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from positionbias.results.contamination import QuerySetMeans
    from positionbias.results.result import Result
    from positionbias.results.suspicion import Suspicion

__all__ = ["suspect_text"]


def suspect_text(results: Sequence[Result]) -> str:
    """A paragraph a suspicion, a table for each pair of query sets, and the limits of all."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.contamination import QuerySetMeans
    from positionbias.results.select import of_type
    from positionbias.results.suspicion import LIMITS, Suspicion

    found = [suspicion for _, suspicion in of_type(results, Suspicion)]
    lines = [line for one in found for line in (*one.sentences, "")]
    pairs = {f"{one.seen} − {one.other}": one for one in found}
    for pair, one in pairs.items():
        rows = [_row(r, means) for r, means in of_type(results, QuerySetMeans) if r.measure.endswith(f", {pair}")]
        lines += [aligned([_header(one), *rows], left=2), ""]
        lines += [f"{what}: {count:,}" for what, count in one.left_out.items() if count]
    return "\n".join([*lines, *LIMITS])


def _header(one: Suspicion) -> tuple[str, ...]:
    others = one.other if one.paired else f"{one.other} ({one.queries_other:,})"
    return ("system", "", f"{one.seen} ({one.queries_seen:,})", others, "difference")


def _row(result: Result, means: QuerySetMeans) -> tuple[str, ...]:
    from positionbias.core.formatting import decimal

    values = (decimal(means.seen, 4), decimal(means.other, 4), decimal(result.value, 4, sign=True))
    return (result.system, means.role, *values)
