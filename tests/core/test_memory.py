"""Memory that a process keeps for itself."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from positionbias.core.process import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    pieces = [b"x" * (1 << 21) for _ in range(10)]
    del pieces
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc's malloc has these settings"
)
def test_pages_are_not_mapped_anew_for_every_block() -> None:
    def faults(how: str) -> int:
        return int(
            subprocess.run(
                [sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True
            ).stdout
        )

    # 20 blocks of 20 MiB are 102,400 pages of 4 KiB; kept, they are mapped for the first block
    # only: 5,120 and a few
    assert faults("keep") < 10_000 < faults("leave")
