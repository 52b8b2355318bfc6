"""The regression gate: ratios to the same peers, never seconds, of two results."""

from __future__ import annotations

from harness.records import Comparison, Measured
from harness.results import Results

__all__ = ["worse"]


def worse(old: Results, new: Results) -> list[str]:
    """What got worse beyond both intervals, a line each: a ratio's whole interval lies below its old one, or the row or peer has failed since.

    Rows that were not measured again are not looked at.
    """
    lines = [f"{name}: measured before; now {new.failed[name]}" for name in old.rows if name in new.failed]
    for name, before in old.rows.items():
        if name in new.rows:
            lines += _worse_row(before, new.rows[name])
    return lines


def _worse_row(old: Measured, new: Measured) -> list[str]:
    found = {one.against: one for one in new.comparisons}
    lines = []
    for before in old.comparisons:
        after = found.get(before.against)
        if after is not None:
            lines += _worse_ratio(old.row, before, after)
        elif before.against in new.failed:
            lines.append(f"{old.row} against {before.against}: measured before; now {new.failed[before.against]}")
    return lines


def _worse_ratio(row: str, old: Comparison, new: Comparison) -> list[str]:
    before, after = old.processor, new.processor
    if after.high >= before.low:
        return []
    was, now = (f"{one.median:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in (before, after))
    return [f"{row} against {old.against}: was {was}, is {now} by processor seconds"]
