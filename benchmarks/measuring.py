"""What the benchmarks share: a command's time and the memory of all its processes together, the machine's name, the place of a table, parts of a campaign that are kept."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from positionbias.core.publish import atomic_file

__all__ = ["Measured", "hardware", "kept_part", "measured", "result_place"]

EVERY = 0.25  # seconds between two looks at the processes: a look walks their pages, and costs them time


@dataclass(frozen=True)
class Measured:
    """One run: seconds on the clock and of all processors, bytes at the peak (PSS: shared pages counted once), and of these anonymous."""

    seconds: float
    processor: float
    peak: int
    anonymous: int
    output: str
    errors: str


def measured(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Measured:
    """Run a command, watching it and its children; stops with what it said where it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    peak = anonymous = 0
    ticks: dict[int, float] = {}
    while True:
        family = _family(process.pid)
        for pid in family:
            ticks[pid] = max(ticks.get(pid, 0.0), _processor(pid))
        looks = [_memory(pid) for pid in family]
        peak = max(peak, sum(look.get("Pss", 0) for look in looks))
        anonymous = max(anonymous, sum(look.get("Pss_Anon", 0) for look in looks))
        try:
            output, errors = process.communicate(timeout=EVERY)
            break
        except subprocess.TimeoutExpired:
            continue
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}\n{errors}")
    return Measured(time.perf_counter() - started, sum(ticks.values()), peak, anonymous, output, errors)


def _family(pid: int) -> list[int]:
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += _family(int(child))
    except OSError:  # it has ended
        pass
    return found


def _memory(pid: int) -> dict[str, int]:
    """What the kernel says of a process's memory, in bytes by name; nothing of one that has ended."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return {}
    return {name: 1024 * int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", rows, re.MULTILINE)}


def _processor(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hardware() -> str:
    """The processor's name and the number of cores."""
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else []
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def result_place(name: str) -> Path:
    """``benchmarks/results/NAME_HARDWARE_DATE.md``, its folder made."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    machine = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    return folder / f"{name}_{machine}_{date.today().isoformat()}.md"


def kept_part(place: Path, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return a part of a campaign as JSON has it: read from ``place``, or made now and kept there with its "seconds" of processor time."""
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        record = {**make(), "seconds": time.process_time() - began}
        with atomic_file(place) as partial:
            partial.write_text(json.dumps(record), encoding="utf-8")
        print(f"{place.name}: {record['seconds']:.1f} s of the processor", file=sys.stderr, flush=True)
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found
