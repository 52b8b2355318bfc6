"""Suspicions on a terminal: the answers, a table of the systems, then the limits of all answers."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import decimal
from positionbias.report.collection_text import aligned
from positionbias.results.contamination import QuerySetMeans
from positionbias.results.result import Result
from positionbias.results.select import of_type
from positionbias.results.suspicion import LIMITS, Suspicion

__all__ = ["suspicion_text"]


def suspicion_text(results: Sequence[Result]) -> str:
    """Return a paragraph per suspicion, a table for each pair of query sets, and the limits of all."""
    found = [suspicion for _, suspicion in of_type(results, Suspicion)]
    lines = [line for one in found for line in (*one.sentences, "")]
    pairs = {f"{one.seen} − {one.other}": one for one in found}
    for pair, one in pairs.items():
        others = one.other if one.paired else f"{one.other} ({one.queries_other:,})"
        rows = [("system", "", f"{one.seen} ({one.queries_seen:,})", others, "difference")]
        for result, means in of_type(results, QuerySetMeans):
            if result.measure.endswith(f", {pair}"):
                values = (decimal(means.seen, 4), decimal(means.other, 4), decimal(result.value, 4, sign=True))
                rows.append((result.system, means.role, *values))
        lines += [aligned(rows, left=2), ""]
        lines += [f"{what}: {count:,}" for what, count in one.left_out.items() if count]
    return "\n".join([*lines, *LIMITS])
