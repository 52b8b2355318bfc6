"""What the machine is: its processor, the instruction sets that decide speed, cores, and the commit
that was measured.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Machine", "commit_of", "this_machine"]

ROOT = Path(__file__).resolve().parents[2]
DECISIVE = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx512_vnni",
    "avx512_fp16",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "sve",
    "bf16",
    "i8mm",
)
MEASURED = ("positionbias", "benchmarks", ":!benchmarks/results")  # what changes a measurement


@dataclass(frozen=True)
class Machine:
    """``instructions`` are those of the decisive ones that it has; ``cores`` those that this
    process may use.
    """

    processor: str
    cores: int
    instructions: list[str]
    memory_gib: float
    system: str

    @property
    def name(self) -> str:
        """For file names."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.processor} {self.cores} cores".lower()).strip("-")


def this_machine() -> Machine:
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*:\s*(.+)", told)
    flags = re.search(r"(?:flags|Features)\s*:\s*(.+)", told)
    has = set(flags[1].split()) if flags else set()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Machine(
        name[1] if name else platform.processor() or platform.machine(),
        len(os.sched_getaffinity(0)),
        [one for one in DECISIVE if one in has],
        round(memory, 1),
        f"{platform.system()} {platform.release()}",
    )


def commit_of(root: Path = ROOT) -> str:
    """The last commit of what is measured, and where files are changed beyond it, "+" and a digest
    of the changes.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        ).stdout

    commit = git("log", "-1", "--format=%H", "--", *MEASURED).strip()[:12]
    changes = git("diff", "HEAD", "--", *MEASURED)
    return commit + (f"+{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else "")
