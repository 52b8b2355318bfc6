"""What a run of the benchmark leaves: one JSON file, from which table, gate and README's figures
are made.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.machine import Machine
from harness.records import Comparison, Measured, RunSettings, Samples, Spread

__all__ = ["Results", "alone", "read_results", "write_results"]


@dataclass
class Results:
    """The machine, its best products by threads and precision, and the rows by name."""

    machine: Machine
    limits: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, Measured] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # rows that gave nothing, and why


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Hold a lock beside the results, so that two runs do not overwrite each other's rows.

    Raises:
        SystemExit: another run holds it.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_name(f".{place.name}.lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(
                f"{place}: another run writes there; wait for it, or give another --out"
            ) from None
        yield


def write_results(results: Results, place: Path) -> None:
    """Whole or not at all, so that a run that is stopped goes on from the last row."""
    partial = place.with_name(f".{place.name}.part")
    partial.write_text(json.dumps(asdict(results), indent=1, ensure_ascii=False) + "\n", "utf-8")
    partial.replace(place)


def read_results(place: Path) -> Results:
    """Read what ``write_results`` wrote.

    Raises:
        SystemExit: no such file, or another one.
    """
    try:
        found = json.loads(place.read_text("utf-8"))
        rows = {name: _row(row) for name, row in found["rows"].items()}
        return Results(Machine(**found["machine"]), found["limits"], rows, found["failed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(
            f"{place}: wanted the results of benchmarks/run.py; found {type(error).__name__}: "
            f"{error}"
        ) from None


def _row(row: Mapping[str, Any]) -> Measured:
    comparisons = [
        Comparison(
            **{
                **one,
                "samples": Samples(**one["samples"]),
                **{clock: Spread(**one[clock]) for clock in ("wall", "processor")},
            }
        )
        for one in row["comparisons"]
    ]
    typed = {
        "settings": RunSettings(**row["settings"]),
        "ours": Samples(**row["ours"]),
        "load": tuple(row["load"]),
    }
    return Measured(**{**row, **typed, "comparisons": comparisons})
