"""What the benchmarks share: the machine's name, the place of a table, parts of a campaign that are
kept.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from positionbias.core.publish import atomic_file

__all__ = ["hardware", "kept_part", "result_place"]


def hardware() -> str:
    """The processor's name and the number of cores."""
    names = (
        re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if Path("/proc/cpuinfo").exists()
        else []
    )
    return (
        f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} "
        "cores"
    )


def result_place(name: str) -> Path:
    """``benchmarks/results/NAME_HARDWARE_DATE.md``, its folder made."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    machine = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    return folder / f"{name}_{machine}_{date.today().isoformat()}.md"


def kept_part(place: Path, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return a part of a campaign as JSON has it: read from ``place``, or made now and kept there
    with its "seconds" of processor time.
    """
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        record = {**make(), "seconds": time.process_time() - began}
        with atomic_file(place) as partial:
            partial.write_text(json.dumps(record), encoding="utf-8")
        print(
            f"{place.name}: {record['seconds']:.1f} s of the processor", file=sys.stderr, flush=True
        )
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found
