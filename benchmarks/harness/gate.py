"""The regression gate: ratios to the same peers, never seconds, of two results."""

from __future__ import annotations

from collections.abc import Iterator

from harness.records import Comparison, Measured
from harness.results import Results

__all__ = ["not_compared", "worse"]


def worse(old: Results, new: Results) -> list[str]:
    """What got worse beyond both intervals, a line each: a ratio's whole interval lies below its
    old one, or the row or peer has failed since.

    By processor seconds or on the clock.
    """
    lines = [
        f"{name}: measured before; now {new.failed[name]}"
        for name in old.rows
        if name in new.failed
    ]
    skipped = {name for name, _ in _apart(old, new)}
    for name, before in old.rows.items():
        if name in new.rows and name not in skipped:
            lines += _worse_row(before, new.rows[name])
    return lines


def not_compared(old: Results, new: Results) -> list[str]:
    """The rows of which the gate says nothing, and why, a line each."""
    return [f"{name}: {why}" for name, why in _apart(old, new)]


def _apart(old: Results, new: Results) -> Iterator[tuple[str, str]]:
    for name, before in old.rows.items():
        after = new.rows.get(name)
        if after is None:
            if name not in new.failed:
                yield name, "not measured again"
        elif old.machine != new.machine:
            yield name, "measured on another machine"
        elif (before.settings.quick, before.settings.threads) != (
            after.settings.quick,
            after.settings.threads,
        ):
            yield name, "measured with other threads or other inputs"


def _worse_row(old: Measured, new: Measured) -> list[str]:
    found = {one.against: one for one in new.comparisons}
    lines = []
    for before in old.comparisons:
        after = found.get(before.against)
        if after is not None:
            lines += _worse_ratio(old.row, before, after)
        elif before.against in new.failed:
            lines.append(
                f"{old.row} against {before.against}: measured before; now "
                f"{new.failed[before.against]}"
            )
    return lines


def _worse_ratio(row: str, old: Comparison, new: Comparison) -> list[str]:
    lines = []
    for before, after, clock in (
        (old.processor, new.processor, "by processor seconds"),
        (old.wall, new.wall, "on the clock"),
    ):
        if after.high < before.low:
            was, now = (
                f"{one.median:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in (before, after)
            )
            lines.append(f"{row} against {old.against}: was {was}, is {now} {clock}")
    return lines
